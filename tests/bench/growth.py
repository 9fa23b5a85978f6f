"""Growth: what `scale` costs at several sizes, the exponent by which it grows, and a chart of it.

An exponent of 1 is linear. Memory, which has a part that every process needs, is fitted without that part: what one
redis object takes.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

from tests.bench.lab.chart import Points, draw_growth, growth_exponent
from tests.bench.lab.figures import Row, own_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.stand import build_stand
from tests.bench.scale import measure_idle, measure_start

CHART = "growth.svg"
COSTS = {
    "ready_s": "seconds until Ready",
    "ready_cpu_s": "CPU until Ready",
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
            start = await measure_start(stand, sized, say)
            idle = await measure_idle(stand, sized, say)
            objects_mb = round(own_mb(stand.operator) - bare, 1)
        rows.append({"objects": size, "interval_s": options.interval, **start, **idle, "objects_mb": objects_mb})
        yield rows[-1]
    if len(rows) > 1:
        yield _conclude(rows, options)


def _conclude(rows: Sequence[Mapping[str, object]], options: Options) -> Row:
    costs = {told: _points(rows, name) for name, told in COSTS.items()}
    path = options.pictures / CHART
    draw_growth(path, f"cost of ScaledObjects polled every {options.interval} s", costs)
    exponents = {name: round(growth_exponent(costs[told]), 2) for name, told in COSTS.items()}
    return {"phase": "growth", "exponents": exponents, "chart": str(path)}


def _points(rows: Sequence[Mapping[str, object]], name: str) -> Points:
    return [(float(str(row["objects"])), max(float(str(row[name])), 0.01)) for row in rows]
