"""Growth: what `scale` costs at several sizes, the exponent by which it grows, and a chart of it.

An exponent of 1 is linear. CPU is fitted until each object is settled: Ready, with its HPA's first verdict in its
status, and polled once more. A small number of objects is Ready before the first verdicts come, 15 s after an object
was made, and a large one is not: CPU until Ready has another share of that work at each size. Memory, which has a part
that every process needs, is fitted without that part.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

from tests.bench.lab.chart import Points, draw_growth, growth_exponent
from tests.bench.lab.figures import Row, cpu_seconds, own_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.stand import Stand, build_stand, has_verdict
from tests.bench.scale import measure_idle, measure_start

CHART = "growth.svg"
COSTS = {
    "ready_s": "seconds until Ready",
    "settled_cpu_s": "CPU until settled",
    "idle_cpu_s_per_min": "CPU of an idle minute",
    "objects_mb": "memory of the objects",
}


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for each size, in a stand of its own; then the exponents."""
    rows: list[Mapping[str, object]] = []
    for size in options.sizes:
        sized = replace(options, objects=size)
        async with build_stand(sized) as stand:
            bare = own_mb(stand.operator)
            start = await _measure_settling(stand, sized, say)
            idle = await measure_idle(stand, sized, say)
            objects_mb = round(own_mb(stand.operator) - bare, 1)
        rows.append({"objects": size, "interval_s": options.interval, **start, **idle, "objects_mb": objects_mb})
        yield rows[-1]
    if len(rows) > 1:
        yield _conclude(rows, options)


async def _measure_settling(stand: Stand, options: Options, say: Say) -> Row:
    """`measure_start`, and until there is nothing more to do for the objects than to poll them."""
    used, start = cpu_seconds(stand.operator), await measure_start(stand, options, say)
    say("until all are settled")
    await stand.until_ready(options.objects, has_verdict)
    await asyncio.sleep(options.interval)
    return {**start, "settled_cpu_s": round(cpu_seconds(stand.operator) - used, 2)}


def _conclude(rows: Sequence[Mapping[str, object]], options: Options) -> Row:
    costs = {told: _points(rows, name) for name, told in COSTS.items()}
    path = options.pictures / CHART
    draw_growth(path, f"cost of ScaledObjects polled every {options.interval} s", costs)
    exponents = {name: round(growth_exponent(costs[told]), 2) for name, told in COSTS.items()}
    return {"phase": "growth", "exponents": exponents, "chart": str(path)}


def _points(rows: Sequence[Mapping[str, object]], name: str) -> Points:
    return [(float(str(row["objects"])), max(float(str(row[name])), 0.01)) for row in rows]
