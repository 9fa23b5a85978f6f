"""Start: seconds for `keda-py --help` and for importing the operator; the memory of its processes, idle with one ScaledObject."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Sequence

from tests.bench.lab.figures import Row, median, memory_by_process
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import keda_py, until
from tests.bench.lab.stand import build_stand

TIMES = 5
IDLE_SECONDS = 20.0
NIGHTLY = {"timezone": "Asia/Seoul", "start": "30 8 * * *", "end": "30 19 * * *", "desiredReplicas": "1"}


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Medians of five starts; memory with a trigger that needs no client library, and with one that does."""
    say("keda-py --help")
    help_s = await _seconds(keda_py("--help"))
    say("importing the operator")
    import_s = await _seconds((sys.executable, "-c", "import keda_py.operator.app"))
    say("an operator that watches one schedule")
    with_cron = await _idle_memory({"type": "cron", "metadata": NIGHTLY}, options)
    say("an operator that watches one Redis list")
    with_redis = await _idle_memory(None, options)
    yield {"help_s": help_s, "import_operator_s": import_s, "memory_cron": with_cron, "memory_redis": with_redis}


async def _seconds(command: Sequence[str]) -> float:
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        await process.wait()
        times.append(time.perf_counter() - began)
    return median(times)


async def _idle_memory(trigger: dict[str, object] | None, options: Options) -> Row:
    """Once it has been idle for a while; `trigger` None: a Redis list."""
    async with build_stand(options) as stand:
        await stand.add_deployments(1)
        await stand.add_scaled_objects(1, options.interval, trigger)

        async def ready() -> bool:
            return await stand.count_ready() == 1

        await until(ready, "the ScaledObject")
        await asyncio.sleep(IDLE_SECONDS)
        return memory_by_process(stand.operator)
