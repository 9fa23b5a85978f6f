"""A server of HTTP/2 that answers each question as a test wants, in bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from hpack import Encoder

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 1, 4, 8, 32
ACK = 1

Answer = Callable[[int], bytes]
"""Bytes for the question of a stream."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def block(*fields: tuple[str, str]) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode([(*pair, True) for pair in fields])


BEGIN = block((":status", "200"), ("content-type", "application/grpc"))
END = block(("grpc-status", "0"), ("grpc-message", ""))


def message(data: bytes) -> bytes:
    return b"\0" + len(data).to_bytes(4, "big") + data


def answer(stream: int, data: bytes = b"", *, end: bytes = END, body: bytes = b"") -> bytes:
    """A whole answer; `body`: in place of a message of the data."""
    begin = frame(HEADERS, END_HEADERS, stream, BEGIN)
    return begin + frame(DATA, 0, stream, body or message(data)) + frame(HEADERS, END_HEADERS | END_STREAM, stream, end)


@dataclass
class Http2Server:
    """What it has heard: frames by kind, and how many connections there were and are."""

    port: int = 0
    heard: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    connected: int = 0
    open_now: int = 0

    def kinds(self, kind: int) -> list[bytes]:
        return [payload for one, _, _, payload in self.heard if one == kind]


@asynccontextmanager
async def http2_server(reply: Answer, greeting: bytes = frame(SETTINGS, 0, 0)) -> AsyncIterator[Http2Server]:
    """Greet each client, and reply to each question."""
    server = Http2Server()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connected += 1
        server.open_now += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await reader.readexactly(24)
                writer.write(greeting)
                while True:
                    size, kind, flags, stream = _head(await reader.readexactly(9))
                    server.heard.append((kind, flags, stream, await reader.readexactly(size)))
                    if kind == DATA:
                        writer.write(reply(stream))
                        await writer.drain()
        finally:
            server.open_now -= 1
            writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        server.port = listener.sockets[0].getsockname()[1]
        yield server


def _head(data: bytes) -> tuple[int, int, int, int]:
    return int.from_bytes(data[:3], "big"), data[3], data[4], int.from_bytes(data[5:], "big")
