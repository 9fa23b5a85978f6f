"""A request and its answer as plain values, free of the HTTP server's types.

`apiserver/server.py` makes a `Call` of each request; `apiserver/routes.py` finds out what it asks for and returns an
`ApiAnswer`. Query parameters are read as the real server reads them (booleans as Go does: kubernetes_asyncio sends
`watch=True`).
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError, bad_request

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
APPLY = "application/apply-patch+yaml"
_TRUE = frozenset(["1", "t", "T", "true", "TRUE", "True"])
_FALSE = frozenset(["", "0", "f", "F", "false", "FALSE", "False"])


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """What a path names: a resource, and in it an object and its subresource ("" if it names none)."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: User = ANONYMOUS

    @property
    def accept(self) -> str:
        """The Accept header; JSON if missing."""
        return self.headers.get("accept", JSON)

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip()

    def flag(self, name: str) -> bool:
        """A boolean parameter; StatusError 400 when it is none."""
        text = self.query.get(name, "")
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        raise bad_request(f'strconv.ParseBool: parsing "{text}": invalid syntax')

    def number(self, name: str) -> int:
        """A parameter that counts, 0 when absent; StatusError 400 when it is not a number."""
        text = self.query.get(name, "")
        try:
            return int(text or 0)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def dry_run(self) -> bool:
        """`dryRun=All`; StatusError 400 for any other value."""
        text = self.query.get("dryRun", "")
        if text not in ("", "All"):
            raise bad_request(f'invalid dryRun: "{text}": must be All or absent')
        return text == "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """A status code and a body: JSON, or bytes of another content type, or a stream of lines."""

    status: int = 200
    body: Any = None
    content_type: str = JSON
    stream: AsyncGenerator[bytes, None] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The body on the wire."""
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


def text(words: str, status: int = 200) -> ApiAnswer:
    """A plain text answer."""
    return ApiAnswer(status=status, body=words.encode(), content_type=TEXT)


def refusal(error: StatusError) -> ApiAnswer:
    """A `Status` body."""
    retry: Obj = error.details or {}
    headers = {"Retry-After": str(retry["retryAfterSeconds"])} if "retryAfterSeconds" in retry else {}
    return ApiAnswer(status=error.code, body=error.body(), headers=headers)
