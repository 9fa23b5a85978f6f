"""The waker as the image runs it, on the event loop that the image has."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.http_server import HttpServer, http_server
from tests.servers import LOOPBACK
from tests.waiting import eventually
from tests.waker.lab import Lab, open_process

Running = tuple[Lab, asyncio.subprocess.Process]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with open_process(tmp_path) as found:
        yield found


@pytest.fixture
async def shop() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        server.answers["/hello"] = "from the pod"
        yield server


async def is_free(lab: Lab) -> bool:
    return await lab.metric("keda_py_waker_open_connections") == 0


async def test_a_request_is_held_answered_and_leaves_nothing_behind(running: Running, shop: HttpServer) -> None:
    lab, _ = running
    [port] = await lab.sleep()

    async def wake(_: object) -> None:
        await lab.pods("web", {"": [shop.port]})

    lab.on_call = wake
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        assert (await client.get(f"http://{LOOPBACK}:{port}/hello")).text == "from the pod"
        assert (await client.post(f"http://{LOOPBACK}:{port}/hello", content=b"x" * 1_000_000)).text == "from the pod"
    await eventually(lambda: is_free(lab))


async def test_each_direction_ends_by_itself_and_a_slow_reader_slows_the_pod(running: Running) -> None:
    lab, _ = running
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        assert await reader.read() == b"all of it\r\n"
        for _ in range(400):
            writer.write(b"x" * 100_000)
            await writer.drain()
            sent += 100_000
        writer.close()

    async with await asyncio.start_server(pour, LOOPBACK, 0) as server:
        [port] = await lab.sleep()
        await lab.pods("web", {"": [server.sockets[0].getsockname()[1]]})
        reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=1000)
        writer.write(b"all of it\r\n")
        writer.write_eof()
        total = len(await reader.readexactly(1))
        assert sent < 20_000_000
        while piece := await reader.read(1_000_000):
            total += len(piece)
        assert total == 40_000_000
        await eventually(lambda: is_free(lab))
        writer.close()


async def test_sigterm_ends_it_in_order(running: Running, shop: HttpServer) -> None:
    lab, process = running
    await lab.sleep()
    lab.stopping.set()
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
