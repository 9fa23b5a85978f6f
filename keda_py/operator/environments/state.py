"""The operator's memory of one Environment between two looks; what must survive a restart is in its status."""

from collections.abc import Container
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.apis.parsing import parse_manifest
from keda_py.core.environment.decision.observation import SessionsSeen
from keda_py.core.environment.decision.stored import StoredState
from keda_py.core.environment.spec import EnvironmentSpec, build_environment
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.state import Remembered
from keda_py.operator.environments.job_warnings import JudgedJobs
from keda_py.operator.environments.wire import fields_of

LONGEST_RETRY: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEnvironment:
    """An Environment as written and as decisions use it.

    `written` None: it is being deleted, and needs no calendar.
    """

    written: Environment | None
    spec: EnvironmentSpec
    polling_interval: timedelta = LONGEST_RETRY


@dataclass(frozen=True, slots=True)
class CountWrite:
    """Our last write of a member's count, which is taken for its count until the cache shows that version."""

    version: int
    count: int


@dataclass(slots=True)
class EnvironmentMemory(Remembered):
    """`written` is by member; `laid` are the ScaledObjects that the last decision was about.

    `foreign` are members that another Environment owns, whose counts are not asked for. `looked` is when the last look
    began (monotonic), and `pause` the seconds from then to the next look that a change causes (`known/changes.py`).
    `write_errors` says, by member, why the last write of its count failed; `held_up` and `lost` are the last reports
    about a deletion and about unreadable parts of the status, and `sessions` is what the last look knew of them.
    `accounts`: this process has updated the savings since its start.
    """

    spec: ParsedEnvironment | None = None
    written: dict[str, CountWrite] = field(default_factory=dict)
    laid: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    looked: float = 0.0
    pause: float = 0.0
    write_errors: dict[str, str] = field(default_factory=dict)
    held_up: str = ""
    accounts: bool = False
    lost: tuple[str, ...] = ()
    jobs: JudgedJobs = field(default_factory=JudgedJobs)
    sessions: SessionsSeen | None = None

    def scaled_object(self, member: str) -> ObjectKey:
        """Return the key of a member that is a ScaledObject."""
        return ObjectKey(SCALED_OBJECTS.kind, self.key.namespace, member.partition("/")[2])

    def forget_all_but(self, members: Container[str]) -> None:
        """Drop our writes of deleted members: names come and go without bound."""
        for key in [key for key in self.written if key not in members]:
            del self.written[key]

    def fields_of(self, status: EnvironmentStatus, stored: StoredState) -> dict[str, Any]:
        """Return the fields of a status that are written; members that could not be read stay as they are."""
        fields = fields_of(EnvironmentStatus, status)
        del fields["advice"]  # `operator/advising/` writes it
        if left := {key: self.status["members"][key] for key in stored.unreadable}:
            fields["members"] = left | (fields["members"] or {})
        return fields


def told_of(stored: StoredState) -> str:
    """The status_error of a decision: members whose stored entries cannot be read; "" without any."""
    if not stored.unreadable:
        return ""
    problems = list(stored.unreadable.values())
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    remedy = "that member is left alone; correct its entry, or scale it by hand and take the entry out of the status"
    return f"{problems[0]}{more}; {remedy}"


def releasing(live: Obj) -> EnvironmentSpec:
    """The spec of an Environment that is being deleted; an unreadable one selects nothing and releases all members."""
    try:
        return replace(build_environment(parse_manifest(Environment, live)), deleting=True)
    except ConfigError:
        meta = live["metadata"]
        created = datetime(1970, 1, 1, tzinfo=UTC)
        name, uid = meta["name"], meta["uid"]
        return EnvironmentSpec(namespace=meta["namespace"], name=name, uid=uid, created=created, deleting=True)
