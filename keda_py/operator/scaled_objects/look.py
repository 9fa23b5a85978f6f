"""One look at one object: observe, decide, apply, and write down what came of it.

Fifth of the seven files (before: `operator/controller/controller.py`, next: `external_metrics/query.py`). A look
happens at every poll, at a schedule's boundary, at the end of a cooldown, and whenever another caller's question
produced a new reading. It reads caches and scalers, never the API server (`observing.py`). What it comes to is one
value (`report.py`); status, Events, log lines and record entry are pure functions of it (`reporting.py` tells them);
only changes are written. Nearly every look finds all as it was, and is passed over.
"""

import logging
from datetime import datetime
from functools import partial

from keda_py.answers.fairness import TenantPlaces
from keda_py.core.decision import Decision, Reason, ScaleTo
from keda_py.core.pacing.activations import read_priority
from keda_py.core.reading import Round
from keda_py.core.round import Judgement, Outcome, conclude
from keda_py.core.spec import ScalingSpec
from keda_py.errors import Conflict, KubeError
from keda_py.kube.client import SHARE
from keda_py.operator.controller.activations import Ticket
from keda_py.operator.controller.after_look import schedule_next
from keda_py.operator.controller.state import NOTHING, about
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.observing import Snapshots, observe
from keda_py.operator.scaled_objects.report import Look, before_of, log_lines_of, look_of
from keda_py.operator.scaled_objects.reporting import report
from keda_py.operator.scaled_objects.savings import account_look, note_kept
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.status import reason_of, status_of
from keda_py.operator.scaled_objects.targets import Count

ATTEMPTS = 3
# Looks of one namespace that decide, scale and write: twice as many as it has requests at once.
ACTING_AT_ONCE = 2 * SHARE
# After a longer wait the sources are asked again: nothing is decided on what they said before an outage.
OLD_SECONDS = 2.0
log = logging.getLogger(__name__)


class ScaleLoop(Snapshots):
    """Looks at objects whose reconcile has started a loop (`state.spec` is set); `kind.py` is one."""

    def __init__(self, parts: ScaledObjectDependencies, places: TenantPlaces | None = None) -> None:
        super().__init__(parts)
        self._shared = parts.shared
        self._places = places or TenantPlaces(ACTING_AT_ONCE)

    async def look(self, state: ObjectState) -> None:
        """One round. Raises KubeError when the status could not be written; a failed scale is told, not raised."""
        spec = state.spec
        if spec is None:
            return
        state.due.looking, state.hpa_changed = True, False
        try:
            readings = await self._read(state, spec)
            if readings is None:
                return
            began = self._shared.clock.monotonic()
            # Only a few act at once: a thousand objects that lose their source would all wait for their writes.
            async with self._places.one(state.key.namespace) as waited:
                if waited and self._shared.clock.monotonic() > began + OLD_SECONDS:
                    readings = await self._read(state, spec)
                if readings is None or state.spec is not spec:
                    return
                look_again_at = await self._look(state, spec, readings)
            schedule_next(self._shared, state, readings, look_again_at)
            if state.snapshot is None and self._shared.activations.has_turn(state.key):  # it came during this look
                state.due.look_now()
        finally:
            state.due.looking = False
            if state.unmade is not None:  # whatever came of the look
                await self.make_hpa(state)

    def is_crowded(self, namespace: str) -> bool:
        """Whether a namespace has as many looks waiting as acting."""
        return self._places.is_crowded(namespace)

    async def _read(self, state: ObjectState, spec: ScalingSpec) -> Round | None:
        """Read the triggers; None if the object was changed meanwhile."""
        poll = self._shared.readings.poll(state.key, state.changed, ahead=state.due.take_answers())
        if state.staged:
            poll = self._shared.status.meanwhile(state, poll, partial(self.on_stored, state))
        readings = await poll
        return readings if state.spec is spec else None

    async def make_hpa(self, state: ObjectState) -> None:
        """Make the HPA of a new object; `kind.py` does it. Raises StepError and KubeError."""

    async def on_stored(self, state: ObjectState) -> None:
        """Called when staged fields are stored and the sources have not answered yet. Raises KubeError."""

    async def _look(self, state: ObjectState, spec: ScalingSpec, readings: Round) -> datetime | None:
        """Decide on the readings, apply, report and write; returns when to look again. Raises KubeError."""
        state.snapshot = None
        look = await self._act(state, spec, readings)
        if look.decision.reason is Reason.AWAITING_TURN and self._shared.activations.is_short:
            return look.decision.look_again_at
        state.ledger = account_look(state, look)
        report(self._parts, state, look)
        for level, message, extra in log_lines_of(look):
            log.log(level, message, extra=about(state) | extra)
        self._shared.readings.note_idle(state.key, idle=look.idle)
        self._remember(state, look)
        fields = status_of(look, state.reason_fields, state.ledger)
        has_written = await self._shared.status.write(state, fields)
        note_kept(state, fields)
        may_write = has_written or self._shared.status.is_behind(state)  # changes wait for their pause to end
        state.snapshot = None if may_write else self.snapshot_of(state, look)
        return look.decision.look_again_at

    async def _act(self, state: ObjectState, spec: ScalingSpec, readings: Round) -> Look:
        """Observe, judge, apply and conclude; when the target changed under our hands, observe and judge again."""
        for attempt in range(ATTEMPTS):
            judgement, count = await observe(self._parts, state, spec, readings)
            judgement = self._in_turn(state, judgement)
            try:
                outcome = await self._apply(state, spec, judgement.decision, count)
            except Conflict as error:
                if attempt + 1 == ATTEMPTS:
                    outcome = Outcome(before=judgement.facts.replicas or 0, error=str(error))
                    break
                if state.target is not None:
                    await self._parts.targets.read_again(state, spec, state.target)
            else:
                break
        conclusion, status = conclude(judgement, outcome), state.status
        return look_of(
            judgement,
            outcome,
            conclusion,
            metric_names=state.metrics.external_names if state.metrics else (),
            hpa_status=self._parts.hpas.status_in(state.key.namespace, status),
            before=before_of(state, status),
        )

    def _in_turn(self, state: ObjectState, judgement: Judgement) -> Judgement:
        """Postpone a decision that wakes a workload until it has a turn in the cluster's budget."""
        activations = self._shared.activations
        if not judgement.wakes:
            activations.withdraw(state.key)
            return judgement
        if activations.ask(Ticket(state.key), read_priority(judgement.spec.annotations)):
            return judgement
        return judgement.postponed()

    async def _apply(
        self, state: ObjectState, spec: ScalingSpec, decision: Decision, count: Count | None
    ) -> Outcome | None:
        """Scale if decided so. Raises Conflict; every other refusal is an outcome."""
        if not isinstance(decision.action, ScaleTo) or count is None or state.target is None:
            return None
        if not self._parts.caches.watches(state.target):
            # What was read up to a minute ago is good enough to keep, not to scale.
            fresh = await self._parts.targets.read_again(state, spec, state.target)
            if fresh != count:
                raise Conflict("the scale target changed since it was last read")
        wanted = Count(replicas=decision.action.replicas, resource_version=count.resource_version)
        # Before the count changes: the staged fields have the count from before, and this process may end any moment.
        await self._shared.status.settle(state)
        try:
            await self._parts.targets.write(state, spec, state.target, wanted)
        except Conflict:
            raise
        except KubeError as error:
            return Outcome(before=count.replicas, error=str(error))
        return Outcome(before=count.replicas)

    def _remember(self, state: ObjectState, look: Look) -> None:
        """What the next look begins with."""
        state.activity = look.activity
        state.reason_fields, state.failures = reason_of(look), look.failures
        state.odd, state.out_of_reach = frozenset(look.odd_values) or NOTHING, bool(look.refusal)
