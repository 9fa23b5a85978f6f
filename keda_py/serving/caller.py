"""Callers and the attributes of their requests: values that authentication makes and authorisation checks."""

from dataclasses import dataclass

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Kubernetes user; `extra` as (key, values) pairs."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_replica: bool = False
    """Another replica, proved by its certificate alone: no name or header can claim this."""


ANONYMOUS = Caller(name="system:anonymous", groups=(UNAUTHENTICATED,))
REPLICA = Caller(name="keda-py:replica", is_replica=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAttributes:
    """Attributes of a request as RBAC sees it: a resource if `resource` is set, else a path."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
