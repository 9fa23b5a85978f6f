"""Awake: n ScaledObjects that all have work; what polls and the questions of their HPAs cost, all processes counted.

Each list holds what one replica is for, so that nothing scales: what is left is the traffic of a working day.
"""

import asyncio
from collections.abc import AsyncGenerator

from tests.bench.lab.figures import Row
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import until
from tests.bench.lab.stand import Stand, build_stand, each
from tests.bench.scale import measure_idle, measure_start

WORK = 5
"""Items of each list: the trigger's `listLength`."""
REGULAR_SECONDS = 50.0
"""Until pods have been created, and HPAs have asked at three of their regular times."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for the working day."""
    async with build_stand(options) as stand:
        await measure_start(stand, options, say)
        say(f"{options.objects} objects find work")
        await each(options.objects, lambda index: stand.redis.rpush(f"q{index}", *range(WORK)))
        await until(lambda: _all_awake(stand, options.objects), "all replicas", 3.0 * options.interval + 60)
        await asyncio.sleep(REGULAR_SECONDS)
        row = await measure_idle(stand, options, say)
        yield {"objects": options.objects, "interval_s": options.interval, **row}


async def _all_awake(stand: Stand, count: int) -> bool:
    return sum([await stand.replicas(f"d{index}") > 0 for index in range(count)]) == count
