"""A request as a value: what is asked, with which headers, by the owner of which certificate.

First stage of every question to `external_metrics/server.py`; what comes after it sees no `web.Request`. Next:
`authentication.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from aiohttp import web

from keda_py.serving.caller import Wanted
from keda_py.serving.ports.connection import Connection
from keda_py.serving.statuses import bad_request

LONGEST_PATH = 2048
"""No name of Kubernetes' is longer than 253; what was asked is remembered for a while, and that shall cost little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`path` is as it was written, not decoded, and without its query; `headers` may hold a bearer token.

    `certificate` is the client's, DER; None if it has shown none.
    """

    method: str
    path: str
    wanted: Wanted
    query: str = ""
    """Not decoded, without its question mark."""
    selector: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """May be asked for in any case, and may hold a name many times."""
    certificate: bytes | None = field(default=None, repr=False)


def read_request(request: web.Request) -> Asked:
    """What a request asks. Raises StatusError 400 for one that no caller of ours sends."""
    path = request.rel_url.raw_path
    if len(path) > LONGEST_PATH:
        raise bad_request(f"the path is longer than {LONGEST_PATH} bytes")
    try:  # bytes that are no UTF-8 reach us as lone surrogates, which no JSON carries to the authoriser or back
        "".join((request.raw_path, *request.headers.values())).encode()
    except UnicodeEncodeError:
        raise bad_request("path and headers must be UTF-8") from None
    connection, query = request.protocol, request.query
    return Asked(
        method=request.method,
        path=path,
        wanted=wanted_of(request.method, path, watches=query.get("watch", "") in ("1", "true")),
        query=request.rel_url.raw_query_string,
        selector=query.get("labelSelector", ""),
        headers=request.headers,
        certificate=connection.certificate if isinstance(connection, Connection) else None,
    )


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
