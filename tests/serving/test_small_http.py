"""The small HTTP server under clients that are slow, malformed, many or impatient."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from keda_py.clock import SystemClock
from keda_py.serving.certificates import make_certificate
from keda_py.serving.ports.shared_buffer import BUFFER_BYTES
from keda_py.serving.ports.small_http import BrokenBody, LongBody, SmallAnswer, SmallRequest, SmallServer
from keda_py.serving.ports.table import PortLimits
from keda_py.serving.server_tls import ServerTls
from tests.serving.conftest import accepted
from tests.waiting import eventually

MOST = 1_000_000
CLOSE = "Connection: close\r\n"


@dataclass
class Stand:
    """A server, what it was asked, and a client for raw bytes."""

    limits: PortLimits | None = None
    number: int = 0
    context: ssl.SSLContext | None = None
    asked: list[str] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.server = SmallServer(self.answer, self.limits)

    async def answer(self, request: SmallRequest) -> SmallAnswer:
        """By the path: the body's length, nothing read, a failure, or late."""
        self.asked.append(request.path)
        match request.path:
            case "/fails":
                raise LookupError("secret inside")
            case "/unread":
                return SmallAnswer(status=403, body=b"no")
            case "/late":
                await self.go.wait()
        try:
            body = await request.body(MOST)
        except BrokenBody:
            return SmallAnswer(status=400, body=b"broken")
        except LongBody:
            return SmallAnswer(status=413, body=b"long")
        return SmallAnswer(status=200, body=f"{request.path} {len(body)}".encode())

    @contextlib.asynccontextmanager
    async def connected(self, room: int = 0) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Connect; the kernel keeps `room` bytes of unread answers, where that is given."""
        end = socket.socket()
        if room:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        end.setblocking(False)
        await asyncio.get_running_loop().sock_connect(end, ("127.0.0.1", self.number))
        name = "localhost" if self.context else None
        reader, writer = await asyncio.open_connection(sock=end, ssl=self.context, server_hostname=name)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def send(self, *parts: bytes) -> bytes:
        """Send parts; return everything until the server closes the connection."""
        async with self.connected() as (reader, writer), asyncio.timeout(30):
            with contextlib.suppress(OSError):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            return await reader.read()


@contextlib.asynccontextmanager
async def a_stand(*, tls: bool = True, limits: PortLimits | None = None) -> AsyncIterator[Stand]:
    certificate, served = make_certificate(["localhost"], SystemClock().now()), ServerTls()
    served.show(certificate)
    stand = Stand(limits)
    stand.context = ssl.create_default_context(cadata=certificate.ca.decode()) if tls else None
    stand.number = await stand.server.start("127.0.0.1", 0, served.context(asks_clients=False) if tls else None)
    try:
        yield stand
    finally:
        await accepted()
        await stand.server.aclose()


@pytest.fixture(params=[True, False], ids=["TLS", "plain"])
async def stand(request: pytest.FixtureRequest) -> AsyncIterator[Stand]:
    async with a_stand(tls=request.param) as running:
        yield running


def post(path: str, body: bytes = b"", headers: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def chunked(path: str, *chunks: bytes, headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n{headers}\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def test_requests_of_a_connection_are_answered_in_order_though_they_come_at_once(stand: Stand) -> None:
    asked = [f"/{number}" for number in range(20)]
    got = await stand.send(b"".join(post(path, b"x" * 10) for path in asked) + chunked("/last", b"ab", headers=CLOSE))
    bodies = [part.partition(b"\r\n\r\n")[2] for part in got.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [*(f"{path} 10".encode() for path in asked), b"/last 2"]
    assert b"server:" not in got.lower()


@pytest.mark.parametrize("size", [0, 1, BUFFER_BYTES - 1, BUFFER_BYTES, 5 * BUFFER_BYTES + 1])
async def test_a_body_is_read_whole_in_whatever_pieces_it_comes(stand: Stand, size: int) -> None:
    data = post("/body", b"x" * size, headers=CLOSE)
    got = await stand.send(*(data[start : start + 9_999] for start in range(0, len(data), 9_999)))
    assert got.endswith(f"\r\n\r\n/body {size}".encode())


async def test_a_client_that_waits_before_it_sends_its_body_is_told_to_go_on(stand: Stand) -> None:
    async with stand.connected() as (reader, writer), asyncio.timeout(30):
        writer.write(post("/body", b"x" * 5, headers=f"Expect: 100-continue\r\n{CLOSE}")[:-5])
        assert b"100" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x" * 5)
        assert (await reader.read()).endswith(b"/body 5")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (post("/body", b"x" * 10 * MOST), 413),
        (chunked("/body", *[b"x" * 1000] * (MOST // 100)), 413),
        (chunked("/body")[:-5] + b"zz\r\n", 400),
        (post("/unread", b"x" * 10 * MOST), 403),
        (post("/fails"), 500),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"\x00\xff\xfe\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(9_000)), 431),
    ],
    ids=lambda value: value[:50].decode("latin-1") if isinstance(value, bytes) else str(value),
)
async def test_what_is_malformed_or_too_long_is_refused_and_the_connection_closed(
    stand: Stand, sent: bytes, code: int
) -> None:
    # The server closes by itself: `send` reads to the end. One that failed goes on.
    got = await stand.send(sent, post("/next", headers=CLOSE) if code == 500 else b"")
    assert status(got) == code
    assert b"secret" not in got
    assert stand.asked[1:] == (["/next"] if code == 500 else [])


async def test_a_body_of_a_million_chunks_leaves_the_loop_to_others(stand: Stand) -> None:
    """One byte a chunk: h11 takes 10 us for each, so that a reader that does not stop would hold the loop."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as tasks:
        busy = tasks.create_task(others())
        got = await stand.send(chunked("/body", *[b"x"] * 20_000, headers=CLOSE))
        busy.cancel()
    assert got.endswith(b"/body 20000")
    assert turns > 20_000 / 64 / 2


@pytest.mark.parametrize("sent", [b"", b"POST /slo", b"POST / HTTP/1.1\r\nHost: "])
async def test_a_client_that_does_not_finish_its_head_is_cut_off(sent: bytes) -> None:
    async with a_stand(limits=PortLimits(request=0.3)) as stand:
        with contextlib.suppress(ConnectionError):
            assert await stand.send(sent) == b""
        await eventually(lambda: stand.server.connections == 0)


async def test_a_client_that_is_not_being_answered_is_not_read() -> None:
    """What it sends meanwhile stays in its own buffers: the server's hold no more than a few reads."""
    async with a_stand(tls=False) as stand, stand.connected() as (_, writer):
        sent = 0
        writer.write(post("/late"))
        await eventually(lambda: stand.asked == ["/late"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while sent < 100:
                    writer.write(b"x" * 1_000_000)
                    await writer.drain()
                    sent += 1
        assert sent < 100
        stand.go.set()


async def test_a_client_that_does_not_read_its_answers_is_not_answered_further() -> None:
    # With the usual megabytes of room, a hundred thousand requests are answered before the client's end is full.
    async with a_stand(tls=False) as stand, stand.connected(room=4096) as (_, writer):
        flood = post("/again") * 1000
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while len(stand.asked) < 1_000_000:
                    writer.write(flood)
                    await writer.drain()
        before = len(stand.asked)
        assert before < 1_000_000
        assert status(await stand.send(post("/other", headers=CLOSE))) == 200
        assert len(stand.asked) <= before + 1
        writer.transport.abort()  # to close it would wait until the server gives up, 30 s


async def test_who_leaves_answers_once_more_on_each_connection_and_says_so(stand: Stand) -> None:
    async with stand.connected() as (reader, writer), asyncio.timeout(30):
        writer.write(post("/1"))
        first = await reader.readuntil(b"/1 0")
        stand.server.leave()
        writer.write(post("/2"))
        last = await reader.read()
    assert b"connection: close" not in first.lower()
    assert (status(last), b"connection: close" in last.lower()) == (200, True)


async def test_a_request_under_way_is_answered_before_the_server_ends_and_an_idle_client_is_not_waited_for() -> None:
    async with a_stand() as stand, stand.connected() as (reader, writer), stand.connected() as (idle, _):
        writer.write(post("/late"))
        await eventually(lambda: stand.asked == ["/late"])
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(stand.server.aclose())
            assert await idle.read() == b""
            stand.go.set()
            assert b"200 OK" in await reader.read()
        assert stand.server.connections == 0


async def test_a_client_that_goes_away_during_its_request_leaves_nothing_behind(stand: Stand) -> None:
    for sent in (post("/late"), post("/body", b"x" * 100)[:-1]):
        async with stand.connected() as (_, writer):
            writer.write(sent)
            await eventually(lambda: len(stand.asked) > 0)
        stand.asked.clear()
    stand.go.set()
    await eventually(lambda: stand.server.connections == 0)
