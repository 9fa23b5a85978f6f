"""Answers that are read without aiohttp's parser are the ones that it reads, and connections are kept by the same rules."""

import asyncio
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientError
from aiohttp.http_exceptions import HttpProcessingError
from hypothesis import example, given
from hypothesis import strategies as st

from keda_py.net.http.heads import BoundedAnswers
from keda_py.net.http.usual_answers import usual_answer
from tests.costs import thorough

OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
END = b"\r\nok"
PACKED = gzip.compress(b"ok")

USUAL = {
    "nothing else": OK + TWO + END,
    "other fields": OK + b"Date: now\r\ncontent-length:2\r\nX-a: b: c\r\n" + END,
    "white space around values": OK + b"Content-Length: \t2 \t\r\nX:  a  b \r\nY:\r\nZ: \t\r\n" + END,
    "one field twice": OK + b"Set-Cookie: a\r\n" + TWO + b"Set-Cookie: b\r\n" + END,
    "no body": OK + b"Content-Length: 0\r\n\r\n",
    "zeros before the length": OK + b"Content-Length: 002\r\n" + END,
    "a body with line breaks": OK + b"Content-Length: 8\r\n\r\n\r\n\r\n\r\n\r\n",
    "several words of reason": b"HTTP/1.1 404 Not Found\r\n" + TWO + END,
    "no reason": b"HTTP/1.1 503 \r\n" + TWO + END,
    "a connection that stays": OK + b"Connection: Keep-Alive\r\nKeep-Alive: timeout=5\r\n" + TWO + END,
}
LEFT_TO_AIOHTTP = {
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "chunks and a length": OK + TWO + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "a packed body": OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED),
    "a length with junk": OK + b"Content-Length: 2x\r\n" + END,
    "a length with a sign": OK + b"Content-Length: +2\r\n" + END,
    "a negative length": OK + b"Content-Length: -2\r\n" + END,
    "a length of hexadecimals": OK + b"Content-Length: 0x2\r\n" + END,
    "an empty length": OK + b"Content-Length:\r\n" + END,
    "two lengths in one": OK + b"Content-Length: 2, 2\r\n" + END,
    "two equal lengths": OK + TWO + TWO + END,
    "two lengths": OK + TWO + b"Content-Length: 1\r\n" + END,
    "a length of many digits": OK + b"Content-Length: " + b"0" * 5000 + b"2\r\n" + END,
    "a length above 64 bits": OK + b"Content-Length: 99999999999999999999999\r\n" + END,
    "no length": OK + END,
    "a length of a folded line": OK + b"Content-Length:\r\n 2\r\n" + END,
    "a folded line": OK + b"X: a\r\n b\r\n" + TWO + END,
    "a first line that is folded": OK + b" X: a\r\n" + TWO + END,
    "NUL in a value": OK + b"X: a\0b\r\n" + TWO + END,
    "NUL in a name": OK + b"X\0: a\r\n" + TWO + END,
    "another control character": OK + b"X: a\x7fb\r\n" + TWO + END,
    "a byte above ASCII": OK + b"X: J\xfcrgen\r\n" + TWO + END,
    "line feeds alone": (OK + TWO).replace(b"\r\n", b"\n") + b"\nok",
    "one line feed alone": OK + b"X: a\nContent-Length: 1\r\n" + TWO + END,
    "a carriage return alone": OK + b"X: a\rContent-Length: 1\r\n" + TWO + END,
    "a carriage return too many": OK + b"X: a\r\r\n" + TWO + END,
    "a line break the wrong way round": OK + b"X: a\n\rY: b\r\n" + TWO + END,
    "white space before a colon": OK + b"Content-Length : 2\r\n" + END,
    "no colon": OK + b"X\r\n" + TWO + END,
    "no name": OK + b": a\r\n" + TWO + END,
    "a name with brackets": OK + b"X(a): b\r\n" + TWO + END,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + TWO + END,
    "HTTP/1.0 that keeps the connection": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + TWO + END,
    "HTTP/2": b"HTTP/2 200 OK\r\n" + TWO + END,
    "a status of two digits": b"HTTP/1.1 20 OK\r\n" + TWO + END,
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n" + TWO + END,
    "two blanks before the status": b"HTTP/1.1  200 OK\r\n" + TWO + END,
    "a tab before the reason": b"HTTP/1.1 200\tOK\r\n" + TWO + END,
    "no blank before the reason": b"HTTP/1.1 200\r\n" + TWO + END,
    "an empty line first": b"\r\n" + OK + TWO + END,
    "an interim answer first": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + TWO + END,
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "204 with a length": b"HTTP/1.1 204 No Content\r\n" + TWO + b"\r\n",
    "304 with a length": b"HTTP/1.1 304 Not Modified\r\n" + TWO + b"\r\n",
    "a connection that ends": OK + b"Connection: close\r\n" + TWO + END,
    "a connection that ends and stays": OK + b"Connection: keep-alive, close\r\n" + TWO + END,
    "a proxy's connection that ends": OK + b"Proxy-Connection: close\r\n" + TWO + END,
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nok",
    "an offer of another protocol": OK + b"Upgrade: h2c\r\n" + TWO + END,
    "too little": OK + b"Content-Length: 3\r\n" + END,
    "a head that ends early": OK + TWO,
    "nothing of HTTP": b"ok\r\n\r\n",
    "nothing": b"",
    "many fields": OK + b"X: a\r\n" * 200 + TWO + END,
    "a long field": OK + b"X: " + b"a" * 5000 + b"\r\n" + TWO + END,
}
SURPLUS = {
    "junk": b"x",
    "half an answer": OK,
    "an answer": OK + TWO + END,
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
}


class NotedTransport(asyncio.Transport):
    """Transport that notes its end."""

    ended = False

    def close(self) -> None:
        self.ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.ended

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@dataclass(frozen=True)
class HeardAnswer:
    """All that a client reads of an answer, or that it fails; and whether it keeps the connection."""

    status: int = 0
    reason: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    failed: bool = False
    kept: bool = False


def heard(pieces: Sequence[bytes], *, bodiless: bool = False, by_aiohttp: bool = False) -> HeardAnswer:
    """Return what comes of an answer in pieces, after which the server ends the connection."""
    return asyncio.run(_hear(pieces, bodiless=bodiless, by_aiohttp=by_aiohttp))


async def _hear(pieces: Sequence[bytes], *, bodiless: bool, by_aiohttp: bool) -> HeardAnswer:
    protocol, wire = BoundedAnswers(loop=asyncio.get_running_loop()), NotedTransport()
    protocol.connection_made(wire)
    protocol.expect_answer(bodiless=bodiless)
    if by_aiohttp:
        protocol.set_response_params(skip_payload=bodiless, read_until_eof=True, read_bufsize=2**16)
    for piece in pieces:
        if not wire.ended:
            protocol.data_received(piece)
    try:
        message, content = await _final(protocol)
        whole = isinstance(content, bytes) or content.is_eof()
        kept = whole and not protocol.should_close and not wire.ended
        protocol.connection_lost(None)
        body = content if isinstance(content, bytes) else await content.read()
    except (ClientError, HttpProcessingError, ValueError):
        return HeardAnswer(failed=True)
    return HeardAnswer(message.code, message.reason, tuple(message.raw_headers), body, kept=kept)


async def _final(protocol: BoundedAnswers) -> Any:
    while True:
        if not len(protocol):
            protocol.connection_lost(None)
        message, content = await protocol.read()
        if message.code >= 200 or message.code == 101:
            return message, content


@pytest.mark.parametrize("case", [*USUAL, *LEFT_TO_AIOHTTP])
def test_an_answer_is_the_one_that_aiohttp_reads_in_one_piece_and_split_anywhere(case: str) -> None:
    answer = {**USUAL, **LEFT_TO_AIOHTTP}[case]
    expected = heard([answer], by_aiohttp=True)
    assert heard([answer]) == expected
    assert (usual_answer(answer) is not None) is (case in USUAL)
    for at in range(1, min(len(answer), 300)):
        assert heard([answer[:at], answer[at:]]) == expected
    assert heard([bytes([byte]) for byte in answer]) == expected


@pytest.mark.parametrize("case", USUAL)
def test_after_a_usual_answer_the_connection_is_kept(case: str) -> None:
    assert heard([USUAL[case]]).kept


@pytest.mark.parametrize("surplus", SURPLUS)
@pytest.mark.parametrize("case", ["nothing else", "no body"])
def test_after_more_than_was_announced_the_connection_is_not_kept(case: str, surplus: str) -> None:
    answer = USUAL[case] + SURPLUS[surplus]
    for at in range(1, len(answer)):
        assert not heard([answer[:at], answer[at:]]).kept, at
    assert not heard([answer]).kept


@pytest.mark.parametrize("case", USUAL)
def test_an_answer_to_head_is_the_one_that_aiohttp_reads(case: str) -> None:
    head = USUAL[case].partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    assert heard([head], bodiless=True) == heard([head], bodiless=True, by_aiohttp=True)
    assert heard([head], bodiless=True).body == b""


LINES = st.sampled_from(
    [
        *(OK, b"HTTP/1.1 204 \r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 500 a  b \r\n", TWO, b"content-length: 3\r\n"),
        *(b"X: a\r\n", b"X:a \t\r\n", b"Connection: ", b"close\r\n", b"keep-alive\r\n", b"Transfer-Encoding: "),
        *(
            b"chunked\r\n",
            b"identity\r\n",
            b"\r\n",
            b"\n",
            b"\r",
            b" ",
            b"\t",
            b"\0",
            b":",
            b"ok",
            b"2\r\n",
            b"0",
            b"\xff",
        ),
        *(b"Content-Length", b"Content-Encoding: ", b"deflate\r\n", b"Upgrade: x\r\n", b"Host: a\r\n", b"ETag: b\r\n"),
    ]
)


@thorough
@given(
    st.lists(LINES, max_size=8).map(b"".join),
    st.sampled_from([b"", OK, OK + TWO]),
    st.sampled_from([b"", END, b"\r\n"]),
)
@example(OK, b"", b"")
def test_whatever_a_server_answers_is_read_as_aiohttp_reads_it(middle: bytes, begin: bytes, end: bytes) -> None:
    answer = begin + middle + end
    assert heard([answer]) == heard([answer], by_aiohttp=True)
