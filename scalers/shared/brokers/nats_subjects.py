"""Subjects of NATS by its text protocol: a client without credentials hears of one message at a time.

The server ends each subscription after one message, so a busy subject costs one message a reading. No stream, consumer
or setting of the server is touched; JetStream's own API is not asked.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from keda_py.sdk.advanced import ScalerContext, TlsSettings
from keda_py.sdk.scaler import ScalerError
from scalers.shared.answers.json_fields import INLINE_BYTES, json_object
from scalers.shared.protocols.listening import EventConnection, MessageLimit, OpenLine, PushRefused, Tell
from scalers.shared.protocols.tcp import BoundedReader, open_stream, reason_of

_LONGEST_LINE, _CHUNK = 64 * 1024, 64 * 1024
_LINES_OF_A_GREETING = 10

Where = Callable[[], Awaitable[tuple[str, int]]]
"""Host and port for clients. Raises ScalerError."""


def subjects(where: Where, context: ScalerContext) -> OpenLine:
    """Make the opener of lines whose topics are subjects, with blanks between them."""

    @asynccontextmanager
    async def open_line(tell: Tell) -> AsyncIterator[EventConnection]:
        async with context.connection():
            wire = await _connect(where, context)
            try:
                yield _Subjects(wire, tell)
            finally:
                wire.abort()

    return open_line


class _Wire:
    """A connection to a server, line by line."""

    def __init__(self, reader: BoundedReader, writer: asyncio.StreamWriter, seconds: float) -> None:
        self._reader, self._writer, self._seconds = reader, writer, seconds

    async def line(self) -> bytes:
        """Read the next line. Raises ScalerError when the connection ends."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as error:
            raise ScalerError(f"nats: {reason_of(error)}") from None
        if not line.endswith(b"\n"):
            raise ScalerError("nats: the connection was closed")
        return line.rstrip()

    async def skip(self, size: int) -> None:
        """Read so many bytes, and the end of the line after them."""
        left = size + 2
        try:
            while left and (chunk := await self._reader.read(min(left, _CHUNK))):
                left -= len(chunk)
        except OSError as error:
            raise ScalerError(f"nats: {reason_of(error)}") from None

    async def send(self, text: str) -> None:
        try:
            self._writer.write(text.encode())
            async with asyncio.timeout(self._seconds):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise ScalerError(f"nats: {reason_of(error)}") from None

    async def secure(self, context: ScalerContext, host: str) -> None:
        """Upgrade the connection to TLS."""
        await self._writer.start_tls(context.tls_context(TlsSettings()), server_hostname=host)

    def abort(self) -> None:
        """Close it at once."""
        self._writer.transport.abort()


class _Subjects:
    """An `EventConnection` over one connection, with a subscription for each subject."""

    def __init__(self, wire: _Wire, tell: Tell) -> None:
        self._wire, self._notify = wire, tell
        self._numbers = itertools.count(1)
        self._topics: dict[int, str] = {}
        self._of: dict[str, list[int]] = {}
        self._pace, self._pinged = MessageLimit(), False

    async def ask(self, topic: str) -> None:
        """Subscribe for one message of each subject; a subject that this client may not hear is silent."""
        numbers = self._of[topic] = [next(self._numbers) for _ in topic.split()]
        self._topics |= dict.fromkeys(numbers, topic)
        asked = (f"SUB {one} {sid}\r\nUNSUB {sid} 1\r\n" for one, sid in zip(topic.split(), numbers, strict=True))
        await self._wire.send("".join(asked))

    async def drop(self, topic: str) -> None:
        """Leave those that have not ended."""
        left = [sid for sid in self._of.pop(topic) if self._topics.pop(sid, None)]
        await self._wire.send("".join(f"UNSUB {sid}\r\n" for sid in left))

    async def check(self) -> None:
        """Send a PING, and raise ScalerError if the one before has no answer."""
        if self._pinged:
            raise ScalerError("nats: the server does not answer")
        self._pinged = True
        await self._wire.send("PING\r\n")

    async def follow(self) -> None:
        """Read messages until the connection ends."""
        while True:
            if not await self._take(await self._wire.line()) and not self._pace.allows():
                raise ScalerError("nats: the server sends too much")

    async def _take(self, line: bytes) -> bool:
        """Handle one line; False for an unrequested message."""
        match line.split():
            case [b"MSG", _, sid, *_, size] if sid.isdigit() and size.isdigit() and len(sid + size) < 40:
                await self._wire.skip(int(size))
                topic = self._topics.pop(int(sid), None)
                return topic is not None and self._notify(topic)
            case [b"PING"]:
                await self._wire.send("PONG\r\n")
            case [b"PONG"]:
                self._pinged = False
            case [b"+OK" | b"INFO", *_] | [b"-ERR", b"'Permissions", *_]:
                pass
            case _:
                raise _authorization_error(line)
        return False


async def _connect(where: Where, context: ScalerContext) -> _Wire:
    host, port = await where()
    try:
        async with asyncio.timeout(context.http_timeout):
            reader, writer = await open_stream(host, port, _LONGEST_LINE)
            wire = _Wire(reader, writer, context.http_timeout)
            try:
                await _greet(wire, context, host)
            except BaseException:
                wire.abort()
                raise
    except (OSError, TimeoutError) as error:
        raise ScalerError(f"nats {host}:{port}: {reason_of(error)}") from None
    return wire


async def _greet(wire: _Wire, context: ScalerContext, host: str) -> None:
    word, _, text = (await wire.line()).partition(b" ")
    if word.upper() != b"INFO":
        raise ScalerError("nats: the server does not greet as a NATS server does")
    needs_tls = await context.parse(read_needs_tls, text, inline_bytes=INLINE_BYTES)
    if needs_tls:
        await wire.secure(context, host)
    said = {"verbose": False, "pedantic": False, "tls_required": needs_tls, "name": "keda-py", "lang": "python"}
    await wire.send(f"CONNECT {json.dumps(said | {'version': '1', 'protocol': 0})}\r\nPING\r\n")
    for _ in range(_LINES_OF_A_GREETING):
        line = await wire.line()
        if line == b"PONG":
            return
        if line.startswith(b"-ERR"):
            raise _authorization_error(line)
    raise ScalerError("nats: the server does not answer a PING")


def read_needs_tls(text: bytes) -> bool:
    """Read from an INFO whether TLS is needed. May run in another process. Raises ScalerError."""
    return json_object(text).get("tls_required") is True


def _authorization_error(line: bytes) -> ScalerError:
    """`-ERR 'Authorization Violation'`: this client needs credentials, and has none."""
    words = line.split()[:2]
    if words == [b"-ERR", b"'Authorization"]:
        return PushRefused("nats: the server wants credentials of clients")
    return ScalerError(f"nats: the server says {b' '.join(words).decode('ascii', 'replace')[:60]}")
