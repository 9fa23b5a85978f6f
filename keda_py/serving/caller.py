"""Who asks, and what for: values that authentication makes and authorisation looks at."""

from dataclasses import dataclass

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A Kubernetes user; `extra` as (key, values) pairs."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_replica: bool = False
    """Another replica of ours, by its certificate: no name and no header says so."""


ANONYMOUS = Caller(name="system:anonymous", groups=(UNAUTHENTICATED,))
REPLICA = Caller(name="keda-py:replica", is_replica=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of us, as RBAC sees it: a resource where `resource` is set, else a path."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
