"""Connections of protocols that are neither HTTP nor a library's: to a name's numbers, and read within bounds."""

import asyncio
import os
import ssl

from keda_py.sdk.advanced import addresses

_ASYNCIO_SAYS = "Connect call failed"


class BoundedReader(asyncio.StreamReader):
    """A line or a block that is longer than `longest` bytes is an error, before it is read."""

    def __init__(self, longest: int) -> None:
        super().__init__(limit=longest)
        self._longest = longest

    async def readexactly(self, n: int) -> bytes:
        """Read exactly so many bytes.

        Raises OSError for too many, IncompleteReadError where the connection ends before.
        """
        if n > self._longest:
            raise OSError(f"the server announces {n} bytes, more than any answer to our questions has")
        return await super().readexactly(n)


def reason_of(error: BaseException) -> str:
    """Word why a connection failed: its text, or the system's reason where asyncio says only that it failed."""
    if isinstance(error, OSError) and (words := in_words(error).strerror) and error.errno:
        return words
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    return str(error) or type(error).__name__


def in_words(error: OSError) -> OSError:
    """Word an error as the system calls it where asyncio says only that it failed."""
    if error.errno is None or _ASYNCIO_SAYS not in str(error):
        return error
    return OSError(error.errno, os.strerror(error.errno))


async def open_stream(
    host: str, port: int, longest: int, tls: ssl.SSLContext | None = None
) -> tuple[BoundedReader, asyncio.StreamWriter]:
    """A connection that is read as a stream. To be given a time-out by who asks. Raises OSError."""
    loop, reader = asyncio.get_running_loop(), BoundedReader(longest)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport = await open_connection(host, port, protocol, tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def open_connection(
    host: str, port: int, protocol: asyncio.BaseProtocol, tls: ssl.SSLContext | None = None, server_name: str = ""
) -> asyncio.Transport:
    """Connect to the first number of the name that takes it; asyncio's own look-up would wait for a thread.

    `server_name`: the name in the server's certificate, "" for `host`. To be given a time-out by who asks. Raises
    OSError.
    """
    name = (server_name or host) if tls else None
    *others, last = await addresses(host, port)
    for number in others:
        try:
            return await _open(number, port, protocol, tls, name)
        except OSError:
            continue
    return await _open(last, port, protocol, tls, name)


async def _open(
    number: str, port: int, protocol: asyncio.BaseProtocol, tls: ssl.SSLContext | None, name: str | None
) -> asyncio.Transport:
    loop = asyncio.get_running_loop()
    try:
        # A protocol hears of a connection only once it is open, TLS included: one serves for all tries.
        transport, _ = await loop.create_connection(lambda: protocol, number, port, ssl=tls, server_hostname=name)
    except OSError as error:
        raise in_words(error) from None
    return transport
