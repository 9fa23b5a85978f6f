"""Takeover: an operator is killed by kill -9; how long the next one takes to have looked at every object, and its memory.

The objects are those of `scale`. The wait for the dead one's Lease is left out: both run without leader election.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from tests.bench.lab.figures import Row, cpu_seconds, shared_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import free_port, until
from tests.bench.lab.stand import build_stand_on, start_cluster, start_operator
from tests.bench.scale import SETTLE_SECONDS, late, measure_start

SECONDS = 600.0


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One row for the first start, one for the next operator."""
    size: Row = {"objects": options.objects, "interval_s": options.interval}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
        kubeconfig = await start_cluster(stack, folder)
        stand = await build_stand_on(stack, folder, options, kubeconfig, kubeconfig)
        start = await measure_start(stand, options, say)
        yield {"phase": "start", **size, **start}
        say("until the dust has settled")
        await asyncio.sleep(SETTLE_SECONDS + options.interval)
        say("kill -9, and the next operator")
        os.kill(stand.operator, signal.SIGKILL)
        began = time.perf_counter()
        port, metrics_port = free_port(), free_port()
        more = (f"--webhook-port={free_port()}",)
        pid = await start_operator(stack, folder, kubeconfig, (port, metrics_port), more, ("operator started", SECONDS))
        synced = time.perf_counter() - began
        after = replace(stand, operator=pid, secure_port=port, metrics_port=metrics_port)

        async def all_seen() -> bool:
            return await after.count_seen() >= options.objects

        await until(all_seen, "a look at every object", SECONDS)
        seen, used = time.perf_counter() - began, cpu_seconds(pid)
        say(f"at rest, {options.steady:g} s")
        await asyncio.sleep(options.steady)
        resting = _resident_mb(pid, "VmRSS")
        yield {
            "phase": "takeover",
            **size,
            "caches_synced_s": round(synced, 1),
            "all_seen_s": round(seen, 1),
            "all_seen_cpu_s": round(used, 1),
            "peak_rss_mb": round(_resident_mb(pid, "VmHWM")),
            "resting_rss_mb": round(resting),
            "peak_by_resting": round(_resident_mb(pid, "VmHWM") / resting, 2),
            "pss_mb": round(shared_mb(pid)),
            "late_s": late(await after.lateness()),
        }


def _resident_mb(pid: int, field: str) -> float:
    """Resident memory of the operator process: `VmRSS` now, `VmHWM` at most since its start."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{field}:")) / 1024
