"""Pictures of figures, as SVG files."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing it takes half a second, also of those who draw nothing
    from matplotlib.axes import Axes

Points = Sequence[tuple[float, float]]


def growth_exponent(points: Points) -> float:
    """The k of `cost = a * size**k` that fits best: 1 is linear, 0 is constant."""
    logs = [(math.log(size), math.log(cost)) for size, cost in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def draw_growth(path: Path, title: str, costs: Mapping[str, Points]) -> None:
    """Each cost as a multiple of what it is at the smallest size, beside a straight line for linear growth."""
    sizes = sorted({size for points in costs.values() for size, _ in points})
    with _axes(path, title, "objects", "times the cost of the fewest") as axes:
        axes.loglog(sizes, [size / sizes[0] for size in sizes], "--", color="grey", label="linear")
        for name, points in costs.items():
            axes.loglog(sizes, [cost / points[0][1] for _, cost in points], "o-", label=name)
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])


def draw_over_time(path: Path, title: str, unit: str, lines: Mapping[str, Points]) -> None:
    """Lines over minutes."""
    with _axes(path, title, "minutes", unit) as axes:
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), label=name)
        axes.set_ylim(bottom=0)


@contextmanager
def _axes(path: Path, title: str, across: str, up: str) -> Iterator["Axes"]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel=across, ylabel=up)
    yield axes
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
