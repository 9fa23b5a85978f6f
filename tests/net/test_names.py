"""Name resolution: a name that is never answered delays no other."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from aiohttp.resolver import AsyncResolver

from keda_py.net.names import addresses
from keda_py.testing import shared_context
from tests.busy_threads import no_thread_left
from tests.http_server import http_server

A_RECORD = 1


class NameServer(asyncio.DatagramProtocol):
    """Name server that resolves names beginning with "good" to 127.0.0.1, and never answers for "dead"."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.changed = asyncio.Event()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(0, 12) + 5
        name = data[13 : 13 + data[12]].decode().lower()
        self.asked.add(name)
        self.changed.set()
        if name.startswith("dead"):
            return
        (kind,) = struct.unpack(">H", data[end - 4 : end - 2])
        known = name.startswith("good") and kind == A_RECORD
        record = b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, 4) + bytes((127, 0, 0, 1)) if known else b""
        head = data[:2] + struct.pack(">HHHHH", 0x8180, 1, len(record[:1]), 0, 0)
        self.transport.sendto(head + data[12:end] + record, addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """Send all look-ups of this loop to the server while the block lasts."""
    made = await asyncio.get_running_loop().create_datagram_endpoint(NameServer, ("127.0.0.1", 0))
    transport, server = made
    port = transport.get_extra_info("sockname")[1]
    resolver = AsyncResolver()
    resolver._resolver.nameservers = [f"127.0.0.1:{port}"]  # the loop's channel, which all sessions share
    try:
        yield server
    finally:
        await resolver.close()
        transport.close()


async def test_a_name_is_looked_up_while_every_thread_is_taken() -> None:
    async with http_server() as server, shared_context() as lent, no_thread_left():
        server.answers["/"] = "found"
        answer = await lent.http.get(f"http://localhost:{server.port}/", timeout=5)
        assert answer.text == "found"


async def test_names_that_are_never_answered_hold_up_no_other() -> None:
    dead = [f"dead{number}" for number in range(100)]
    async with name_server() as names, http_server() as server, shared_context() as lent, asyncio.TaskGroup() as tasks:
        server.answers["/"] = "found"
        waiting = [tasks.create_task(lent.http.get(f"http://{name}.example/", timeout=60)) for name in dead]
        async with asyncio.timeout(30):
            while not names.asked.issuperset(dead):
                names.changed.clear()
                await names.changed.wait()
        answer = await lent.http.get(f"http://good.example:{server.port}/", timeout=30)
        assert answer.text == "found"
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()


async def test_a_name_that_is_never_answered_ends_with_its_request() -> None:
    async with name_server(), shared_context() as lent:
        with pytest.raises(httpx.ConnectTimeout):
            await lent.http.get("http://dead.example/", timeout=0.2)


async def test_the_addresses_of_a_name_are_numbers_and_of_a_number_itself() -> None:
    async with name_server():
        assert await addresses("good.example", 80) == ("127.0.0.1",)
        assert await addresses("127.0.0.2", 80) == ("127.0.0.2",)
        assert await addresses("::1", 80) == ("::1",)


@pytest.mark.parametrize("host", ["", "..", "a b", "x" * 300, "\udcff", "xn--\udcff", "\x00"])
async def test_what_no_host_can_be_called_is_an_error_like_any_other(host: str) -> None:
    async with name_server():
        with pytest.raises(socket.gaierror):
            await addresses(host, 80)


async def test_a_name_that_is_not_known_is_an_error_that_says_so() -> None:
    async with name_server():
        with pytest.raises(socket.gaierror, match="no data"):
            await addresses("bad.example", 80)
