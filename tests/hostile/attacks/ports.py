"""What hostile callers send to the operator's ports."""

import asyncio
import ssl
from contextlib import suppress
from functools import cache

from tests.hostile.trial import Trial
from tests.servers import LOOPBACK

CONNECT_SECONDS = 5.0
GONE = (OSError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError)


@cache
def blind() -> ssl.SSLContext:
    """TLS of a client that believes any server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def connect(
    port: int, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    """A connection, None where none could be had: to be refused is no harm."""
    with suppress(*GONE):
        async with asyncio.timeout(CONNECT_SECONDS):
            return await asyncio.open_connection(LOOPBACK, port, ssl=tls)
    return None


async def hold(trial: Trial, port: int, count: int, beginning: bytes, tls: ssl.SSLContext | None = None) -> None:
    """Open so many connections, send the beginning of something on each, and keep them until the trial ends."""
    held: list[asyncio.StreamWriter] = []

    def drop() -> None:
        for writer in held:
            writer.transport.abort()

    trial.stack.callback(drop)

    async def one(_: int) -> None:
        opened = await connect(port, tls)
        if opened is not None:
            held.append(opened[1])
            with suppress(*GONE):
                opened[1].write(beginning)
                await opened[1].drain()

    await trial.each(one, count)
    assert held, f"no connection to port {port} at all"


async def exchange(port: int, sent: bytes, tls: ssl.SSLContext | None = None, seconds: float = 10.0) -> bytes:
    """What is answered until the connection ends, or for so many seconds; the first 64 kB."""
    opened = await connect(port, tls)
    if opened is None:
        return b""
    reader, writer = opened
    answer = b""
    try:
        with suppress(*GONE):
            async with asyncio.timeout(seconds):
                writer.write(sent)
                await writer.drain()
                while len(answer) < 65536 and (piece := await reader.read(65536)):
                    answer += piece
    finally:
        writer.transport.abort()
    return answer
