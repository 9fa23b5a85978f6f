"""Polled servers by gRPC: questions by our own HTTP/2 (`http2.py`), which costs half of grpcio's; streams by grpcio."""

import asyncio
import os
from dataclasses import replace
from urllib.parse import unquote

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.extras import needs_extra
from scalers.shared.grpc.connection import LONGEST_ANSWER, GrpcConnection, GrpcError, GrpcServer, Metadata
from scalers.shared.grpc.http2 import LONGEST_QUESTION, ConnectionEnded, Http2Answer, Http2Connection
from scalers.shared.protocols.tcp import open_connection, reason_of

_LONGEST_REASON = 300
_MOST_HEADS = 8
_PREFIX = 5
"""Bytes before a message: whether it is compressed, and its length."""
_NAMES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""Statuses of gRPC by number."""
_NAMES_BY_HTTP = {
    b"400": "INTERNAL",
    b"401": "UNAUTHENTICATED",
    b"403": "PERMISSION_DENIED",
    b"404": "UNIMPLEMENTED",
    **dict.fromkeys((b"429", b"502", b"503", b"504"), "UNAVAILABLE"),
}
_NAMES_OF_RESETS = {7: "UNAVAILABLE", 8: "CANCELLED", 11: "RESOURCE_EXHAUSTED", 12: "PERMISSION_DENIED"}
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Variables of grpcio, which goes through a proxy where one is set."""


class PolledConnection(GrpcConnection):
    """A connection for questions that change nothing: one may be asked twice where a kept connection was lost."""

    def __init__(self, server: GrpcServer, context: ScalerContext, *, timeout: float | None = None) -> None:
        super().__init__(server, context, timeout=timeout)
        tls = replace(server.tls, http2=True) if server.tls else None
        self._http2_tls = context.tls_context(tls) if tls else None
        self._http2: Http2Connection | None = None
        self._connecting = asyncio.Lock()
        self._heads: dict[tuple[object, ...], bytes] = {}
        self._by_library = any(os.environ.get(name) for name in _PROXIES)

    async def ask(self, path: str, request: bytes, metadata: Metadata = (), timeout: float | None = None) -> bytes:
        """The answer to one question, within so many seconds, by default the context's. Raises ScalerError."""
        if self._by_library:
            return await super().ask(path, request, metadata, timeout)
        seconds = timeout or self._timeout
        if len(request) > LONGEST_QUESTION:
            raise ScalerError(f"{self._what(path)}: the question is longer than {LONGEST_QUESTION} bytes")
        head, body = self._head(path, metadata, seconds), b"\0" + len(request).to_bytes(4, "big") + request
        async with self._context.connection(self._server.address):
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._ask_again_if_lost(head, body)
            except TimeoutError:
                if self._http2 is not None:  # it may lead to a machine that is gone
                    self._http2.retire("a question was not answered in time")
                raise _failure(self._what(path), "DEADLINE_EXCEEDED", f"no answer in {seconds:g} s") from None
            except (OSError, ConnectionEnded) as error:
                raise _failure(self._what(path), "UNAVAILABLE", reason_of(error)) from None
        try:
            return _message(answer)
        except _Refusal as refusal:
            raise _failure(self._what(path), *refusal.args) from None

    def _what(self, path: str) -> str:
        return f"gRPC {self._server.address} {path.rpartition('/')[2]}"

    async def aclose(self) -> None:
        """Cancel all questions."""
        if self._http2 is not None:
            self._http2.close()
            self._http2 = None
        await super().aclose()

    async def _ask_again_if_lost(self, head: bytes, body: bytes) -> Http2Answer:
        kept = self._http2 if self._http2 is not None and not self._http2.ended else None
        if kept is not None:
            try:
                return await kept.ask(head, body, LONGEST_ANSWER + _PREFIX)
            except ConnectionEnded:
                pass  # servers close what was idle, also just now
        return await (await self._connected()).ask(head, body, LONGEST_ANSWER + _PREFIX)

    async def _connected(self) -> Http2Connection:
        async with self._connecting:
            if self._http2 is None or self._http2.ended:
                self._http2 = await self._connect_http2()
            return self._http2

    async def _connect_http2(self) -> Http2Connection:
        with needs_extra("grpc"):
            from hpack import Decoder
        host, _, port = self._server.address.rpartition(":")
        made = Http2Connection(Decoder())
        try:
            transport = await open_connection(
                host.strip("[]"), int(port), made, self._http2_tls, self._server.server_name
            )
            encrypted = transport.get_extra_info("ssl_object")
            if encrypted is not None and encrypted.selected_alpn_protocol() != "h2":
                raise ConnectionEnded("the server does not offer HTTP/2")
            await made.ready
        except BaseException:
            made.close()
            raise
        return made

    def _head(self, path: str, metadata: Metadata, seconds: float) -> bytes:
        """Return the headers of a question, written once: nothing in them is put into the tables of a connection."""
        key = (path, *metadata, seconds)
        if key not in self._heads:
            while len(self._heads) >= _MOST_HEADS:
                del self._heads[next(iter(self._heads))]
            self._heads[key] = self._written_head(path, metadata, seconds)
        return self._heads[key]

    def _written_head(self, path: str, metadata: Metadata, seconds: float) -> bytes:
        with needs_extra("grpc"):
            from hpack import Encoder
        encoder = Encoder()
        encoder.header_table_size = 0  # servers may keep none, and want to be told
        scheme = "https" if self._http2_tls else "http"
        fields = [
            *((":method", "POST"), (":scheme", scheme), (":path", path), (":authority", self._server.address)),
            *(("te", "trailers"), ("content-type", "application/grpc"), ("user-agent", "keda-py")),
            ("grpc-timeout", f"{round(seconds * 1000)}m"),
            *metadata,
        ]
        return encoder.encode([(name, value, True) for name, value in fields], huffman=False)


class _Refusal(Exception):
    """A code and a reason."""


def _failure(what: str, code: str, reason: str) -> GrpcError:
    return GrpcError(f"{what}: {code}: {reason[:_LONGEST_REASON]}", code)


def _message(answer: Http2Answer) -> bytes:
    """The one message of an answer. Raises _Refusal."""
    if answer.too_long:
        raise _Refusal("RESOURCE_EXHAUSTED", f"the answer is longer than {LONGEST_ANSWER} bytes")
    if answer.reset is not None:
        code = _NAMES_OF_RESETS.get(answer.reset, "INTERNAL")
        raise _Refusal(code, f"the server gave up the question (HTTP/2 error {answer.reset})")
    status, http = answer.headers.get(b"grpc-status"), answer.headers.get(b":status", b"")
    if status is None:
        shown = http.decode("ascii", "replace")
        said = "the answer has no status" if http == b"200" else f"the server answered with HTTP {shown}"
        raise _Refusal(_NAMES_BY_HTTP.get(http, "UNKNOWN"), said)
    if status != b"0":
        code = _NAMES[int(status)] if status.isdigit() and int(status) < len(_NAMES) else "UNKNOWN"
        raise _Refusal(code, unquote(answer.headers.get(b"grpc-message", b"").decode("utf-8", "replace")))
    if answer.body[:1] != b"\0" or int.from_bytes(answer.body[1:_PREFIX], "big") != len(answer.body) - _PREFIX:
        raise _Refusal("INTERNAL", "the answer is not one plain message")
    return bytes(answer.body[_PREFIX:])
