"""Waker: what a request pays that waits, what 10 000 of them cost, and how fast bytes pass through.

The waker is a process; the embedded cluster, the operator that is told, pods and clients are this one. `wakes` requests
each, of a new connection each; the figures of a machine whose clients and cluster share its cores are upper bounds.
"""

import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from time import perf_counter

from keda_py.serving.ports.listening import raise_descriptor_limit
from tests.bench.lab.figures import Row, cpu_seconds, percentile, shared_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK
from tests.operator.waking.soak import soak_apart
from tests.waiting import eventually
from tests.waker.lab import Lab, open_process

HELD = 10_000
IDLE_SECONDS = 10.0
MIB = 2**20
POURED = 512 * MIB
REQUEST = b"GET / HTTP/1.1\r\nHost: web\r\nUser-Agent: bench\r\n\r\n"
NAVIGATION = b"GET / HTTP/1.1\r\nHost: web\r\nUser-Agent: Mozilla/5.0\r\nSec-Fetch-Mode: navigate\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for the ways of a request, one for the crowd, one for the throughput; with `cycles` one for those alone."""
    if options.cycles:
        say(f"{options.cycles} cycles")
        yield {"row": "cycles", **await asyncio.to_thread(_cycles, options.cycles)}
        return
    async with _bench() as (lab, pid):
        say("requests")
        yield {"row": "a request", **await _requests(lab, options.wakes * 10)}
        say(f"{HELD} held")
        yield {"row": f"{HELD} held", **await _crowd(lab, pid)}
        say("throughput")
        yield {"row": "throughput", **await _pour(lab, pid)}


def _cycles(count: int) -> Row:
    """Sleep and wake under load; wakers and the leader are taken away at random."""
    began = perf_counter()
    with tempfile.TemporaryDirectory() as name:
        found = soak_apart(Path(name), count, seed=30)
    return {
        "cycles": count,
        "minutes": round((perf_counter() - began) / 60, 1),
        "requests": sum(found.answers.values()),
        "answers": json.dumps(found.answers),
        "refused": found.refused,
        "held": found.held,
        "through_us_awake": found.through_after,
        **_times("waited", found.waits),
    }


async def _requests(lab: Lab, count: int) -> Row:
    async with await asyncio.start_server(_answer, LOOPBACK, 0) as pod:
        door = pod.sockets[0].getsockname()[1]
        direct = await _each(count, lambda: _first_byte(door, REQUEST))
        [asleep] = await lab.sleep("asleep", "http")
        page = await _each(count, lambda: _first_byte(asleep, NAVIGATION))
        [ready] = await lab.sleep("ready", "http")
        await lab.pods("ready", {"http": [door]})
        through = await _each(count, lambda: _first_byte(ready, REQUEST))
        told, after = await _wakes(lab, count // 5, door)
    return {
        **_times("direct", direct),
        **_times("through", through),
        **_times("page", page),
        **_times("operator_told", told),
        **_times("first_byte_after_ready", after),
    }


async def _wakes(lab: Lab, count: int, door: int) -> tuple[list[float], list[float]]:
    """Seconds from a request to the operator's hearing of it, and from a ready pod to the first byte of its answer."""
    loop, told, after = asyncio.get_running_loop(), list[float](), list[float]()
    for number in range(count):
        name, heard = f"wake-{number}", loop.create_future()

        async def hear(call: dict[str, object], name: str = name, heard: asyncio.Future[float] = heard) -> None:
            if call["service"] == name and not heard.done():
                heard.set_result(perf_counter())

        lab.on_call = hear
        [port] = await lab.sleep(name, "http")
        began = perf_counter()
        asking = loop.create_task(_first_byte(port, REQUEST))
        told.append(await heard - began)
        await lab.pods(name, {"http": [door]})
        ready = perf_counter()
        await asking
        after.append(perf_counter() - ready)
        await lab.delete(name)
    lab.on_call = None
    return told, after


async def _crowd(lab: Lab, pid: int) -> Row:
    [port] = await lab.sleep("crowd", "http")
    before, used = shared_mb(pid), cpu_seconds(pid)
    with ExitStack() as stack:

        def come() -> None:
            for _ in range(HELD):
                stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=30)).sendall(REQUEST)

        await asyncio.to_thread(come)

        async def are_held() -> bool:
            return await lab.metric("keda_py_waker_held") >= HELD

        await eventually(are_held, 60)
        coming, idle = cpu_seconds(pid) - used, cpu_seconds(pid)
        memory = shared_mb(pid)
        await asyncio.sleep(IDLE_SECONDS)
        idle = cpu_seconds(pid) - idle
    return {
        "empty_mb": round(before, 1),
        "held_mb": round(memory, 1),
        "accept_cpu_s": round(coming, 2),
        "idle_cpu_s_per_min": round(idle * 60 / IDLE_SECONDS, 2),
    }


async def _pour(lab: Lab, pid: int) -> Row:
    piece = bytes(MIB)

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(POURED // MIB):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(pour, LOOPBACK, 0) as pod:
        door = pod.sockets[0].getsockname()[1]
        direct = await _drain(door)
        [port] = await lab.sleep("pour", "http")
        await lab.pods("pour", {"http": [door]})
        used = cpu_seconds(pid)
        through = await _drain(port)
        used = cpu_seconds(pid) - used
    megabytes = POURED / MIB
    return {
        "direct_mb_per_s": round(megabytes / direct),
        "through_mb_per_s": round(megabytes / through),
        "cpu_s_per_gb": round(used * 1024 / megabytes, 2),
    }


async def _drain(port: int) -> float:
    began = perf_counter()
    reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=4 * MIB)
    writer.write(REQUEST)
    while await reader.read(4 * MIB):
        pass
    writer.close()
    return perf_counter() - began


async def _first_byte(port: int, sent: bytes) -> float:
    """Seconds from the request to the first byte of its answer, the connection included."""
    began = perf_counter()
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(sent)
    assert await reader.read(1)
    seconds = perf_counter() - began
    writer.close()
    return seconds


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(ANSWER)
    writer.close()


async def _each(count: int, ask: Callable[[], Awaitable[float]]) -> list[float]:
    return [await ask() for _ in range(count)]


def _times(name: str, times: list[float]) -> Row:
    return {f"{name}_p50_ms": _ms(percentile(times, 0.5)), f"{name}_p99_ms": _ms(percentile(times, 0.99))}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


@asynccontextmanager
async def _bench() -> AsyncIterator[tuple[Lab, int]]:
    """A waker, as the chart runs it, and its process id."""
    raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as name:
        async with open_process(Path(name)) as (lab, process):
            yield lab, process.pid
