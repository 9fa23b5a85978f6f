"""Compute how many Jobs to create, from the readings of the triggers and the existing Jobs.

Pure; float64 in KEDA's order of operations. Behaviour reference, section 10.5. Running Jobs are never stopped: the
result is 0 or more. Next in the flow: `jobs/manifest.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from keda_py.core.jobs.spec import JobScalingSpec, StrategySpec

_UNBOUNDED = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The reading of one trigger. `target` is the share of `length` that one Job processes, 0: not known."""

    length: float
    target: float
    active: bool

    def jobs(self, extra_jobs: int) -> float:
        """Return the Jobs for this queue alone; 0 for a queue without a target."""
        return min(self.length / self.target, float(extra_jobs)) if self.target else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The demand of all triggers together: `length` waiting pieces of work, for `jobs` Jobs."""

    active: bool
    length: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of unfinished Jobs; `pending` of them have no running pod yet.

    `elsewhere` are those of other ScaledJobs of the namespace; 0 where nothing depends on it.
    """

    running: int
    pending: int = 0
    elsewhere: int = 0


def combine(spec: JobScalingSpec, queues: Sequence[Queue]) -> Demand:
    """Combine the active triggers by `multipleScalersCalculation`; with a minimum the result is always active."""
    active = [queue for queue in queues if queue.active]
    pairs = [(queue.length, queue.jobs(spec.extra_jobs)) for queue in active]
    length, jobs = 0.0, 0.0
    is_active = bool(active)
    match spec.strategy.calculation:
        case "max":
            # An active trigger whose queue is empty does not count: max over [0] is inactive, min over [0] is not.
            length, jobs = max((pair for pair in pairs if pair[0] > 0), key=lambda pair: pair[0], default=(0.0, 0.0))
            is_active = length > 0
        case "min":
            for pair in pairs:
                # An empty queue is replaced by the next one: min over [0, 5] is 5, over [5, 0] it is 0.
                length, jobs = pair if length == 0 or pair[0] < length else (length, jobs)
        case "sum" | "avg":
            share = len(pairs) if spec.strategy.calculation == "avg" and pairs else 1
            length, jobs = sum(pair[0] for pair in pairs) / share, sum(pair[1] for pair in pairs) / share
        case never:
            assert_never(never)
    return Demand(
        active=is_active or spec.min_jobs > 0,
        length=math.ceil(length),
        jobs=math.ceil(min(jobs, float(spec.extra_jobs))),
    )


def jobs_to_create(spec: JobScalingSpec, demand: Demand, tally: Tally) -> int:
    """Return the Jobs to create now: first up to the minimum, then by the strategy for the demand."""
    if not demand.active:
        return 0
    if tally.running < spec.min_jobs:
        return spec.min_jobs - tally.running
    beyond_min = Tally(running=tally.running - spec.min_jobs, pending=tally.pending)
    # Eager fills all free room, however few pieces of work are waiting.
    asked = spec.extra_jobs if spec.strategy.strategy == "eager" else demand.length
    return max(0, min(asked, _most(spec.strategy, demand.jobs, beyond_min, spec.extra_jobs)))


def room_for(spec: JobScalingSpec, tally: Tally) -> int:
    """Return how many Jobs the bound of the namespace leaves room for; without one as many as wanted."""
    if spec.most_jobs is None:
        return _UNBOUNDED
    return max(spec.most_jobs - tally.running - tally.elsewhere, 0)


def _most(rule: StrategySpec, wanted: int, tally: Tally, room: int) -> int:
    """Return the most Jobs that the strategy allows now, or below 0; `tally` counts running Jobs beyond the minimum."""
    match rule.strategy:
        case "default":
            return wanted - tally.running
        case "custom":
            return min(wanted - rule.deduction - int(tally.running * rule.running_share), room)
        case "accurate":
            crowded = wanted + tally.running - tally.pending > room
            return room - tally.running if crowded else wanted - tally.pending
        case "eager":
            return min(room - tally.running - tally.pending, wanted)
        case never:
            assert_never(never)
