"""Standby: two replicas with `--leader-elect`; what each costs while nothing changes, all its processes counted.

The objects are those of `scale`. The standby keeps the same caches as the leader, polls nothing, and answers reviews
and questions as the leader does.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.lab.figures import Row, cpu_by_process, cpu_seconds, memory_by_process, shared_mb, spent_by_process
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import free_port
from tests.bench.lab.stand import Stand, build_stand_on, start_cluster, start_operator
from tests.bench.scale import SETTLE_SECONDS, measure_start

FLAGS = ("--leader-elect=true",)
WAITS = "another replica leads", 60.0


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for both."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        kubeconfig = await start_cluster(stack, folder)
        stand = await build_stand_on(stack, folder, options, kubeconfig, kubeconfig, FLAGS)
        more = (f"--webhook-port={free_port()}", *FLAGS)
        standby = await start_operator(stack, folder, kubeconfig, (free_port(), free_port()), more, WAITS)
        yield {
            "objects": options.objects,
            "interval_s": options.interval,
            **await measure_start(stand, options, say),
            **await _measure_idle(stand, standby, options, say),
        }


async def _measure_idle(stand: Stand, standby: int, options: Options, say: Say) -> Row:
    say("until the dust has settled")
    await asyncio.sleep(SETTLE_SECONDS)
    say(f"idle, {options.steady:g} s")
    replicas = {"leader": stand.operator, "standby": standby}
    used = {name: (cpu_seconds(pid), cpu_by_process(pid)) for name, pid in replicas.items()}
    began = time.perf_counter()
    await asyncio.sleep(options.steady)
    minutes = (time.perf_counter() - began) / 60
    return {
        name: {
            "idle_cpu_s_per_min": round((cpu_seconds(pid) - used[name][0]) / minutes, 2),
            "idle_cpu_s_per_min_by_process": spent_by_process(pid, used[name][1], minutes),
            "pss_mb": round(shared_mb(pid), 1),
            "memory_by_process": memory_by_process(pid),
        }
        for name, pid in replicas.items()
    }
