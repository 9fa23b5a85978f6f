"""Requests as values: attributes, headers and the client's certificate.

First stage of every request to `external_metrics/server.py`; later stages see no `web.Request`. Next:
`authentication.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote

from aiohttp import web
from yarl import URL

from keda_py.serving.caller import RequestAttributes
from keda_py.serving.ports.connection import Connection
from keda_py.serving.statuses import bad_request

# Kubernetes' names have at most 253 characters, and a path has six parts at most; longer ones would fill the cache.
LONGEST_PATH = 2048
# HPAs repeat the same request lines; parsing one costs 15 us. The cache takes 8 MB at most.
REMEMBERED, LONGEST_REMEMBERED = 4096, 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiTarget:
    """Meaning of a path and a query."""

    wanted: RequestAttributes
    selector: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """Request to our API. `path` is as written, not decoded, without its query; `headers` may hold a bearer token.

    `certificate` is the client's, DER; None if it has shown none.
    """

    method: str
    path: str
    wanted: RequestAttributes
    query: str = ""
    """As written, not decoded, without its question mark."""
    selector: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Case-insensitive, with repeated names: aiohttp's multidict."""
    certificate: bytes | None = field(default=None, repr=False)
    body: bytes = field(default=b"", repr=False)
    """Read after authorisation, and only on paths that take one."""


def read_request(request: web.BaseRequest) -> ApiRequest:
    """Read an HTTP request. Raises StatusError 400 for a path that is too long and for text that is not UTF-8."""
    connection = request.protocol
    certificate = connection.certificate if isinstance(connection, Connection) else None
    return read_head(request.method, request.rel_url, request.raw_path, request.headers, certificate)


def read_head(
    method: str, url: URL, raw_path: str, headers: Mapping[str, str], certificate: bytes | None
) -> ApiRequest:
    """Read the head of a request, as `read_request` does. `url` is relative, `raw_path` the same as it was written."""
    path, query = url.raw_path, url.raw_query_string
    if len(path) > LONGEST_PATH:
        raise bad_request(f"the path is longer than {LONGEST_PATH} bytes")
    if not _is_utf8(raw_path, *headers.values()):
        raise bad_request("path and headers must be UTF-8")
    # Only short lines are cached: the cache is bounded by entries, and long ones would let a client fill the memory.
    target = (_remembered if len(path) + len(query) <= LONGEST_REMEMBERED else _read)(method, path, query)
    return ApiRequest(
        method=method,
        path=path,
        wanted=target.wanted,
        query=query,
        selector=target.selector,
        headers=headers,
        certificate=certificate,
    )


async def read_body(request: web.BaseRequest, longest: int) -> bytes:
    """Read the body of a request. Raises StatusError 400 for one that is too long, before all of it has come."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > longest:
            raise bad_request(f"the body is longer than {longest} bytes")
    return bytes(body)


def _is_utf8(*texts: str) -> bool:
    """Return whether the texts are UTF-8: other bytes arrive as lone surrogates, which JSON cannot carry."""
    try:
        "".join([text for text in texts if not text.isascii()]).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(method: str, path: str, query: str) -> ApiTarget:
    given = URL.build(query_string=query, encoded=True).query
    wanted = wanted_of(method, path, watches=given.get("watch", "") in ("1", "true"))
    return ApiTarget(wanted=wanted, selector=given.get("labelSelector", ""))


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


def wanted_of(method: str, raw_path: str, *, watches: bool = False) -> RequestAttributes:
    """Read a path as Kubernetes does: `/apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]`.

    A metric is a resource without a name, so reading one is `list`. `raw_path` is not decoded: an escaped slash is
    part of a name.
    """
    # Split before decoding: an escaped slash belongs to a name, and must not become a separator that RBAC does not see.
    parts = [unquote(part) for part in raw_path.split("/")[1:]]
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) < 4 or parts[0] != "apis":
        return RequestAttributes(verb=method.lower(), path=unquote(raw_path))
    _, group, version, *rest = parts
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace, rest = rest[1], (rest[2:] or ["namespaces"])
    resource, name, subresource = (*rest, "", "")[:3]
    return RequestAttributes(
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
