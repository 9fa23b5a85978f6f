"""The scale loop: observe, decide, apply, as `operator/scaled_objects/look.py` does it, on simulated time.

A month has 172 800 polls, and most find what the one before found. `decide` says itself until when its decision holds
(`look_again_at`); while activity, count and known changes are the same until then, it would decide the same, and only
the last activity moves on. Such looks are taken as decided. All others go through the core, and all of an object with
a formula, or with a failing trigger.
"""

from dataclasses import dataclass
from datetime import datetime

from keda_py.core.activity import ActivityState, renew_activity
from keda_py.core.decision import Reason, ScaleTo
from keda_py.core.fallback import needs_ready_pods
from keda_py.core.pacing.polling_grid import Grid
from keda_py.core.round import Conclusion, Facts, Judgement, Outcome, conclude, judge
from keda_py.replay.engine.world import World

# A look at a boundary comes after it: seconds are floats, and must not round to before it.
_LATE_SECONDS = 0.001
_Key = tuple[tuple[bool | None, ...], int, datetime | None]
_NEVER: _Key = ((), -1, None)
"""The key of a decision that does not stand: no look finds it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeepDecision:
    """A decision to keep the count, what it was made of, and until when it holds (seconds)."""

    key: _Key
    until: float
    is_active: bool


class Looks:
    """The looks at one object; `next` is the second of the next one, infinity while it is paused."""

    def __init__(self, world: World, activity: ActivityState) -> None:
        self._world, self._activity = world, activity
        self._held: _KeepDecision | None = None
        self._active_at: float | None = None
        self._grid = Grid(interval=1.0, offset=0.0)
        self.next = float("inf")
        self.taken = 0

    def start(self, at: float) -> None:
        """Look now, and from then on at each polling interval; the last activity is remembered."""
        self._catch_up()
        self._held = None
        interval = self._world.subject.spec.polling_interval.total_seconds()
        self._grid = Grid(interval=interval, offset=at % interval)
        self.next = at

    def stop(self) -> None:
        """Look no more: the object is paused."""
        self._catch_up()
        self._held, self.next = None, float("inf")

    def look(self, at: float, *, polled: bool = True) -> None:
        """Take one look; without `polled` it is one that follows an HPA's question, which found work or an error."""
        world = self._world
        self.taken += 1
        before = world.pods.replicas
        world.meters.poll(at, due=polled)
        key = (tuple(world.meters.active), world.pods.replicas, world.meters.changes_at)
        held = self._held
        if held is not None and held.key == key and at < held.until:
            if held.is_active:
                self._active_at = at
            if not polled:
                return  # an HPA's question does not move the grid: the next poll is due when it was
        else:
            held = self._held = self._decide(at, key)
        if world.setting.foreseen:
            self.next = held.until
            if world.pods.replicas != before:
                self.poll_by(at)
        else:
            self.next = min(self._grid.next_after(at), held.until + _LATE_SECONDS)

    def poll_by(self, at: float) -> None:
        """Take the next poll one polling interval after `at`: the count is another, which the last look did not see."""
        self.next = min(self.next, at + self._grid.interval)

    def doze(self, end: float) -> None:
        """At zero: pass over the polls that find a lone trigger as inactive as the last did.

        Up to `end`, before which nothing else happens: what is read is read ahead of everything else.
        """
        held, meters = self._held, self._world.meters
        if held is None or held.is_active or held.key[0] != (False,) or held.key[2] is not None:
            return
        latest = min(end, held.until)
        while self.next < latest:
            meters.poll(self.next, due=True)
            if meters.active[0] is not False or meters.changes_at is not None:
                return  # the look at that moment shares the reading
            self.next = self._grid.next_after(self.next)

    def _decide(self, at: float, key: _Key) -> _KeepDecision:
        self._catch_up()
        world, now = self._world, self._world.now(at)
        spec, metrics, replicas = world.subject.spec, world.subject.metrics, world.pods.replicas
        seen = world.meters.round(now)
        ready = world.pods.ready if seen.errors and needs_ready_pods(spec, metrics) else None
        facts = Facts(
            now=now,
            monotonic=at,
            metrics=metrics,
            readings=seen,
            replicas=replicas,
            ready_pods=ready,
            health=world.meters.health,
            activity=self._activity,
        )
        judgement = world.judgement = judge(spec, facts)
        if metrics.composite is not None:
            values = judgement.evaluation.values
            world.composite = values[0].milli / 1000 if values else None
        action = judgement.decision.action
        conclusion = conclude(judgement, Outcome(before=replicas) if isinstance(action, ScaleTo) else None)
        self._activity = conclusion.activity or ActivityState()
        if isinstance(action, ScaleTo):
            world.scale(action.replicas, at, judgement)
        return self._hold(key, judgement, conclusion, at)

    def _hold(self, key: _Key, judgement: Judgement, conclusion: Conclusion, at: float) -> _KeepDecision:
        """Keep the decision for as long as it stands; one that does not, until a change that is known in advance."""
        stands, decision = conclusion.stands_until != judgement.facts.now, judgement.decision
        until = conclusion.stands_until if stands else decision.look_again_at
        return _KeepDecision(
            key=key if stands else _NEVER,
            until=max(self._world.second(until), at),
            is_active=decision.reason is Reason.ACTIVE,
        )

    def _catch_up(self) -> None:
        """Renew the activity by the looks that were taken as decided, before it is read."""
        if self._active_at is None or self._held is None:
            return
        at, self._active_at = self._active_at, None
        self._activity = renew_activity(self._activity, self._world.now(at), at)
