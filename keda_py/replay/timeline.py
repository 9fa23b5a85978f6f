"""Counts over time: what a preview of an object comes to, of any kind. Pure.

Of an Environment the count is 1 while it is awake, of a CronJob while it is not suspended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

WEEK_SECONDS = timedelta(days=7).total_seconds()
RAMP = timedelta(minutes=2)
"""Steps in one direction that follow each other so closely are told as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From `at` (UTC) on there are `replicas`; `reason` is a word of the core, `because` a sentence.

    `ruled`: an Environment, Override or ScalingSchedule asks for it, whatever the triggers say.
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
        """How long it lasts."""
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
        """Without gaps, in order; none is empty."""
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
        """With at least one replica."""
        return sum(span.seconds for span in self.spans() if span.replicas)

    @property
    def replica_seconds(self) -> float:
        """Summed over all replicas."""
        return sum(span.seconds * span.replicas for span in self.spans())

    def a_week(self, seconds: float) -> float:
        """Hours in seven days, of seconds in the whole."""
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
