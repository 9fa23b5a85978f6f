"""One ScaledObject over time: looks and HPA syncs at the instants at which they may change something.

Pure: `core/round.py` decides and remembers, `autoscaler.py` scales between 1 and N. The spec is
given anew at each instant, with what schedules, Environments and Overrides lay over it. Polls at which nothing can
have changed are left out.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.core.activity import ActivityState
from keda_py.core.decision import Decision, Reason, ScaleTo
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.meaning.causes import cause_of
from keda_py.core.reading import Round
from keda_py.core.round import Facts, Outcome, conclude, judge
from keda_py.core.spec import ScalingSpec
from keda_py.replay.autoscaler import Autoscaler
from keda_py.replay.plan import Now
from keda_py.replay.reasons import by_hpa, by_pause
from keda_py.replay.timeline import Step
from keda_py.replay.triggers import Triggers, read_triggers

FEWEST_STEPS, STEPS_A_DAY = 400, 48
"""So many may one object take; what changes more often does not settle, and nothing is told behind them."""
READINGS_A_STEP = 50
"""So many readings of windows may one step cost, on the average."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The spec of an instant, and what changed it last; "" where nothing did."""

    spec: ScalingSpec
    because: str = ""


class ScaledObjectReplay:
    """`due` is when to step next; None: not before its spec changes. Raises ConfigError for triggers that are wrong."""

    def __init__(self, written: ScalingSpec, now: Now, period: timedelta) -> None:
        self.written, self.replicas = written, now.replicas
        self._most = max(FEWEST_STEPS, period.days * STEPS_A_DAY)
        self._readings_left = self._most * READINGS_A_STEP
        self._seen: Round | None = None
        self.first = now.replicas
        self.triggers: Triggers = read_triggers(written)
        self.steps: list[Step] = []
        self.active = False
        self._laid: Laid | None = None
        self._hpa: Autoscaler | None = None
        active = now.last_active
        self._activity = None if active is None else ActivityState(last=active.timestamp())
        self._changed: datetime | None = None
        self._next_look: datetime | None = None

    @property
    def due(self) -> datetime | None:
        """The next look or sync."""
        if not self.settles:
            return None
        syncs = self._hpa.due if self._hpa is not None else None
        return min((at for at in (self._next_look, syncs) if at is not None), default=None)

    @property
    def settles(self) -> bool:
        """False for one that its own bounds, or its windows, move up and down all the time."""
        return len(self.steps) < self._most and self._readings_left > 0

    def step(self, laid: Laid, now: datetime) -> None:
        """All that is due."""
        if self._laid is None or laid.spec != self._laid.spec:
            self._begin(laid, now)
        self._laid = laid
        if laid.spec.pause.stopped:
            return
        if self._next_look is not None and self._next_look <= now:
            self._look(laid, now)
        if self._hpa is not None and self._hpa.due is not None and self._hpa.due <= now:
            self._sync(self._hpa, now)

    def _begin(self, laid: Laid, now: datetime) -> None:
        """Under another spec."""
        spec, self._changed = laid.spec, now
        if spec.pause.stopped:
            self._hpa, self._next_look, self.active = None, None, False
            wanted = spec.pause.replica_count()
            if wanted is not None:
                self._set(wanted, now, "Paused", laid.because or by_pause(spec), ruled=bool(laid.because))
            return
        manifest = build_hpa(spec, self.triggers.metrics)
        if self._hpa is None:
            self._hpa = Autoscaler(manifest, now)
        else:
            self._hpa.change(manifest, now)
        self._next_look = now

    def _look(self, laid: Laid, now: datetime) -> None:
        spec, monotonic = laid.spec, now.timestamp()
        seen = self._seen = self.triggers.read(now, self._seen)
        self._readings_left -= len(seen.readings) or 1
        facts = Facts(
            now=now,
            monotonic=monotonic,
            metrics=self.triggers.metrics,
            readings=seen,
            replicas=self.replicas,
            activity=self._activity,
        )
        judgement = judge(spec, facts)
        decision, evaluation, before = judgement.decision, judgement.evaluation, self.replicas
        if isinstance(decision.action, ScaleTo):
            ruled = self._is_ruled(decision, laid, now)
            because = laid.because if ruled else cause_of(decision, evaluation, spec)
            self._set(decision.action.replicas, now, decision.reason.value, because, ruled=ruled)
        self._activity = conclude(judgement, Outcome(before=before)).activity
        self.active = evaluation.active or spec.force_activation
        self._next_look = decision.look_again_at
        if self.replicas != before:
            self._poll_again(spec, now)
        if self._hpa is not None:
            self._hpa.wake(evaluation, self.replicas, now)

    def _sync(self, hpa: Autoscaler, now: datetime) -> None:
        rescaled = hpa.sync(now)
        if rescaled is not None and self._laid is not None:
            because = by_hpa(rescaled, self.replicas, self._laid.because)
            self._set(rescaled.replicas, now, "Scaled", because, ruled=because == self._laid.because)
            self._poll_again(self._laid.spec, now)

    def _poll_again(self, spec: ScalingSpec, now: datetime) -> None:
        """After a change of the count: the next poll finds another one."""
        polled = now + spec.polling_interval
        self._next_look = polled if self._next_look is None else min(self._next_look, polled)

    def _is_ruled(self, decision: Decision, laid: Laid, now: datetime) -> bool:
        """Whether it follows from a spec that changed this instant, or raises to the minimum that a rule gives."""
        return bool(laid.because) and (self._changed == now or decision.reason is Reason.RAISED_TO_MIN)

    def _set(self, replicas: int, now: datetime, reason: str, because: str, *, ruled: bool = False) -> None:
        if replicas != self.replicas:
            before = self.replicas
            step = Step(at=now, before=before, replicas=replicas, reason=reason, because=because, ruled=ruled)
            self.steps.append(step)
            self.replicas = replicas
