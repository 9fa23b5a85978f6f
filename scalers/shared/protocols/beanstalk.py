"""Statistics of the tubes of a beanstalkd, by its text protocol: one connection for all triggers on a server."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import re2

from keda_py.sdk.advanced import OpenKey, ScalerContext
from keda_py.sdk.scaler import ConfigError, ScalerError
from scalers.shared.protocols.tcp import BoundedReader, open_stream, reason_of

# Bytes of an answer; statistics have 500.
_LONGEST = 16 * 1024
_LONGEST_NAME = 200
_PORT = 11300
_NAME = re2.compile(r"[A-Za-z0-9+/;.$_()-]+")
_REFUSALS = (b"BAD_FORMAT", b"UNKNOWN_COMMAND", b"INTERNAL_ERROR", b"OUT_OF_MEMORY", b"DRAINING")
"""Of one question; the next answer is the next question's."""

Jobs = Mapping[str, int] | ScalerError | None
"""Counts by their name in the protocol; None: there is no such tube."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeanstalkServer:
    """`host:port`, and the seconds that a question may take."""

    address: str
    timeout: float

    def key(self, use: str) -> OpenKey:
        """The protocol has no credentials, so all tenants share a connection."""
        return OpenKey(what=("beanstalkd", use, self.address, self.timeout))

    def place(self) -> tuple[str, int]:
        """Host and port. Raises ConfigError."""
        host, colon, port = self.address.rpartition(":")
        if not colon:
            return self.address, _PORT
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= 65535:
            raise ConfigError("server: is not host:port, such as beanstalkd:11300", field="server")
        return host.strip("[]"), int(port)


class Beanstalk:
    """The connection, and one question at a time through it."""

    def __init__(self, server: BeanstalkServer, context: ScalerContext) -> None:
        self._server, self._context = server, context
        self._place = server.place()
        self._lock, self._held = asyncio.Lock(), AsyncExitStack()
        self._streams: tuple[BoundedReader, asyncio.StreamWriter] | None = None

    async def tubes(self, names: Sequence[str]) -> Sequence[Jobs]:
        """Ask for the statistics of each tube. Raises ScalerError where the server does not answer."""
        async with self._lock:
            try:
                async with asyncio.timeout(self._server.timeout):
                    return await self._ask_twice(names)
            except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
                await self.aclose()
                raise ScalerError(f"beanstalkd {self._server.address}: {reason_of(error)}") from None
            # A cancellation, too: the rest of an answer would be taken for the next question's.
            except BaseException:
                await self.aclose()
                raise

    async def aclose(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()
        await self._held.aclose()

    async def _ask_twice(self, names: Sequence[str]) -> list[Jobs]:
        """Ask, and once more on a new connection, since a kept one may be dead."""
        if self._streams is not None:
            try:
                return await self._ask(names)
            except (OSError, EOFError):
                await self.aclose()
        await self._held.enter_async_context(self._context.connection(self._server.address))
        self._streams = await open_stream(*self._place, _LONGEST)
        return await self._ask(names)

    async def _ask(self, names: Sequence[str]) -> list[Jobs]:
        assert self._streams is not None
        reader, writer = self._streams
        # All commands before the first answer, which come in the same order: many tubes cost one round trip.
        writer.writelines(f"stats-tube {name}\r\n".encode() for name in names if is_tube(name))
        await writer.drain()
        return [await _read(reader) if is_tube(name) else _no_tube(name) for name in names]


async def beanstalk(server: BeanstalkServer, context: ScalerContext) -> Beanstalk:
    """The shared connection. Raises ConfigError where the address is not host:port."""

    async def make() -> Beanstalk:
        return Beanstalk(server, context)

    return await context.shared(server.key("connection"), make, Beanstalk.aclose)


def is_tube(name: str) -> bool:
    """Whether a tube can be called so; the server refuses other names, and a line break would begin another command."""
    return 0 < len(name) <= _LONGEST_NAME and name[0] != "-" and _NAME.fullmatch(name) is not None


def _no_tube(name: str) -> ScalerError:
    return ScalerError(f'tube: no tube can be called "{name}": write letters, digits and -+/;.$_(), no - first')


async def _read(reader: BoundedReader) -> Jobs:
    """Read one answer; any other text breaks the connection: ValueError."""
    word, _, rest = (await reader.readuntil(b"\n")).strip().partition(b" ")
    if word == b"NOT_FOUND":
        return None
    if word in _REFUSALS and not rest:
        return ScalerError(f"beanstalkd answers {word.decode()}")
    if word != b"OK" or not rest.isdigit() or len(rest) > 9:
        raise ValueError("says something that is no answer to stats-tube")
    # The length does not count the line break behind the body.
    body = (await reader.readexactly(int(rest) + 2)).decode("utf-8", "replace")
    pairs = (line.partition(": ") for line in body.splitlines())
    return {name: int(value) for name, _, value in pairs if value.isascii() and value.isdigit() and len(value) < 20}
