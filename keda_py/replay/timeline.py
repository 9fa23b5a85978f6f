"""Timelines: the counts of an object over a period, whatever its kind. Pure.

An Environment counts 1 while it is awake, a CronJob while it is not suspended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

WEEK_SECONDS = timedelta(days=7).total_seconds()
RAMP = timedelta(minutes=2)
"""Steps in one direction that follow each other so closely are joined into one move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From `at` (UTC) on there are `replicas`; `reason` is a word of the core, `because` a sentence.

    A `ruled` step is asked for by an Environment, Override or ScalingSchedule, whatever the triggers say.
    """

    at: datetime
    before: int
    replicas: int
    reason: str
    because: str
    ruled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """[start, end) with one count."""

    start: datetime
    end: datetime
    replicas: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """[begins, ends) from `replicas` on. `assumes` are the triggers that were taken to have no work."""

    begins: datetime
    ends: datetime
    replicas: int
    steps: tuple[Step, ...] = ()
    assumes: tuple[str, ...] = ()

    def spans(self) -> Iterator[Span]:
        """Yield the spans in order, without gaps; none is empty."""
        start, count = self.begins, self.replicas
        for step in self.steps:
            if step.at > start and step.replicas != count:
                yield Span(start=start, end=step.at, replicas=count)
                start = step.at
            count = step.replicas
        if start < self.ends:
            yield Span(start=start, end=self.ends, replicas=count)

    @property
    def up_seconds(self) -> float:
        """Seconds with at least one replica."""
        return sum(span.seconds for span in self.spans() if span.replicas)

    @property
    def replica_seconds(self) -> float:
        """Seconds, summed over all replicas."""
        return sum(span.seconds * span.replicas for span in self.spans())

    def a_week(self, seconds: float) -> float:
        """Convert seconds of the whole period to hours in seven days."""
        length = (self.ends - self.begins).total_seconds()
        return seconds / length * WEEK_SECONDS / 3600 if length else 0.0

    @property
    def moves(self) -> tuple[Step, ...]:
        """The steps, ramps joined: 0 to 1 to 4 to 5 within two minutes is 0 to 5, for the first one's reason."""
        return tuple(_joined(self.steps))


def _joined(steps: Sequence[Step]) -> Iterator[Step]:
    open_step: Step | None = None
    last = steps[0].at if steps else None
    for step in steps:
        if open_step is not None and last is not None and step.at - last <= RAMP and _rises(open_step) == _rises(step):
            open_step = replace(open_step, replicas=step.replicas)
        else:
            if open_step is not None:
                yield open_step
            open_step = step
        last = step.at
    if open_step is not None:
        yield open_step


def _rises(step: Step) -> bool:
    return step.replicas > step.before
