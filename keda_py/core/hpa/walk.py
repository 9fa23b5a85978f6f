"""One HPA over simulated time: sync after sync of `controller.py`, for every forecast. Pure.

`preview/` and `simulation/` both walk here; they differ in where a proposal comes from, and in how much is known of
the future. A sync that finds what the last one found, where all that is remembered asks for the same, changes nothing
but the time of the last recommendation: it is not computed. Where the metrics are foreseen it is left out altogether,
until `wake`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from keda_py.core.hpa.behavior import History, Outcome, Recommendation, awaits_policies, is_by_policy, remember_change
from keda_py.core.hpa.controller import ControllerOptions, HpaSpec, begin, needs_metrics, resize, sync
from keda_py.core.hpa.pods import ScaleTarget

Propose = Callable[[int], int | None]
"""The present count -> what the metrics ask for; None: too little is known to scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Seconds from sync to sync, and what each takes on top of that; how the controller decides.

    `foreseen`: what metrics say changes only where `Walk.wake` says so.
    """

    period: float = 15.0
    takes: float = 0.0
    options: ControllerOptions = field(default_factory=ControllerOptions)
    foreseen: bool = False


@dataclass(frozen=True, slots=True)
class Rescaled:
    """The count that a sync asks for, and why: AboveTarget, BelowTarget, or the controller's words."""

    replicas: int
    why: str


class Walk:
    """`next` is the second of the next sync that may change something; infinity: none before `wake` or `create`.

    Seconds count from `origin` (aware), and never go back.
    """

    def __init__(self, spec: HpaSpec, rhythm: Rhythm, origin: datetime) -> None:
        self.next = math.inf
        self._spec, self._rhythm, self._origin = spec, rhythm, origin
        self._step = rhythm.period + rhythm.takes
        self._history = History()
        self._rest: tuple[int, int] | None = None
        """A proposal and a count with which a sync changes nothing, however often it comes."""
        self._rests_at: float | None = None
        """The last sync that was not computed."""
        self._dozes_since: float | None = None

    def create(self, at: float) -> None:
        """A new HPA; its first sync is one period away."""
        self._history, self._rest, self._rests_at, self._dozes_since = History(), None, None, None
        self.next = at + self._rhythm.period

    def delete(self) -> None:
        """No HPA."""
        self.next, self._dozes_since = math.inf, None

    def adopt(self, spec: HpaSpec, at: float) -> None:
        """Bounds and behaviour from now on."""
        self.wake(at)
        self._leave_rest()
        self._spec = spec

    def wake(self, at: float) -> None:
        """What a sync looks at is another: syncs are due again, when they would have been anyway."""
        if self._dozes_since is None:
            return
        steps = max(math.ceil((at - self._dozes_since) / self._step), 1)
        self.next = self._dozes_since + steps * self._step
        if self._rest is not None and steps > 1:
            self._rests_at = self.next - self._step
        self._dozes_since = None

    def sync(self, at: float, current: int, propose: Propose) -> Rescaled | None:
        """One sync; None: the count stays. Metrics are asked for only where they decide."""
        self.next = at + self._step
        if not needs_metrics(self._spec, current):
            return self._sync_outside(at, current)
        if not self._history.recommendations:
            self._history = begin(self._history, current, self._now(at))
        count = propose(current)
        if count is None:
            self._leave_rest()
            self._doze(at, self._rhythm.foreseen)
            return None
        if self._rest is not None and self._rest == (count, current):
            self._rests_at = at
            return None
        return self._resize(at, current, count)

    def _sync_outside(self, at: float, current: int) -> Rescaled | None:
        """At zero, or outside the bounds: decided without metrics."""
        self._leave_rest()
        target = ScaleTarget(namespace="", replicas=current, status_replicas=current)
        verdict = sync(self._spec, target, (), self._history, self._rhythm.options, self._now(at))
        self._history = verdict.history
        if verdict.rescale and verdict.desired is not None:
            return self._rescale(at, current, verdict.desired, verdict.reason)
        self._doze(at, current == 0)
        return None

    def _resize(self, at: float, current: int, count: int) -> Rescaled | None:
        self._leave_rest()
        now, options = self._now(at), self._rhythm.options
        self._history, stable, limited = resize(self._spec, current, count, self._history, options, now)
        if limited.replicas != current:
            why = "AboveTarget" if count > current else "BelowTarget" if count < current else stable.condition.reason
            return self._rescale(at, current, limited.replicas, why)
        if self._is_steady(count, limited, now):
            self._rest = (count, current)
            self._doze(at, self._rhythm.foreseen)
        return None

    def _is_steady(self, count: int, limited: Outcome, now: datetime) -> bool:
        """Will syncs that find the same decide the same? Nothing else is remembered, and no policy lets go later."""
        if any(one.replicas != count for one in self._history.recommendations):
            return False
        return not (is_by_policy(limited) and awaits_policies(self._history, self._spec.behavior, now))

    def _rescale(self, at: float, current: int, wanted: int, why: str) -> Rescaled:
        self._history = remember_change(self._history, self._spec.behavior, current, wanted, self._now(at))
        return Rescaled(wanted, why)

    def _doze(self, at: float, dozes: bool) -> None:
        if dozes:
            self._dozes_since, self.next = at, math.inf

    def _leave_rest(self) -> None:
        """Write down the recommendations that were all the same: the last of them outlives the others."""
        if self._rests_at is not None and self._history.recommendations:
            last = Recommendation(self._history.recommendations[-1].replicas, self._now(self._rests_at))
            self._history = replace(self._history, recommendations=(last,))
        self._rest, self._rests_at = None, None

    def _now(self, at: float) -> datetime:
        return self._origin + timedelta(seconds=at)
