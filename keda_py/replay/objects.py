"""One ScaledObject over time: the engine runs it, and each change of its count becomes a step with its reason. Pure.

The spec is given anew at each instant, with what schedules, Environments and Overrides lay over it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite

from keda_py.core.activity import ActivityState
from keda_py.core.decision import Reason
from keda_py.core.hpa.walk import RescaleDecision
from keda_py.core.meaning.causes import cause_of
from keda_py.core.round import Judgement
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.pause import PAUSED_REPLICAS
from keda_py.replay.engine.engine import ObjectEngine
from keda_py.replay.engine.setting import Setting
from keda_py.replay.engine.subject import Subject, subject_of
from keda_py.replay.engine.world import Cause, World
from keda_py.replay.plan import CurrentState
from keda_py.replay.timeline import Step
from keda_py.replay.triggers import Triggers, read_triggers

# Most steps of one object. One that changes more often does not settle, and has no steps after them.
FEWEST_STEPS, STEPS_A_DAY = 400, 48
# Readings of windows that one step may cost, on the average: a bound on the time that a preview takes.
READINGS_A_STEP = 50


@dataclass(frozen=True, slots=True)
class LayeredSpec:
    """The spec of an instant, and what changed it last; "" if nothing did."""

    spec: ScalingSpec
    because: str = ""


class ScaledObjectReplay:
    """`due` is when to step next; None: not before its spec changes. Raises ConfigError for triggers that are wrong.

    It stands at `now` when `start` comes, and is followed for `period`.
    """

    def __init__(self, written: ScalingSpec, now: CurrentState, start: datetime, period: timedelta) -> None:
        self.written, self.first = written, now.replicas
        self.steps: list[Step] = []
        self.triggers: Triggers = read_triggers(written)
        self._start, self._most = start, max(FEWEST_STEPS, period.days * STEPS_A_DAY)
        self._laid, self._changed = LayeredSpec(written), start
        setting = Setting(sources=self.triggers.sources(start), origin=start, replicas=now.replicas, foreseen=True)
        last = now.last_active
        activity = ActivityState(last=None if last is None else (last - start).total_seconds())
        self._engine = ObjectEngine(self._subject(written), setting, self, activity)
        self._begun = False

    @property
    def replicas(self) -> int:
        """The count that is asked for now."""
        return self._engine.world.pods.replicas

    @property
    def active(self) -> bool:
        """Whether its triggers, or the annotation that forces it, keep it up."""
        judgement = self._engine.world.judgement
        return judgement is not None and (judgement.evaluation.active or judgement.spec.force_activation)

    @property
    def due(self) -> datetime | None:
        """The next look or sync that may change something."""
        at = self._engine.next
        return self._start + timedelta(seconds=at) if self.settles and isfinite(at) else None

    @property
    def settles(self) -> bool:
        """False for one that its own bounds, or its windows, move up and down all the time."""
        readings = self._engine.looks.taken * (len(self.triggers.metrics.external) or 1)
        return len(self.steps) < self._most and readings < self._most * READINGS_A_STEP

    def step(self, laid: LayeredSpec, now: datetime) -> None:
        """Adopt another spec, then take the looks and syncs that are due."""
        at, changes = (now - self._start).total_seconds(), not self._begun or laid.spec != self._laid.spec
        if self.due == now:
            # `due` is a whole microsecond, which may lie before the engine's own second: what is due has to be taken
            # then, or the same instant would be due for ever.
            at = max(at, self._engine.next)
        self._laid = laid
        if changes:
            self._begun, self._changed = True, now
            self._engine.adopt(self._subject(laid.spec), at)
        # Windows and bounds of hostile manifests may keep it due for ever: `settles` bounds steps and readings.
        while self._engine.next <= at:
            self._engine.step(at)
            if not self.settles:
                break

    def changed(self, at: float, world: World, cause: Cause) -> None:
        """Write a step; the engine calls it after each change of the count."""
        laid, before = self._laid, self.steps[-1].replicas if self.steps else self.first
        match cause:
            case Judgement():
                ruled, reason = self._is_ruled(cause, world.now(at)), cause.decision.reason.value
                because = laid.because if ruled else cause_of(cause.decision, cause.evaluation, cause.spec)
            case RescaleDecision():
                reason, because = "Scaled", _by_hpa(cause, before, laid.because)
                ruled = because == laid.because
            case _:
                reason, because, ruled = cause, laid.because or _by_pause(laid.spec), bool(laid.because)
        step = Step(
            at=world.now(at), before=before, replicas=world.pods.replicas, reason=reason, because=because, ruled=ruled
        )
        self.steps.append(step)

    def passed(self, at: float, world: World) -> None:
        """Write nothing: steps are changes of the count."""

    def _is_ruled(self, judgement: Judgement, now: datetime) -> bool:
        """Whether it follows from a spec that changed this instant, or raises to the minimum that a rule gives."""
        raised = judgement.decision.reason is Reason.RAISED_TO_MIN
        return bool(self._laid.because) and (self._changed == now or raised)

    def _subject(self, spec: ScalingSpec) -> Subject:
        metrics = self.triggers.metrics
        return subject_of(spec, metrics, (0.0 for _ in metrics.external))


def _by_hpa(rescaled: RescaleDecision, before: int, laid: str) -> str:
    """Say why a sync of the HPA sets the count: its bounds, what lies over the spec, or the triggers."""
    if rescaled.why.startswith("Current number of replicas"):
        what = "below minReplicas" if "below" in rescaled.why else "above maxReplicas"
        return laid or f"HPA: {what}"
    up = rescaled.replicas > before
    return "HPA: the triggers ask for more" if up else "HPA: the triggers ask for less, and did for its whole window"


def _by_pause(spec: ScalingSpec) -> str:
    """Name the annotation by which the owner pauses it at a count."""
    return f"annotation {PAUSED_REPLICAS} is {spec.pause.replicas}"
