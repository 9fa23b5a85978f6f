"""Reads: how long one read of a trigger takes, for types whose client costs more than the server's answer.

One trigger alone, one read after the other, against a real server on this machine. A type whose server is not
installed is left out by name.
"""

import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from _pytest.outcomes import Skipped

from keda_py.sdk.advanced import Trigger
from keda_py.sdk.context import EngineContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import shared_context
from tests.bench.lab.figures import Row, median
from tests.bench.lab.options import Options, Say
from tests.bench.lab.reading import SOURCES

READS = 300
WARM = 20


async def run(_: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Median of 300 reads, and our process' CPU for one, in milliseconds by type."""
    rows: dict[str, object] = {}
    for kind, source in SOURCES.items():
        say(kind)
        with tempfile.TemporaryDirectory() as folder:
            try:
                async with source(Path(folder)) as trigger:
                    rows[kind] = await _measure(trigger)
            except Skipped as missing:
                rows[kind] = str(missing)
    yield {"reads": READS, "read": rows}


async def _measure(trigger: Trigger) -> Row:
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="default", scaled_object="app", trigger_index=0)
        scaler = build(trigger, context)
        try:
            await scaler.open()
            await _read_again_and_again(scaler, WARM)
            cpu = time.process_time()
            seconds = await _read_again_and_again(scaler, READS)
            cpu = time.process_time() - cpu
        finally:
            await scaler.aclose()
            await context.aclose()
    return {"median_ms": median([1000 * one for one in seconds], 2), "cpu_ms": round(1000 * cpu / READS, 2)}


async def _read_again_and_again(scaler: AnyScaler, times: int) -> list[float]:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        await scaler.read()
        seconds.append(time.perf_counter() - began)
    return seconds
