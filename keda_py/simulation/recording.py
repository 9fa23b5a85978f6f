"""The record of a simulation, and the figures made of it: replica-hours, time under capacity, waits, flaps.

A moment is under capacity when what the triggers read asks for more Ready pods than there are, beyond the tolerance
that the HPA allows, at the maximum as well. A wait from zero lasts from the value that wakes to the first Ready pod.
A flap is a scale-up that follows a scale-down within ten minutes.
"""

import math
from dataclasses import dataclass

from keda_py.core.hpa.controller import choose_tolerance
from keda_py.core.hpa.walk import RescaleDecision
from keda_py.core.round import Judgement
from keda_py.core.values.quantity import target_milli
from keda_py.replay.engine.world import Cause, World

FLAP_SECONDS = 600.0
# Changes that a timeline keeps, a bound on memory; the figures count all.
MOST_CHANGES = 100_000
POD_READY = "PodReady"


@dataclass(frozen=True, slots=True)
class CountChange:
    """From second `at` on: the count that is asked for, the pods that are Ready, and why."""

    at: float
    replicas: int
    ready: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one object over `seconds`; `longest_wait` is None if it never woke from zero."""

    seconds: float
    replica_hours: float
    peak: int
    seconds_short: float
    seconds_at_zero: float
    longest_wait: float | None
    wakes: int
    flaps: int
    scalings: int
    changes: tuple[CountChange, ...]


def _word_of(cause: Cause) -> str:
    """Name the decision's reason, the HPA's, or the event itself."""
    match cause:
        case Judgement():
            return cause.decision.reason.value
        case RescaleDecision():
            return cause.why
        case _:
            return cause


class Recording:
    """The `Recorder` of a simulation; `figures` once it is over. Nothing before second 0 counts."""

    def __init__(self, replicas: int) -> None:
        self._changes = [CountChange(0.0, replicas, replicas, "Begin")]
        self._replicas = self._peak = replicas
        self._counted_at = self._seen_at = 0.0
        self._replica_seconds = self._zero_seconds = self._short_seconds = 0.0
        self._short = False
        self._waiting_since: float | None = None
        self._longest: float | None = None
        self._fell_at: float | None = None
        self._wakes = self._flaps = self._scalings = 0
        self._per_pod: list[bool] = []
        self._targets: list[float] = []
        self._most: list[float] = []
        self._subject: object = None

    def changed(self, at: float, world: World, cause: Cause) -> None:
        """Note a change."""
        pods = world.pods
        if at < 0:
            self._replicas = self._peak = pods.replicas
            self._changes = [CountChange(0.0, pods.replicas, pods.ready, "Begin")]
            return
        if pods.replicas != self._replicas:
            self._count_until(at)
            if self._replicas == 0 and self._waiting_since is None:
                self._waiting_since = max(0.0, self._woken_at(at, world))
            self._note_scaling(at, pods.replicas)
        if len(self._changes) < MOST_CHANGES:
            self._changes.append(CountChange(at, pods.replicas, pods.ready, _word_of(cause)))

    def _note_scaling(self, at: float, replicas: int) -> None:
        self._scalings += 1
        if replicas < self._replicas:
            self._fell_at = at
        else:
            self._wakes += self._replicas == 0
            self._flaps += self._fell_at is not None and at - self._fell_at <= FLAP_SECONDS
            self._fell_at = None
        self._replicas, self._peak = replicas, max(self._peak, replicas)

    def _count_until(self, at: float) -> None:
        passed, self._counted_at = at - self._counted_at, at
        self._replica_seconds += passed * self._replicas
        if self._replicas == 0:
            self._zero_seconds += passed

    def passed(self, at: float, world: World) -> None:
        """Note whether the pods that are Ready are enough."""
        if at < 0:
            return
        if self._short:
            self._short_seconds += at - self._seen_at
        self._seen_at, ready = at, world.pods.ready
        if self._subject is not world.subject:
            self._adopt(world)
        self._short = self._is_short(world, ready)
        if ready == 0:
            if self._short and self._waiting_since is None:
                self._waiting_since = max(0.0, self._woken_at(at, world))
            elif not self._short and world.pods.replicas == 0:
                self._waiting_since = None
        elif self._waiting_since is not None:
            self._longest = max(self._longest or 0.0, at - self._waiting_since)
            self._waiting_since = None

    def _adopt(self, world: World) -> None:
        subject = self._subject = world.subject
        allowed = 1.0 + choose_tolerance(subject.hpa, world.setting.cluster.options).scale_up
        if subject.metrics.composite is not None:
            kind = subject.spec.modifiers.metric_type if subject.spec.modifiers else ""
            self._targets = [subject.metrics.composite.target * allowed]
            self._per_pod = [kind != "Value"]
            return
        metrics, most = subject.metrics.external, subject.spec.most_per_trigger
        targets = [target_milli(metric.target) / 1000 for metric in metrics]
        self._targets = [target * allowed for target in targets]
        # A trigger with a maximum of its own is not short of the pods that it may not ask for.
        self._most = [
            target * most.get(metric.trigger_index, math.inf) for target, metric in zip(targets, metrics, strict=True)
        ]
        self._per_pod = [metric.metric_type != "Value" for metric in metrics]

    def _is_short(self, world: World, ready: int) -> bool:
        meters = world.meters
        if world.subject.metrics.composite is not None:
            load = world.composite
            enough = self._targets[0] * (ready if self._per_pod[0] or not ready else 1)
            return load is not None and load > max(enough, world.subject.metrics.composite.activation)
        if world.subject.spec.needs_all and not all(meters.active):
            return False
        for index, target in enumerate(self._targets):
            if meters.active[index]:
                value = meters.value(index)
                if value is not None and min(value, self._most[index]) > target * (
                    ready if self._per_pod[index] or not ready else 1
                ):
                    return True
        return False

    def _woken_at(self, at: float, world: World) -> float:
        if world.subject.metrics.composite is not None:
            return at
        meters = world.meters
        return min([meters.rose(index) for index, active in enumerate(meters.active) if active], default=at)

    def figures(self, end: float) -> Figures:
        """Close the record at the end of the simulation, and sum it up."""
        self._count_until(end)
        if self._short:
            self._short_seconds += end - self._seen_at
        if self._waiting_since is not None:
            self._longest = max(self._longest or 0.0, end - self._waiting_since)
        return Figures(
            seconds=end,
            replica_hours=self._replica_seconds / 3600,
            peak=self._peak,
            seconds_short=self._short_seconds,
            seconds_at_zero=self._zero_seconds,
            longest_wait=self._longest,
            wakes=self._wakes,
            flaps=self._flaps,
            scalings=self._scalings,
            changes=tuple(self._changes),
        )
