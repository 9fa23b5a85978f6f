"""Who asks, and what for: values that authentication makes and authorisation looks at."""

from dataclasses import dataclass
from urllib.parse import unquote

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


ANONYMOUS = Caller(name="system:anonymous", groups=(UNAUTHENTICATED,))


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


def wanted_of(method: str, raw_path: str, *, watches: bool = False) -> Wanted:
    """How Kubernetes reads a request: `/apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]`.

    A metric is a resource without a name, so reading one is `list`. `raw_path` is not decoded: an escaped slash is
    part of a name.
    """
    parts = [unquote(part) for part in raw_path.split("/")[1:]]
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) < 4 or parts[0] != "apis":
        return Wanted(verb=method.lower(), path=unquote(raw_path))
    _, group, version, *rest = parts
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace, rest = rest[1], (rest[2:] or ["namespaces"])
    resource, name, subresource = (*rest, "", "")[:3]
    return Wanted(
        verb=_verb(method, named=bool(name), watches=watches),
        path=unquote(raw_path),
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        subresource=subresource,
        name=name,
    )


def _verb(method: str, *, named: bool, watches: bool) -> str:
    match method:
        case "GET" | "HEAD":
            return "get" if named else "watch" if watches else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "DELETE":
            return "delete" if named else "deletecollection"
        case _:
            return method.lower()
