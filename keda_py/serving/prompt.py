"""Connections that answer at once what needs no waiting: the same few requests that the API server repeats.

The HPA controller asks for each metric every 15 s, through the API server, and nearly all of these questions can be
answered from what is cached. aiohttp takes two task switches and a dozen objects for each request, more than parsing,
authentication and answer together; `python -m tests.bench serve` tells the difference. Here such a request is parsed
by aiohttp's own parser, unless `KnownHeads` has its parts, and answered within `data_received`. Everything else is left
to aiohttp: another path, a body, a head in two pieces, a malformed one, a client that does not read, a server that
leaves, an answer that has to be waited for.
"""

import asyncio
import re  # noqa: TID251 - the pattern is constant
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import lru_cache
from typing import Any, cast

from aiohttp import HttpVersion11, web
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from keda_py.clock import SystemClock
from keda_py.serving.api_request import LONGEST_REMEMBERED, ApiRequest, read_head
from keda_py.serving.ports.connection import FIELD_BYTES, LINE_BYTES, Connection
from keda_py.serving.ports.port import LimitedPort
from keda_py.serving.ports.table import Seat
from keda_py.serving.statuses import StatusError

LONGEST_HEAD = 4096
_END, _NEW_LINE = b"\r\n\r\n", b"\r\n"
_OF_ONE_REQUEST = ("Audit-Id", "X-Forwarded-Uri")
# A value that goes on in the next line is left where it is.
_VARYING = re.compile(rb"\r\n(?:%s): [!-~]*(?=\r\n[^ \t])" % "|".join(_OF_ONE_REQUEST).encode())
# Entries at most: fields of up to LONGEST_HEAD bytes, lines of up to LONGEST_REMEMBERED.
REMEMBERED, REMEMBERED_LINES = 64, 4096
_UNREAD_BYTES = 2**16
_REAL_TIME = SystemClock()

Prompt = Callable[[ApiRequest], bytes | None]
"""Returns the JSON of an answer 200, None if it has to be waited for or is another one."""


class KnownHeads:
    """Request lines and header fields of requests that were answered at once, each parsed by aiohttp before.

    API servers send the same fields with every question but for two, which nothing here reads: those are left out. A
    line and fields that were each part of a usual head are one together, too.
    """

    def __init__(self) -> None:
        self._lines: dict[bytes, ApiRequest] = {}
        self._fields: dict[bytes, Mapping[str, str]] = {}

    def find(self, head: bytes, certificate: bytes | None) -> ApiRequest | None:
        """Return the request that a head is, None if it has to be parsed."""
        line, _, fields = head.partition(_NEW_LINE)
        known = self._lines.get(line)
        headers = self._fields.get(_VARYING.sub(b"", _NEW_LINE + fields)) if known is not None else None
        if known is None or headers is None:
            return None
        return ApiRequest(
            method=known.method,
            path=known.path,
            wanted=known.wanted,
            query=known.query,
            selector=known.selector,
            headers=headers,
            certificate=certificate,
        )

    def add(self, head: bytes, asked: ApiRequest) -> None:
        """Remember the parts of a head, unless it has a secret; all are forgotten when they are too many."""
        if "Authorization" in asked.headers:
            return
        line, _, fields = head.partition(_NEW_LINE)
        if len(self._lines) >= REMEMBERED_LINES:
            self._lines.clear()
        if len(self._fields) >= REMEMBERED:
            self._fields.clear()
        headers = CIMultiDict(asked.headers)
        for name in _OF_ONE_REQUEST:
            headers.popall(name, None)
        if len(line) <= LONGEST_REMEMBERED:
            self._lines[line] = replace(asked, headers={}, certificate=None)
        self._fields.setdefault(_VARYING.sub(b"", _NEW_LINE + fields), headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPaths:
    """Paths under `prefix`, answered by `answer` as far as that is at hand; all connections of a server share one."""

    prefix: str
    answer: Prompt
    known: KnownHeads = field(default_factory=KnownHeads)


class PromptConnection(Connection):
    """HTTP connection that answers requests for `paths` at once."""

    __slots__ = ("_answer", "_head_parser", "_known", "_prefix", "_usual_until")

    def __init__(self, server: web.Server, seat: Seat, port: LimitedPort, paths: PromptPaths) -> None:
        super().__init__(server, seat, port)
        self._prefix, self._answer, self._known = f"GET {paths.prefix}/".encode(), paths.answer, paths.known
        self._head_parser: Any = None
        self._usual_until = 0.0

    def data_received(self, data: bytes) -> None:
        """Answer a request at once, or leave it to aiohttp."""
        now = asyncio.get_running_loop().time()
        if not self._is_plain(data, now) or not self._answer_at_once(data, now):
            # aiohttp closes a connection that it has seen idle for the time-out: it has to see some requests.
            self._usual_until = now + self._port.limits.idle / 2
            super().data_received(data)

    def _is_plain(self, data: bytes, now: float) -> bool:
        """Return whether these bytes are one whole head, and no other request is under way."""
        seat = self.seat
        return (
            now < self._usual_until
            and seat.reading_since is None
            and seat.answering_since is None
            and len(data) <= LONGEST_HEAD
            and data.startswith(self._prefix)
            and data.find(_END) == len(data) - len(_END)
            and not self._port.is_leaving
            and self._wire.get_write_buffer_size() == 0
        )

    def _answer_at_once(self, data: bytes, now: float) -> bool:
        known = self._known.find(data, self.certificate)
        asked = known or self._read(data)
        body = self._answer(asked) if asked is not None else None
        if asked is None or body is None:
            return False
        if known is None:
            self._known.add(data, asked)
        self._wire.write(_head(len(body), int(_REAL_TIME.now().timestamp())) + body)
        self.seat.idle_since = now
        return True

    def _read(self, data: bytes) -> ApiRequest | None:
        message = self._parse(data)
        if message is None:
            return None
        try:
            return read_head(message.method, message.url, message.path, message.headers, self.certificate)
        except StatusError:
            return None

    def _parse(self, data: bytes) -> RawRequestMessage | None:
        """Return the head of a request of HTTP/1.1 that has no body and lets the connection go on, else None."""
        if self._head_parser is None:
            self._head_parser = HttpRequestParser(
                cast(Any, self),
                asyncio.get_running_loop(),
                _UNREAD_BYTES,
                max_line_size=LINE_BYTES,
                max_field_size=FIELD_BYTES,
            )
        try:
            messages, upgraded, _ = self._head_parser.feed_data(data)
        except HttpProcessingError:
            messages, upgraded = (), False
        if len(messages) == 1 and not upgraded and _is_usual(message := messages[0][0]):
            return cast(RawRequestMessage, message)
        self._head_parser = None  # it may wait for the rest of a body
        return None


def _is_usual(message: RawRequestMessage) -> bool:
    headers = message.headers
    return (
        message.version == HttpVersion11
        and not message.should_close
        and not message.chunked
        and "Content-Length" not in headers
        and "Expect" not in headers
    )


@lru_cache(maxsize=256)
def _head(length: int, second: int) -> bytes:
    """Return the head that aiohttp writes for such an answer; the date changes each second."""
    return (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\nDate: {formatdate(second, usegmt=True)}\r\n\r\n"
    ).encode()
