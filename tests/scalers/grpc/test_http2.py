"""Questions by our own HTTP/2: a server may answer well, late, wrongly or maliciously, and only its question fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hpack import Decoder, NeverIndexedHeaderTuple

from keda_py.sdk.context import EngineContext, SharedContext
from scalers.shared.grpc.connection import GrpcError, GrpcServer
from scalers.shared.grpc.polled import PolledConnection
from tests.scalers.servers.http2 import (
    ACK,
    BEGIN,
    CONTINUATION,
    DATA,
    END,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITY,
    PUSH,
    RST,
    SETTINGS,
    WINDOW_UPDATE,
    Answer,
    answer,
    block,
    frame,
    http2_server,
    message,
)
from tests.waiting import eventually

PATH = "/shop.Orders/Count"
LONG, SHORT = 20.0, 0.2
"""Seconds for an answer: of a server that gives one, and of one that does not."""


@asynccontextmanager
async def asking(port: int, lent: SharedContext, seconds: float = LONG) -> AsyncIterator[PolledConnection]:
    context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
    connection = PolledConnection(GrpcServer(address=f"127.0.0.1:{port}"), context, timeout=seconds)
    try:
        yield connection
    finally:
        await connection.aclose()


async def test_an_answer_may_come_in_any_lawful_form(lent: SharedContext) -> None:
    def reply(stream: int) -> bytes:
        half = len(BEGIN) // 2
        data = message(b"seven")
        return (
            frame(99, 0, 0, b"a frame of a kind that is not known")
            + frame(HEADERS, PADDED | PRIORITY, stream, b"\x02" + b"\0\0\0\0\x10" + BEGIN[:half] + b"\0\0")
            + frame(CONTINUATION, END_HEADERS, stream, BEGIN[half:])
            + frame(DATA, PADDED, stream, b"\x03" + data[:4] + b"\0\0\0")
            + frame(DATA, 0, stream, data[4:])
            + frame(HEADERS, END_HEADERS | END_STREAM, stream, END)
        )

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        assert [await connection.ask(PATH, b"how many") for _ in range(3)] == [b"seven"] * 3
        assert server.connected == 1
        assert server.kinds(DATA) == [message(b"how many")] * 3


async def test_a_ping_is_answered_and_windows_are_opened_again(lent: SharedContext) -> None:
    def reply(stream: int) -> bytes:
        return frame(PING, 0, 0, b"are you?") + answer(stream, bytes(15_000))

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        for _ in range(100):
            assert len(await connection.ask(PATH, b"")) == 15_000
        await eventually(lambda: b"are you?" in server.kinds(PING))
        assert [flags for kind, flags, _, _ in server.heard if kind == PING] == [ACK] * len(server.kinds(PING))
        opened = [int.from_bytes(one, "big") for one in server.kinds(WINDOW_UPDATE)]
        assert sum(opened[1:]) > 1_000_000


async def test_many_questions_at_once_are_answered_on_one_connection(lent: SharedContext) -> None:
    few = frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x02")

    def reply(stream: int) -> bytes:
        return answer(stream, b"%d" % stream)

    async with http2_server(reply, few) as server, asking(server.port, lent) as connection:
        answers = await asyncio.gather(*(connection.ask(PATH, b"") for _ in range(500)))
    assert len(set(answers)) == 500
    assert server.connected == 1


async def test_a_question_waits_for_the_servers_window(lent: SharedContext) -> None:
    def reply(stream: int) -> bytes:
        return answer(stream) + frame(WINDOW_UPDATE, 0, 0, (10_005).to_bytes(4, "big"))

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        await asyncio.gather(*(connection.ask(PATH, bytes(10_000)) for _ in range(30)))
    assert len(server.kinds(DATA)) == 30


async def test_a_server_that_ends_its_connections_is_asked_on_the_next_one(lent: SharedContext) -> None:
    def reply(stream: int) -> bytes:
        return answer(stream, b"7") + frame(GOAWAY, 0, 0, stream.to_bytes(4, "big") + bytes(4))

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        assert [await connection.ask(PATH, b"") for _ in range(3)] == [b"7"] * 3
        assert server.connected == 3
        await eventually(lambda: server.open_now == 0)


async def test_a_question_that_the_server_has_not_begun_is_asked_again_once(lent: SharedContext) -> None:
    turned_away: list[int] = []

    def reply(stream: int) -> bytes:
        if stream == 1 or len(turned_away) == 1:
            return answer(stream, b"7")
        turned_away.append(stream)
        return frame(GOAWAY, 0, 0, (1).to_bytes(4, "big") + bytes(4))

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        assert [await connection.ask(PATH, b"") for _ in range(2)] == [b"7"] * 2
        assert (server.connected, turned_away) == (2, [3])


REFUSALS: dict[str, tuple[Answer, str]] = {
    "a status and its words": (
        lambda one: frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            one,
            block((":status", "200"), ("grpc-status", "5"), ("grpc-message", "no%20key")),
        ),
        "NOT_FOUND: no key$",
    ),
    "a status that is no number": (lambda one: answer(one, end=block(("grpc-status", "x"))), "UNKNOWN: "),
    "no status": (lambda one: answer(one, end=block(("other", "0"))), "UNKNOWN: the answer has no status"),
    "HTTP's own refusal": (
        lambda one: frame(HEADERS, END_HEADERS | END_STREAM, one, block((":status", "503"))),
        "UNAVAILABLE: the server answered with HTTP 503",
    ),
    "a question given up": (lambda one: frame(RST, 0, one, b"\0\0\0\x07"), "UNAVAILABLE: the server gave up"),
    "an answer without end": (
        lambda one: frame(HEADERS, END_HEADERS, one, BEGIN) + frame(DATA, 0, one, bytes(16_000)) * 5,
        "RESOURCE_EXHAUSTED: the answer is longer than 65536 bytes",
    ),
    "a compressed message": (
        lambda one: answer(one, body=b"\x01\0\0\0\0"),
        "INTERNAL: the answer is not one plain message",
    ),
    "half a message": (
        lambda one: answer(one, body=b"\0\0\0\0\x01"),
        "INTERNAL: the answer is not one plain message",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refusal_is_an_error_in_words_and_the_connection_goes_on(lent: SharedContext, case: str) -> None:
    refuse, words = REFUSALS[case]

    def reply(stream: int) -> bytes:
        return refuse(stream) if stream == 1 else answer(stream, b"7")

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        with pytest.raises(GrpcError, match=f"^gRPC 127.0.0.1:{server.port} Count: {words}"):
            await connection.ask(PATH, b"")
        assert await connection.ask(PATH, b"") == b"7"
        assert server.connected == 1


BROKEN: dict[str, Answer] = {
    "a frame that is announced too long": lambda _: b"\xff\xff\xff\0\0\0\0\0\x01",
    "a push": lambda one: frame(PUSH, END_HEADERS, one, b"\0\0\0\x02" + BEGIN),
    "pings that nobody asked for": lambda _: frame(PING, 0, 0, bytes(8)) * 20_000,
    "settings again and again": lambda _: frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x64") * 20_000,
    "too many settings in one": lambda _: frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x64" * 1000),
    "half a setting": lambda _: frame(SETTINGS, 0, 0, b"\0\x03\0"),
    "empty pieces of a body": lambda one: frame(HEADERS, END_HEADERS, one, BEGIN) + frame(DATA, 0, one) * 20_000,
    "headers that do not end": lambda one: frame(HEADERS, 0, one, BEGIN) + frame(CONTINUATION, 0, one, b"") * 20_000,
    "headers that grow": lambda one: frame(HEADERS, 0, one) + frame(CONTINUATION, 0, one, bytes(4000)) * 10,
    "headers that unpack to megabytes": lambda one: frame(HEADERS, END_HEADERS, one, b"\x82" * 8000),
    "another frame within headers": lambda one: frame(HEADERS, 0, one, BEGIN) + frame(PING, 0, 0, bytes(8)),
    "the end of headers that never began": lambda one: frame(CONTINUATION, END_HEADERS, one, BEGIN),
    "headers that are no HPACK": lambda one: frame(HEADERS, END_HEADERS, one, b"\xff\xff\xff\xff\xff\xff"),
    "head after head": lambda one: frame(HEADERS, END_HEADERS, one, BEGIN) * 3,
    "heads for questions that were not asked": lambda _: frame(HEADERS, END_HEADERS, 99, BEGIN) * 20_000,
    "more padding than frame": lambda one: frame(DATA, PADDED, one, b"\xff1"),
    "an HTTP/1.1 answer": lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_server_that_breaks_a_bound_is_cut_off_at_once(lent: SharedContext, case: str) -> None:
    async with http2_server(BROKEN[case]) as server, asking(server.port, lent) as connection:
        with pytest.raises(GrpcError, match="UNAVAILABLE: the server (breaks a bound|sent what cannot be read)"):
            await connection.ask(PATH, b"")
        await eventually(lambda: server.open_now == 0)
        assert lent.connections.held == 0


@pytest.mark.parametrize(
    "greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x16\x03\x01" * 10, frame(PING, 0, 0, bytes(8))]
)
async def test_a_server_that_does_not_speak_http2_is_told_apart(lent: SharedContext, greeting: bytes) -> None:
    async with http2_server(answer, greeting) as server, asking(server.port, lent) as connection:
        with pytest.raises(GrpcError, match="UNAVAILABLE: .*what it says is not HTTP/2"):
            await connection.ask(PATH, b"")


SILENT: dict[str, tuple[bytes, Answer]] = {
    "nothing": (frame(SETTINGS, 0, 0), lambda _: b""),
    "half a frame": (frame(SETTINGS, 0, 0), lambda one: answer(one)[:-1]),
    "no greeting": (b"", answer),
    "no room for a question": (frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\0"), answer),
}


@pytest.mark.parametrize("case", SILENT)
async def test_a_server_that_keeps_silent_is_given_up_and_asked_on_a_new_connection(
    lent: SharedContext, case: str
) -> None:
    greeting, reply = SILENT[case]
    async with http2_server(reply, greeting) as server, asking(server.port, lent, SHORT) as connection:
        for _ in range(2):
            with pytest.raises(GrpcError, match=r"DEADLINE_EXCEEDED: no answer in 0\.2 s$"):
                await connection.ask(PATH, b"")
        await eventually(lambda: server.open_now == 0)
        assert (server.connected, lent.connections.held) == (2, 0)


async def test_a_question_that_is_given_up_is_cancelled_at_the_server(lent: SharedContext) -> None:
    def reply(stream: int) -> bytes:
        return b"" if stream == 1 else answer(stream, b"7")

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(connection.ask(PATH, b""))
            await eventually(lambda: server.kinds(DATA))
            waiting.cancel()
        assert await connection.ask(PATH, b"") == b"7"
        assert server.kinds(RST) == [b"\0\0\0\x08"]


async def test_a_question_that_is_too_long_is_not_sent(lent: SharedContext) -> None:
    async with http2_server(answer) as server, asking(server.port, lent) as connection:
        with pytest.raises(Exception, match="Count: the question is longer than 16379 bytes"):
            await connection.ask(PATH, bytes(16_380))
        assert server.connected == 0


async def test_a_token_stays_out_of_the_tables_of_servers_and_proxies(lent: SharedContext) -> None:
    seen: list[bytes] = []

    def reply(stream: int) -> bytes:
        seen.extend(server.kinds(HEADERS))
        return answer(stream)

    async with http2_server(reply) as server, asking(server.port, lent) as connection:
        await connection.ask(PATH, b"", (("token", "s3cret"),))
    kept_out = {name for name, _ in filter(_is_never_indexed, Decoder().decode(seen[0]))}
    assert {"token", ":path", ":authority"} <= kept_out


def _is_never_indexed(pair: tuple[str, str]) -> bool:
    return isinstance(pair, NeverIndexedHeaderTuple)
