"""Requests and answers as plain values, free of the HTTP server's types.

`apiserver/server.py` makes a `Call` of each request; `apiserver/routes.py` resolves it and returns an `ApiAnswer`.
Query parameters are read as by the real server (booleans as by Go: kubernetes_asyncio sends `watch=True`).
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
    """The authenticated caller of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """The resource that a path names, and the object and subresource in it ("" if absent)."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request; header names are in lower case."""

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
        """A boolean parameter. Raises StatusError 400 for another value."""
        text = self.query.get(name, "")
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        raise bad_request(f'strconv.ParseBool: parsing "{text}": invalid syntax')

    def number(self, name: str) -> int:
        """A numeric parameter, 0 if absent. Raises StatusError 400 for another value."""
        text = self.query.get(name, "")
        try:
            return int(text or 0)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def dry_run(self) -> bool:
        """Whether the request has `dryRun=All`. Raises StatusError 400 for any other value."""
        text = self.query.get("dryRun", "")
        if text not in ("", "All"):
            raise bad_request(f'invalid dryRun: "{text}": must be All or absent')
        return text == "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """A status code and a body: JSON, bytes of another content type, or a stream of lines."""

    status: int = 200
    body: Any = None
    content_type: str = JSON
    stream: AsyncGenerator[bytes, None] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The body as bytes."""
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


def text(words: str, status: int = 200) -> ApiAnswer:
    """Build a plain text answer."""
    return ApiAnswer(status=status, body=words.encode(), content_type=TEXT)


def refusal(error: StatusError) -> ApiAnswer:
    """Build an answer with a `Status` body."""
    retry: Obj = error.details or {}
    headers = {"Retry-After": str(retry["retryAfterSeconds"])} if "retryAfterSeconds" in retry else {}
    return ApiAnswer(status=error.code, body=error.body(), headers=headers)
