"""Sleeping and waking under constant load, with wakers and the leader taken away at random: what clients saw of it.

On a patient loop, so that a busy machine loses no time-out. `timeline.txt` in the folder says what happened in order.
"""

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.http_server import HttpServer, http_server
from tests.operator.waking.cycles import ADDRESS, Evening, Load, open_evening
from tests.patient import PatientLoop
from tests.waiting import eventually

LEADER, WAKER = 1, 2
"""What goes wrong in a cycle: the leader is killed, or a waker leaves and another one comes. Else nothing does."""


@dataclass(kw_only=True)
class Soaked:
    """What clients and nodes saw. `through_after`: connections that reached wakers once nodes had heard that it woke."""

    cycles: int
    answers: dict[str, int]
    refused: int
    held: int
    through_after: int
    waits: list[float] = field(repr=False)


async def soak(folder: Path, server: HttpServer, cycles: int, seed: int) -> Soaked:
    """Let an Environment sleep and wake so often; the first cycles see one trouble each, the others any."""
    chance, through_after = random.Random(seed), 0
    async with open_evening(folder, server) as evening:
        load = Load(ADDRESS, evening.port, evening.timeline)
        asking = evening.tasks.create_task(load.run())
        for number in range(cycles):
            trouble = number if number < 3 else chance.randrange(4)
            moment = chance.uniform(0, 0.6)
            await evening.cycle(number, lambda trouble=trouble, moment=moment: _go_wrong(evening, trouble, moment))
            through_after += await _count_through(evening)
        asking.cancel()
        await asyncio.wait([asking])
        return Soaked(
            cycles=cycles,
            answers=dict(load.results),
            refused=evening.proxy.refused,
            held=evening.to_wakers(),
            through_after=through_after,
            waits=load.waits,
        )


async def _go_wrong(evening: Evening, trouble: int, moment: float) -> None:
    await asyncio.sleep(moment)
    if trouble == LEADER:
        await evening.kill_leader()
    elif trouble == WAKER:
        await evening.add_waker()
        await evening.stop_waker()


async def _count_through(evening: Evening) -> int:
    """Count the connections that still come to wakers while ten go to pods, once nodes know that the slice has gone."""
    addresses = {one.address for one in evening.wakers}
    await eventually(lambda: not addresses & {host for host, _ in evening.proxy.targets("default", "web")})
    before, served = evening.to_wakers(), evening.pods.served
    await eventually(lambda: evening.pods.served > served + 10)
    return evening.to_wakers() - before


def soak_apart(folder: Path, cycles: int, seed: int) -> Soaked:
    """Run `soak` on a patient loop of its own, for a thread of a bench."""

    async def run() -> Soaked:
        async with http_server() as server:
            return await soak(folder, server, cycles, seed)

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(run())
