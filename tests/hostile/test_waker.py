"""What hostile clients do to a waker: the Services of other namespaces wake as if they were alone, and it stays small.

The waker is a process of its own, and everything happens in real time.
"""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.http_server import HttpServer, http_server
from tests.servers import LOOPBACK
from tests.waiting import eventually
from tests.waker.lab import Lab, open_process

CROWD = 10_000
MIB = 2**20
MOST_BYTES = 150 * MIB
"""What a waker may take with a crowd of connections."""
MOST_KEPT = 16 * MIB + CROWD * 2048
"""The namespace's share, and the first bytes of each connection."""
OWN_NAMESPACE_SECONDS = 10.0
"""A request of another namespace is answered in milliseconds; this bounds it on a machine that does much else."""
HELLO = bytes([0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
BROWSER = b"User-Agent: Mozilla/5.0\r\nAccept: text/html\r\nSec-Fetch-Mode: navigate\r\n"


class Process:
    """A waker and its surroundings."""

    def __init__(self, lab: Lab, pid: int) -> None:
        self.lab, self._pid = lab, pid

    def memory(self) -> int:
        """Return the bytes of memory that are its own or its share of what it shares."""
        lines = Path(f"/proc/{self._pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


@pytest.fixture
async def waker(tmp_path: Path) -> AsyncIterator[Process]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    async with open_process(tmp_path) as (lab, process):
        yield Process(lab, process.pid)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
async def shop() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        server.answers["/"] = "hello"
        yield server


async def crowd(stack: ExitStack, port: int, sent: bytes, count: int = CROWD) -> None:
    """Open so many connections and send the same on each; they stay until the stack is left."""

    def one_after_the_other() -> None:
        for _ in range(count):
            client = stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=10))
            with suppress(OSError):  # it was refused
                client.sendall(sent)

    await asyncio.to_thread(one_after_the_other)


async def test_the_innocent(waker: Process, shop: HttpServer) -> None:
    """Without anything hostile."""
    await wakes_in_time(waker, shop)


async def wakes_in_time(waker: Process, shop: HttpServer) -> None:
    """A Service of another namespace is woken by a request, and the request is answered."""
    lab = waker.lab
    await lab.pods("bank", {}, namespace="other")
    [port] = await lab.sleep("bank", namespace="other")
    asked = len(lab.calls)

    async def wake(told: dict[str, object]) -> None:
        if told["service"] == "bank":
            await lab.pods("bank", {"": [shop.port]}, namespace="other")

    lab.on_call = wake
    async with asyncio.timeout(OWN_NAMESPACE_SECONDS), httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://{LOOPBACK}:{port}/", timeout=OWN_NAMESPACE_SECONDS)).text == "hello"
    assert len(lab.calls) > asked


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        pytest.param(b"", "keda_py_waker_open_connections", id="silent"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "keda_py_waker_held", id="held"),
        pytest.param(b"GET / HTTP/1.1\r\nX-A: ", "keda_py_waker_open_connections", id="half a head"),
        pytest.param(HELLO, "keda_py_waker_open_connections", id="half a handshake"),
        pytest.param(b"POST / HTTP/1.1\r\n\r\n" + b"x" * 30_000, "keda_py_waker_held", id="30 kB each"),
    ],
)
async def test_ten_thousand_connections_to_one_service_cost_the_others_nothing(
    waker: Process, shop: HttpServer, sent: bytes, counted: str
) -> None:
    [port] = await waker.lab.sleep("web", "http")
    with ExitStack() as stack:
        await crowd(stack, port, sent)

        async def are_there() -> bool:
            return await waker.lab.metric(counted) > CROWD * 0.9

        await eventually(are_there, 60)
        await wakes_in_time(waker, shop)
        assert waker.memory() < MOST_BYTES
        assert await waker.lab.metric("keda_py_waker_buffered_bytes") < MOST_KEPT


async def test_more_connections_than_a_namespace_may_have_are_refused_and_the_oldest_silent_ones_dropped(
    waker: Process, shop: HttpServer
) -> None:
    [port] = await waker.lab.sleep("web", "http")
    with ExitStack() as stack:
        await crowd(stack, port, b"", CROWD + 1000)

        async def are_dropped() -> bool:
            return await waker.lab.metric("keda_py_waker_refused_total") > 0

        await eventually(are_dropped, 60)
        assert await waker.lab.metric("keda_py_waker_open_connections") <= CROWD
        await wakes_in_time(waker, shop)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 20_000, id="headers without end"),
        pytest.param(b"GET /" + b"a" * 200_000, id="a line without end"),
        pytest.param(b"\x16\x03\x01\xff\xff\x01" + b"a" * 100_000, id="a record without end"),
        pytest.param(b"PRI-KEDA-PY-PROBE " + b"a" * 100_000, id="a probe without end"),
        pytest.param(b"\x00" * 1_000_000, id="zeros"),
    ],
)
async def test_bombs_end_with_their_connection(waker: Process, shop: HttpServer, sent: bytes) -> None:
    [port] = await waker.lab.sleep("web", "http")

    async def one() -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(2):
                writer.write(sent)
                await writer.drain()
                await reader.read()
        writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(100)))
    await wakes_in_time(waker, shop)
    assert waker.memory() < MOST_BYTES


async def test_a_browser_that_reloads_as_fast_as_it_can_is_a_few_calls_for_the_operator(
    waker: Process, shop: HttpServer
) -> None:
    [port] = await waker.lab.sleep("web", "http")
    began = asyncio.get_running_loop().time()

    async def reload() -> None:
        for _ in range(100):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + BROWSER + b"\r\n")
            assert b"is waking up" in await reader.read()
            writer.close()

    await asyncio.gather(*(reload() for _ in range(20)))
    seconds = asyncio.get_running_loop().time() - began
    assert len(waker.lab.calls) <= seconds + 2
    await wakes_in_time(waker, shop)
