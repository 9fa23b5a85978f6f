"""Quarantine: one object in ten asks a server that is dead; how late the polls of the others begin, and their wakes.

Of the dead, a third is refused, a third is accepted and never answered, and a third is answered a byte at a time.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress

from tests.bench.lab.figures import Row, cpu_seconds, median
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK, free_port, until
from tests.bench.lab.stand import Stand, build_stand
from tests.bench.scale import SETTLE_SECONDS, late

DEAD_SHARE = 10
"""One in so many."""
DRIP_SECONDS = 0.5
"""Between two bytes of an answer."""
LOOKS = 4
"""So often the lateness is read, an interval apart."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Once with all sources alive, once with a tenth of them dead."""
    living = options.objects - options.objects // DEAD_SHARE
    async with build_stand(options) as stand, AsyncExitStack() as stack:
        await stand.add_deployments(options.objects)
        say(f"{living} ScaledObjects until all are Ready")
        await stand.add_scaled_objects(living, options.interval)
        await stand.until_ready(living)
        yield {"phase": "all alive", "living": living, "dead": 0, **await _measure(stand, options, living, say)}
        ports = [free_port(), await _listen(stack, _hang), await _listen(stack, _drip)]
        for index in range(living, options.objects):
            trigger = stand.list_trigger(index, ports[index % len(ports)])
            await stand.add_scaled_object(index, options.interval, trigger)
        dead = options.objects - living
        yield {"phase": "a tenth dead", "living": living, "dead": dead, **await _measure(stand, options, living, say)}


async def _measure(stand: Stand, options: Options, living: int, say: Say) -> Row:
    say("until the dust has settled")
    await asyncio.sleep(SETTLE_SECONDS)
    used, began, worst = cpu_seconds(stand.operator), time.perf_counter(), dict[str, float]()
    for look in range(LOOKS):
        say(f"lateness, {look + 1} of {LOOKS}")
        await asyncio.sleep(options.interval)
        for name, seconds in (await stand.lateness()).items():
            if int(name.removeprefix("d")) < living:
                worst[name] = max(seconds, worst.get(name, 0.0))
    minutes = (time.perf_counter() - began) / 60
    cpu = round((cpu_seconds(stand.operator) - used) / minutes, 2)
    say("waking some that are alive")
    return {"late_s": late(worst), "cpu_s_per_min": cpu, "wake_s": await _wake(stand, options, living)}


async def _wake(stand: Stand, options: Options, living: int) -> Row:
    """All at once, then back to zero."""
    chosen = random.Random(3).sample(range(living), min(options.wakes, living))
    began, seconds = time.perf_counter(), dict[int, float]()
    for index in chosen:
        await stand.redis.lpush(f"q{index}", *range(7))

    async def all_awake() -> bool:
        for index in set(chosen) - set(seconds):
            if await stand.replicas(f"d{index}") > 0:
                seconds[index] = time.perf_counter() - began
        return len(seconds) == len(chosen)

    await until(all_awake, "the living", 3.0 * options.interval + 30, pause=0.1)
    for index in chosen:
        await stand.redis.delete(f"q{index}")
    return {"median": median(list(seconds.values())), "max": round(max(seconds.values()), 2)}


async def _listen(stack: AsyncExitStack, answer: "asyncio.streams._ClientConnectedCallback") -> int:
    server = await asyncio.start_server(answer, LOOPBACK, 0)
    stack.callback(server.close)
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while await reader.read(1 << 16):
            pass
    writer.close()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while not reader.at_eof():
            writer.write(b"$")
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)
    writer.close()
