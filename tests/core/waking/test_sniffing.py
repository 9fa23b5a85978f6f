"""Protocols by their first bytes, in pieces of any size, and within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.sniffing import (
    MOST_HEAD,
    MOST_HEADERS,
    MOST_LINE,
    PREFACE,
    ClientHello,
    H2Preface,
    HttpHead,
    Probe,
    Sniffed,
    TooLong,
    UnknownProtocol,
    closing,
    sniff,
)

GET = b"GET /shop?id=7 HTTP/1.1\r\nHost: web\r\nUser-Agent: curl/8\r\nuser-agent: other\r\n\r\n"
HELLO = bytes([0x16, 3, 1, 0, 6, 1, 0, 0, 2, 3, 3])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(GET, HttpHead, id="HTTP/1.1"),
        pytest.param(b"PROPFIND / HTTP/1.0\r\n\r\n", HttpHead, id="WebDAV, no headers"),
        pytest.param(PREFACE + b"\0\0\0\x04\0\0\0\0\0", H2Preface, id="HTTP/2, gRPC"),
        pytest.param(HELLO, ClientHello, id="TLS"),
        pytest.param(bytes.fromhex("0000000804d2162f"), UnknownProtocol, id="PostgreSQL"),
        pytest.param(b"*1\r\n$4\r\nPING\r\n", UnknownProtocol, id="Redis"),
        pytest.param(b"PING\r\n", UnknownProtocol, id="Redis, in one line"),
        pytest.param(b"AMQP\0\0\x09\x01", UnknownProtocol, id="AMQP"),
        pytest.param(b"EHLO shop.example\r\n", UnknownProtocol, id="SMTP"),
        pytest.param(b"OPTIONS rtsp://cam RTSP/1.0\r\n", UnknownProtocol, id="RTSP"),
        pytest.param(b"GET /\r\n", UnknownProtocol, id="HTTP/0.9"),
        pytest.param(b"PRINT me\r\n", UnknownProtocol, id="begins as HTTP/2 does"),
        pytest.param(b"\x16\x02", UnknownProtocol, id="begins as TLS does"),
        pytest.param(b"PRI-KEDA-PY-PROBE u-1\r\n", Probe, id="the operator's probe"),
    ],
)
def test_each_protocol_is_known_by_its_first_bytes_in_pieces_of_one(data: bytes, kind: type[Sniffed]) -> None:
    assert isinstance(sniff(data), kind)
    found = None
    for length in range(1, len(data) + 1):
        found = sniff(bytearray(data[:length]), length - 1)
        if found is not None:
            break
    assert isinstance(found, kind)


def test_half_of_a_head_or_of_a_client_hello_is_not_decided() -> None:
    for whole in (GET, HELLO, PREFACE):
        assert all(sniff(whole[:length]) is None for length in range(len(whole)))


def test_of_a_head_method_path_and_the_first_of_each_header_are_read() -> None:
    head = sniff(GET + b"body")
    assert isinstance(head, HttpHead)
    assert (head.method, head.path, head.headers["user-agent"], head.length) == ("GET", "/shop", "curl/8", len(GET))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET /" + b"a" * MOST_LINE, id="a line without end"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (MOST_HEAD // 6), id="headers without end"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * (MOST_HEADERS + 1) + b"\r\n", id="too many headers"),
    ],
)
def test_a_head_over_the_bounds_is_refused(data: bytes) -> None:
    assert isinstance(sniff(data), TooLong)


def test_a_long_head_in_single_bytes_costs_no_more_than_its_length() -> None:
    data = bytearray(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(MOST_HEAD - len(data) - 1):
        data += b"a"
        assert sniff(data, len(data) - 1) is None


@given(st.binary(max_size=300))
def test_no_bytes_raise_an_error(data: bytes) -> None:
    for length in range(len(data) + 1):
        if sniff(data[:length], max(length - 1, 0)) is not None:
            break


def test_the_client_is_asked_to_leave_after_its_answer() -> None:
    data = b"GET / HTTP/1.1\r\nHost: web\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\r\nbody"
    head = sniff(data)
    assert isinstance(head, HttpHead)
    assert closing(data, head) == b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\nbody"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: a\r\n folded\r\nConnection: keep-alive\r\n\r\n",
    ],
)
def test_a_head_that_switches_protocols_or_is_not_plain_stays_as_it_is(data: bytes) -> None:
    head = sniff(data)
    assert isinstance(head, HttpHead)
    assert closing(data, head) == data
