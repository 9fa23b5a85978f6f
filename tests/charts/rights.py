"""Rights, one by one: those that the chart's roles give the operator, and those that a run made use of.

A right is one verb on one resource by one rule of one role. The embedded cluster logs for each request which of them
allowed it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from keda_py.localkube.access.identity import service_account
from tests.charts.rendering import Obj

OPERATOR = service_account("keda", "keda-operator").name


@dataclass(frozen=True, order=True)
class Right:
    """As the access log names it; `rule` is the rule's place in its role."""

    role: str
    rule: int
    resource: str
    verb: str


def given(objects: list[Obj], account: str = "keda-operator") -> set[Right]:
    """What the roles say that are bound to the operator, or another account, and come with the chart."""
    roles = {_key(one["kind"], one): one for one in objects if one["kind"] in ("Role", "ClusterRole")}
    bound = {_key(one["roleRef"]["kind"], one, one["roleRef"]["name"]) for one in objects if _binds(one, account)}
    return {
        Right(role, place, resource, verb)
        for role in bound & roles.keys()
        for place, rule in enumerate(roles[role]["rules"])
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    }


@contextmanager
def noted(user: str = OPERATOR) -> Iterator[set[Right]]:
    """What the operator, or another user, makes use of while the block lasts."""
    logger, ear = logging.getLogger("keda_py.localkube.access.checks"), _Ear(user)
    before = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.addHandler(ear)
    logger.propagate = False
    try:
        yield ear.used
    finally:
        logger.removeHandler(ear)
        logger.setLevel(before[0])
        logger.propagate = before[1]


class _Ear(logging.Handler):
    """Hears the access log."""

    def __init__(self, user: str) -> None:
        super().__init__()
        self._user = user
        self.used: set[Right] = set()

    def emit(self, record: logging.LogRecord) -> None:
        one = vars(record)
        if one["user"] == self._user:
            self.used.add(Right(one["role"], one["rule"], one["rule_resource"], one["verb"]))


def _binds(one: Obj, account: str) -> bool:
    return one["kind"].endswith("RoleBinding") and any(s["name"] == account for s in one["subjects"])


def _key(kind: str, one: Obj, name: str = "") -> str:
    name = name or one["metadata"]["name"]
    return f"Role/{one['metadata']['namespace']}/{name}" if kind == "Role" else f"{kind}/{name}"
