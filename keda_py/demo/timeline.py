"""Timeline of the demo: replicas over virtual time, and whether every expected change happened. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from keda_py.demo.play import Expected


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineChange:
    """Change of a workload's replicas from `before` to `after`, because of `metric`."""

    at: datetime
    name: str
    before: int
    after: int
    metric: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """Sentence of an Environment about itself, shown between the changes of its members."""

    at: datetime
    name: str
    text: str


@dataclass(slots=True, kw_only=True)
class Timeline:
    """Changes by workload, in order; `start` and `end` bound what was played."""

    start: datetime
    end: datetime
    changes: list[TimelineChange] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)

    def of(self, name: str) -> list[TimelineChange]:
        """Return one workload's changes."""
        return [change for change in self.changes if change.name == name]

    def steps(self, name: str) -> list[tuple[datetime, datetime, int]]:
        """Return (from, to, replicas) without gaps from start to end."""
        edges = [(self.start, self.first.get(name, 0))] + [(change.at, change.after) for change in self.of(name)]
        ends = [at for at, _ in edges[1:]] + [self.end]
        return [(at, until, count) for (at, count), until in zip(edges, ends, strict=True) if until > at]

    def replica_hours(self, name: str) -> float:
        """Sum up the replicas of a workload over time, in hours."""
        return sum((until - at).total_seconds() / 3600 * count for at, until, count in self.steps(name))

    def always_on_hours(self, replicas: int = 1) -> float:
        """Return the hours of that many replicas that are always on."""
        return (self.end - self.start).total_seconds() / 3600 * replicas

    def without(self, names: Collection[str]) -> "Timeline":
        """Leave workloads out."""
        first = {name: count for name, count in self.first.items() if name not in names}
        return replace(self, changes=[one for one in self.changes if one.name not in names], first=first)

    def together(self, name: str) -> "Timeline":
        """Merge all workloads into one that has the sum of their replicas."""
        counts = dict(self.first)
        total, changes = sum(counts.values()), []
        for change in sorted(self.changes, key=lambda one: one.at):
            counts[change.name] = change.after
            before, total = total, sum(counts.values())
            changes.append(TimelineChange(at=change.at, name=name, before=before, after=total))
        return Timeline(start=self.start, end=self.end, changes=changes, first={name: sum(self.first.values())})


def missed(expected: Sequence[Expected], changes: Sequence[TimelineChange]) -> list[str]:
    """Describe each expected change that did not happen in time, and each change that was not expected."""
    switches = [change for change in changes if (change.before == 0) != (change.after == 0)]
    left, problems = list(switches), []
    for one in expected:
        match = next((change for change in left if _fits(one, change)), None)
        if match is None:
            problems.append(f"{one.name}: no {'0 -> 1' if one.up else '1 -> 0'} at {one.at:%a %d %b %H:%M:%S}")
        else:
            left.remove(match)
    zone = next((one.at.tzinfo for one in expected), None)
    begin = min((one.at for one in expected), default=None)
    end = max((one.at for one in expected), default=None)
    unexpected = [change for change in left if begin and end and begin <= change.at <= end]
    return problems + [
        f"{one.name}: unexpected {one.before} -> {one.after} at {one.at.astimezone(zone):%a %d %b %H:%M:%S}"
        for one in unexpected
    ]


def _fits(one: Expected, change: TimelineChange) -> bool:
    in_time = one.at <= change.at <= one.at + one.tolerance
    return change.name == one.name and (change.after > 0) == one.up and in_time
