"""Heads of answers: endless ones cost little, and valid ones are read."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress

import httpx
import pytest

from keda_py.net.http import HttpClientSpec
from keda_py.net.http.heads import MOST_INTERIM
from keda_py.testing import shared_context
from tests.costs import within

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfound"
FLOOD = 2 * 2**20
Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Server with scripted heads; `gone` is set when a client has closed a connection."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour, self.gone, self.url = behaviour, asyncio.Event(), ""

    async def reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            with suppress(ConnectionError):
                await self._behaviour(writer)
                await reader.read()
            self.gone.set()


@asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[Server]:
    server = Server(behaviour)
    async with await asyncio.start_server(server.reply, "127.0.0.1", 0) as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield server


def sends(data: bytes) -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


def flood(head: bytes, beginning: bytes = b"") -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        await sends(beginning + head * (FLOOD // len(head)))(writer)

    return behave


HEADERS = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 7000) for n in range(11)) + b"\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [flood(CONTINUE), flood(b"HTTP/1.1 103 \r\n\r\n"), flood(b"X-A: b\r\n", b"HTTP/1.1 200 OK\r\n"), sends(HEADERS)],
    ids=["100 Continue", "103", "headers", "long head"],
)
async def test_heads_that_never_end_are_no_answer_and_cost_little(behaviour: Behaviour) -> None:
    async with serving(behaviour) as server, shared_context() as lent:
        with within(0.3), pytest.raises(httpx.RemoteProtocolError, match="not HTTP, or its head is too long"):
            await lent.http.get(server.url, timeout=30)
        async with asyncio.timeout(10):
            await server.gone.wait()


async def test_a_few_answers_before_the_answer_are_skipped() -> None:
    async with serving(sends(CONTINUE * MOST_INTERIM + ANSWER)) as server, shared_context() as lent:
        assert (await lent.http.get(server.url)).text == "found"


@pytest.mark.parametrize("more", [ANSWER, CONTINUE, b"HTTP/1.1 204 \r\n\r\n"])
async def test_answers_to_what_was_not_asked_cost_little_and_end_the_connection(more: bytes) -> None:
    async with serving(flood(more, ANSWER)) as server, shared_context() as lent:
        with within(0.3):
            assert (await lent.http.get(server.url, timeout=30)).text == "found"
            async with asyncio.timeout(10):
                await server.gone.wait()


async def test_a_connection_that_rests_is_closed_when_it_answers_unasked() -> None:
    asked = asyncio.Event()

    async def behave(writer: asyncio.StreamWriter) -> None:
        await sends(ANSWER)(writer)
        await asked.wait()
        await flood(ANSWER)(writer)

    async with serving(behave) as server, shared_context() as lent:
        assert (await lent.http.get(server.url)).text == "found"
        with within(0.3):
            asked.set()
            async with asyncio.timeout(10):
                await server.gone.wait()


async def test_a_connection_that_rests_is_closed_by_the_first_byte_of_what_was_not_asked() -> None:
    asked = asyncio.Event()

    async def behave(writer: asyncio.StreamWriter) -> None:
        await sends(ANSWER)(writer)
        await asked.wait()
        await sends(b"H")(writer)

    async with serving(behave) as server, shared_context() as lent:
        assert (await lent.http.get(server.url)).text == "found"
        asked.set()
        async with asyncio.timeout(10):
            await server.gone.wait()


async def test_what_follows_a_body_that_is_not_read_yet_is_parsed_in_pieces_too() -> None:
    packed = gzip.compress(bytes(900_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    async with serving(flood(ANSWER, head + packed)) as server, shared_context() as lent:
        with within(0.3):
            assert len((await lent.http.get(server.url, timeout=30)).content) == 900_000
            async with asyncio.timeout(10):
                await server.gone.wait()


@pytest.mark.parametrize("keep_alive", [True, False])
async def test_a_long_body_comes_whole(keep_alive: bool) -> None:
    body = bytes(range(256)) * 4000
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:300_000], body[300_000:]))
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\nX-Trailer: 1\r\n\r\n"
    sized = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for answer in (chunked, sized):
        spec = HttpClientSpec(keep_alive=keep_alive)
        async with serving(sends(answer)) as server, shared_context(http=spec) as lent:
            assert (await lent.http.get(server.url, timeout=30)).content == body
