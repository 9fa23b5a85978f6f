"""One HPA over simulated time: sync after sync of `controller.py`, for every forecast. Pure.

`preview/` and `simulation/` both walk here; they differ in where a proposal comes from, and in how much is known of
the future. A month has 172 800 syncs, and most keep the count: they ask for less than a recommendation that still
stands, or for no more than there is. Such a sync is not computed, but what it recommends is remembered. Where the
metrics are foreseen, and all that is remembered asks for the same, it is left out altogether, until `wake`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from keda_py.core.hpa.behavior import (
    ExplainedCount,
    HpaHistory,
    Recommendation,
    awaits_policies,
    down_window,
    is_by_policy,
)
from keda_py.core.hpa.controller import (
    ControllerOptions,
    HpaSpec,
    begin,
    leave_zero,
    needs_metrics,
    remember_rescale,
    resize,
    sync,
)
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
class RescaleDecision:
    """The count that a sync asks for, and why: AboveTarget, BelowTarget, or the controller's words."""

    replicas: int
    why: str


class Walk:
    """`next` is the second of the next sync that may change something; infinity: none before `wake` or `create`.

    Seconds count from `origin` (aware), and never go back.
    """

    def __init__(self, spec: HpaSpec, rhythm: Rhythm, origin: datetime) -> None:
        self.next = math.inf
        self._rhythm, self._origin = rhythm, origin
        self._step = rhythm.period + rhythm.takes
        self._history = HpaHistory()
        self._passed: list[tuple[int, float]] = []
        """Recommendations of syncs that were not computed: what, and when."""
        self._held = -1
        """A count at which the last sync left the HPA; -1: not known."""
        self._holds_until = -math.inf
        """Until then no proposal below moves it."""
        self._dozes_since: float | None = None
        self._dozes_at: int | None = None
        """What the syncs that are left out recommend."""
        self._read(spec)

    def _read(self, spec: HpaSpec) -> None:
        self._spec = spec
        rules = spec.behavior
        self._window = down_window(rules, self._rhythm.options.downscale_stabilization).total_seconds()
        self._only_highest = rules is None or not rules.scale_up.stabilization

    def create(self, at: float) -> None:
        """A new HPA; its first sync is one period away."""
        self._history, self._passed, self._held = HpaHistory(), [], -1
        self._dozes_since = self._dozes_at = None
        self.next = at + self._rhythm.period

    def delete(self) -> None:
        """No HPA."""
        self.next, self._dozes_since = math.inf, None

    def adopt(self, spec: HpaSpec, at: float) -> None:
        """Bounds and behaviour from now on."""
        self.wake(at)
        self._catch_up()
        self._read(spec)

    def wake(self, at: float) -> None:
        """What a sync looks at is another: syncs are due again, when they would have been anyway."""
        if self._dozes_since is None:
            return
        steps = max(math.ceil((at - self._dozes_since) / self._step), 1)
        self.next = self._dozes_since + steps * self._step
        if self._dozes_at is not None and steps > 1:
            self._passed.append((self._dozes_at, self.next - self._step))
        self._dozes_since = self._dozes_at = None

    def sync(self, at: float, current: int, propose: Propose) -> RescaleDecision | None:
        """One sync; None: the count stays. Metrics are asked for only where they decide."""
        self.next = at + self._step
        if not needs_metrics(self._spec, current, self._history, self._rhythm.options):
            return self._sync_outside(at, current)
        if not self._history.recommendations:
            self._history = begin(self._history, current, self._now(at))
        count = propose(current)
        if count is None:
            self._doze(at, self._rhythm.foreseen)
            return None
        if current == self._held and self._keeps(at, current, count):
            return None
        return self._resize(at, current, count)

    def _keeps(self, at: float, current: int, count: int) -> bool:
        """Does the count stay, whatever else is remembered? Then this is remembered, too."""
        if count < current and at >= self._holds_until:
            return False
        if count > current != self._spec.max_replicas:
            return False
        passed = self._passed
        last = passed[-1][0] if passed else self._history.recommendations[-1].replicas
        # With a stabilisation of scaleUp the lowest recommendation counts as well, so that each of them has to be
        # computed.
        if last != count and not self._only_highest:
            return False
        while passed and passed[-1][0] <= count:
            passed.pop()  # no higher, and forgotten earlier
        passed.append((count, at))
        if count >= current:
            self._holds_until = at + self._window
        return True

    def _sync_outside(self, at: float, current: int) -> RescaleDecision | None:
        """At zero, or outside the bounds: decided without metrics."""
        self._catch_up()
        target = ScaleTarget(namespace="", replicas=current, status_replicas=current)
        verdict = sync(self._spec, target, (), self._history, self._rhythm.options, self._now(at))
        self._history = verdict.history
        if verdict.rescale and verdict.desired is not None:
            return self._rescale(at, current, verdict.desired, verdict.reason)
        self._doze(at, current == 0)
        return None

    def _resize(self, at: float, current: int, count: int) -> RescaleDecision | None:
        self._catch_up()
        now, options = self._now(at), self._rhythm.options
        self._history, stable, limited = resize(self._spec, current, count, self._history, options, now)
        wanted = leave_zero(self._spec, current, limited.replicas)
        if wanted != current:
            why = "AboveTarget" if count > current else "BelowTarget" if count < current else stable.condition.reason
            return self._rescale(at, current, wanted, why)
        if not self._rhythm.foreseen:
            self._hold(current)
        elif self._is_steady(count, limited, now):
            self._dozes_at = count
            self._doze(at, True)
        return None

    def _hold(self, current: int) -> None:
        """At the count that the last sync did not change, for as long as a recommendation keeps it there."""
        highest = [one.at for one in self._history.recommendations if one.replicas >= current]
        since = (highest[-1] - self._origin).total_seconds() if highest else -math.inf
        self._held, self._holds_until = current, since + self._window

    def _is_steady(self, count: int, limited: ExplainedCount, now: datetime) -> bool:
        """Will syncs that find the same decide the same? Nothing else is remembered, and no policy lets go later."""
        if any(recommendation.replicas != count for recommendation in self._history.recommendations):
            return False
        return not (is_by_policy(limited) and awaits_policies(self._history, self._spec.behavior, now))

    def _rescale(self, at: float, current: int, wanted: int, why: str) -> RescaleDecision:
        options, now = self._rhythm.options, self._now(at)
        self._history = remember_rescale(self._spec, current, wanted, self._history, options, now)
        return RescaleDecision(wanted, why)

    def _doze(self, at: float, dozes: bool) -> None:
        if dozes:
            self._dozes_since, self.next = at, math.inf

    def _catch_up(self) -> None:
        """Remember what the syncs recommended that were not computed."""
        self._held = -1
        if self._passed:
            passed = (Recommendation(count, self._now(at)) for count, at in self._passed)
            self._history = replace(self._history, recommendations=(*self._history.recommendations, *passed))
            self._passed = []

    def _now(self, at: float) -> datetime:
        return self._origin + timedelta(seconds=at)
