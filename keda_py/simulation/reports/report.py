"""Reports: results, what they cost, and their seconds as moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.simulation.recording import Figures
from keda_py.simulation.runs.run import Result

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`price` is that of a replica-hour, None if it is not known; `best` is what a sweep recommends for each object."""

    origin: datetime
    results: tuple[Result, ...]
    price: float | None = None
    best: tuple[Result, ...] = ()
    load: str = ""

    def moment(self, at: float) -> str:
        """Write a second as a moment, UTC."""
        return f"{self.origin + timedelta(seconds=round(at)):%Y-%m-%d %H:%M:%S}"

    def cost(self, figures: Figures) -> float | None:
        """Return what a result costs, None without a price."""
        return None if self.price is None else figures.replica_hours * self.price

    def rows(self, figures: Figures) -> Rows:
        """List the figures in words."""
        cost = self.cost(figures)
        wait = "never at zero" if figures.longest_wait is None else spell(figures.longest_wait)
        share = figures.seconds_short / figures.seconds if figures.seconds else 0.0
        return (
            ("replica-hours", f"{figures.replica_hours:,.1f}"),
            *((("cost", f"{cost:,.2f}"),) if cost is not None else ()),
            ("under capacity", f"{spell(figures.seconds_short)} ({share:.1%})"),
            ("longest wait from zero", wait),
            ("at zero", spell(figures.seconds_at_zero)),
            ("most replicas", str(figures.peak)),
            ("changes", str(figures.scalings)),
            ("flaps", str(figures.flaps)),
        )


def name_of(result: Result) -> str:
    """Name the object, as in shop/web, with its variant."""
    return f"{result.title} {result.variant}".rstrip()


def spell(seconds: float) -> str:
    """Write seconds as 1 h 05 min, 4 min 10 s, 12 s."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def levels(figures: Figures, buckets: int) -> list[int]:
    """Return the most replicas that were asked for in each of so many equal parts of the time."""
    width = figures.seconds / buckets if buckets else 0.0
    found = [0] * buckets
    following = [change.at for change in figures.changes[1:]] + [figures.seconds]
    for change, until in zip(figures.changes, following, strict=True):
        first = min(int(change.at / width), buckets - 1)
        last = min(int(max(until - 1e-9, change.at) / width), buckets - 1)
        for bucket in range(first, last + 1):
            found[bucket] = max(found[bucket], change.replicas)
    return found
