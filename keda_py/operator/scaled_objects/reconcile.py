"""The whole-state pass over one ScaledObject: idempotent, from what is wanted to an HPA and a running scale loop.

Runs when the object or its HPA changed. `Reconciler.reconcile` reads as the list of steps of the behaviour reference
(section 3.2). A step that fails is named in the Ready condition; what the user must change (ConfigError) stops the
loop and waits for that change, what may pass (KubeError, ScalerError) is tried again by the caller.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from keda_py.core import conditions
from keda_py.core.activity import restore_activity
from keda_py.core.conditions import BOUNDED, READY, ConditionValue, read_condition, with_conditions
from keda_py.core.defaults.filling import loses_minimum
from keda_py.core.fallback import has_valid_fallback
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.metric_names import COMPOSITE_METRIC, MetricSet
from keda_py.core.spec import NAME_LABEL, ScalingSpec
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.errors import ConfigError, Forbidden, Invalid, KubeError, NotFound, ScalerError
from keda_py.kube.events import EventType
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.dependencies import WATCH_STARTED
from keda_py.operator.controller.finalizer import ensure_finalizer
from keda_py.operator.controller.scalers import build_scalers, used_types
from keda_py.operator.controller.state import about
from keda_py.operator.controller.troubles import StepError, log_trouble
from keda_py.operator.defaults.report import report_bounds
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.pausing import pause, resume
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import TargetError

STEP_OWN = "ScaledObject was refused by the API server"
STEP_HOLD = "failed to scale target to paused replica count"
STEP_TARGET = "ScaledObject doesn't have correct scaleTargetRef specification"
STEP_BOUNDS = "ScaledObject doesn't have correct Idle/Min/Max Replica Counts specification"
STEP_TRIGGERS = "ScaledObject doesn't have correct triggers specification"
STEP_HPA = "failed to ensure HPA is correctly created for ScaledObject"

log = logging.getLogger(__name__)


class Reconciler:
    """Brings one object at a time to what its spec says."""

    def __init__(self, parts: ScaledObjectDependencies) -> None:
        self._parts, self._shared = parts, parts.shared

    async def reconcile(self, state: ObjectState, live: Obj) -> None:
        """All steps for a live, not deleted object. Raises StepError (status and Event written) and KubeError."""
        # Of one step the fields are remembered even when a later one fails, so that a status tells how far it came.
        fields: dict[str, Any] = {}
        spec: ScalingSpec | None = None
        try:
            with _step("ScaledObject cannot be read"):
                spec = self._parts.specs.read(live)
            state.resumes_at = spec.pause.until
            await self._prepare(state, spec, live, fields)
        except StepError as error:
            await self._report_failure(state, spec, live, fields, error)
            raise
        # Only now: after an error or a crash in between there is no fingerprint, and all steps, which are idempotent,
        # run again.
        state.reconciled.finish(live)
        self._report_success(state, spec, live, fields)

    async def make_hpa(self, state: ObjectState, live: Obj) -> None:
        """Make the HPA of a new object, whose count from before is stored by now. Raises StepError and KubeError."""
        spec = state.spec
        try:
            with _step(STEP_HPA):
                await self.create_hpa(state, live)
        except (StepError, KubeError) as error:
            state.reconciled.invalidate()  # the next reconcile makes it
            if isinstance(error, StepError):
                await self._report_failure(state, spec, live, {}, error)
            raise

    async def create_hpa(self, state: ObjectState, live: Obj) -> None:
        """The same, for a caller that tries again. Raises KubeError."""
        if state.spec is None or state.unmade is None:
            return
        state.hpa_version = await self._parts.hpas.ensure(state.spec, state.unmade, "")
        # Cleared after the request: if that fails, the next attempt still has the manifest.
        state.unmade = None
        self._shared.tell(live, *_READY_EVENT)

    async def _prepare(self, state: ObjectState, spec: ScalingSpec, live: Obj, fields: dict[str, Any]) -> None:
        """Everything between a parsed spec and a scale loop that may run; `fields` collects the status."""
        state.unmade = None
        # The first of all writes: from here on a deletion waits for us, so that no crash leaves a workload scaled by an
        # object that is gone.
        await self._add_finalizer_and_label(live, label=not spec.pause.stopped)
        if spec.pause.stopped:
            with _step(STEP_HOLD):
                await pause(self._parts, state, spec, live)
            return
        await resume(self._parts, state, spec, live)
        with _step(STEP_TARGET):
            await self._resolve_target(state, spec, live, fields)
        with _step(STEP_BOUNDS):
            check_bounds(spec)
        with _step(STEP_TRIGGERS):
            check_triggers(spec.triggers)
        fields |= used_types(spec)
        if state.spec is None or state.spec.target != spec.target or state.rivals_changed:
            self._tell_rivals(state, spec, live)
        # Staged before the scalers are built: where their source is slow, `meanwhile` stores the original count and
        # what is known so far.
        self._stage(state, fields, {}, spec)
        with _step(STEP_HPA):
            metrics = await self._ensure_hpa(state, spec, live, fields)
        self._start_loop(state, spec, metrics, live)

    async def _add_finalizer_and_label(self, live: Obj, *, label: bool) -> None:
        """Finalizer and label, in one write, only where they are missing."""
        labels = {NAME_LABEL: live["metadata"]["name"]} if label else {}
        try:
            await ensure_finalizer(self._shared.client, SCALED_OBJECTS, live, labels)
        except (Forbidden, Invalid) as error:
            # Invalid: a newer schema refuses what an older one let in, and with it every write to the object.
            raise StepError(f"{STEP_OWN}: {error}", error) from error

    async def _resolve_target(self, state: ObjectState, spec: ScalingSpec, live: Obj, fields: dict[str, Any]) -> None:
        try:
            kind, count = await self._parts.targets.resolve(spec)
        except TargetError as error:
            if state.missing is None:
                self._shared.tell(live, "Warning", error.event_reason, error.event_note)
            raise
        state.target = kind
        fields["scaleTargetKind"] = f"{kind.group}/{kind.version}.{kind.kind}"
        fields["scaleTargetGVKR"] = {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
            "resource": kind.resource,
        }
        if "originalReplicaCount" not in state.status:
            fields["originalReplicaCount"] = count.replicas

    async def _ensure_hpa(self, state: ObjectState, spec: ScalingSpec, live: Obj, fields: dict[str, Any]) -> MetricSet:
        if state.target is None:
            raise ConfigError("the scale target is not resolved")
        metrics = await build_scalers(self._shared, state, spec, live)
        desired, recorded = build_hpa(spec, metrics), state.status.get("hpaName", "")
        # An HPA changes the count, and this process may end at any moment: the count from before is stored first. Of a
        # new object it goes with the write that follows the first look, so that it costs none of its own.
        is_stored = "originalReplicaCount" in state.stored
        if not is_stored and not recorded and self._parts.hpas.is_new(spec.namespace, spec.hpa_name):
            state.unmade = desired
        else:
            if not is_stored:
                await self._shared.status.settle(state)
            state.hpa_version = await self._parts.hpas.ensure(spec, desired, recorded)
        fields["hpaName"] = spec.hpa_name
        fields["externalMetricNames"] = list(metrics.external_names) or None
        fields["resourceMetricNames"] = list(metrics.resource_names) or None
        fields["compositeScalerName"] = COMPOSITE_METRIC if spec.modifiers else None
        return metrics

    def _tell_rivals(self, state: ObjectState, spec: ScalingSpec, live: Obj) -> None:
        """Tell of each HPA of another owner over the workload, once: admission does not see one that comes later."""
        rivals = self._parts.hpas.rivals_of(spec, state.uid)
        for rival in rivals:
            if rival.name not in state.rivals:
                self._parts.shared.events.record(live, "Warning", "ScaledObjectRivalHPA", rival.told(spec.target))
                log.warning("workload has another hpa", extra=about(state) | {"hpa": rival.name})
        state.rivals, state.rivals_changed = tuple(rival.name for rival in rivals), False

    def _tell_broken_scaler(self, live: Obj, error: StepError) -> None:
        """A scaler that cannot be built has an Event of its own, in its own words."""
        if str(error).startswith(STEP_HPA) and not isinstance(error.cause, KubeError):
            self._shared.events.record(live, "Warning", "KEDAScalerFailed", str(error.cause))

    def _in_full(self, state: ObjectState, error: StepError) -> str:
        """With the credentials that are missing, where scalers could not be built: more often than not they are why."""
        troubles = self._shared.resolver.troubles(state.key) if str(error).startswith(STEP_HPA) else ()
        return "; ".join((str(error), *troubles))

    def _start_loop(self, state: ObjectState, spec: ScalingSpec, metrics: MetricSet, live: Obj) -> None:
        clock = self._shared.clock
        fresh = state.spec is None
        # Only the first loop of this process restores it: later our own state is newer than the status that was written
        # last.
        if state.activity is None:
            state.activity = restore_activity(state.status, clock.now(), clock.monotonic())
        if state.spec is not None and state.spec.defaults and loses_minimum(state.spec, spec):
            state.activity = replace(state.activity, inherited=True)
        state.spec, state.metrics = spec, metrics
        state.due.look_at(0.0)  # at once: a new spec ends what was planned
        if fresh:
            self._shared.events.record(live, *WATCH_STARTED)

    def _report_success(self, state: ObjectState, spec: ScalingSpec, live: Obj, fields: dict[str, Any]) -> None:
        before = read_condition(state.status.get("conditions") or conditions.INITIAL, "Ready")
        ready = conditions.PAUSED_READY if spec.pause.stopped else READY
        # While the HPA of a new object is not made yet, the Event waits for it (`create_hpa`).
        if before.status != "True" and state.unmade is None:
            self._shared.tell(live, *_READY_EVENT)
        # What a running loop has found out about its triggers stays; it is for the next look to change it.
        keep = state.reconciled.fingerprint is not None and before.reason in _LOOP_REASONS
        values = {} if keep and not spec.pause.stopped else {"Ready": ready}
        if spec.defaults or any(one.get("type") == BOUNDED for one in state.status.get("conditions") or ()):
            values |= report_bounds(self._shared, state, spec, live)
        self._stage(state, fields, values, spec)

    async def _report_failure(
        self, state: ObjectState, spec: ScalingSpec | None, live: Obj, fields: dict[str, Any], error: StepError
    ) -> None:
        text = self._in_full(state, error)
        value = conditions.check_failed(text)
        changed = read_condition(state.status.get("conditions") or (), "Ready") != value
        if changed:
            self._shared.tell(live, "Warning", "ScaledObjectCheckFailed", text)
            self._tell_broken_scaler(live, error)
            log_trouble(log, state, "scaledobject check failed", error)
        if isinstance(error.cause, ConfigError | TargetError):
            state.stop()
            state.reason_fields, fields["kedaPy"] = {}, None
            await self._shared.readings.forget(state.key)
        self._stage(state, fields, {"Ready": value, "Active": conditions.CHECK_FAILED_ACTIVE}, spec)
        await self._shared.status.settle(state)

    def _stage(
        self, state: ObjectState, fields: dict[str, Any], values: Mapping[str, ConditionValue], spec: ScalingSpec | None
    ) -> None:
        if spec is None or not has_valid_fallback(spec):
            values = {**values, "Fallback": conditions.NO_FALLBACK}
        listed = with_conditions(state.status.get("conditions") or (), values)
        self._shared.status.stage(state, {**fields, "conditions": listed})


_READY_EVENT: tuple[EventType, str, str] = ("Normal", "ScaledObjectReady", "ScaledObject is ready for scaling")
_LOOP_REASONS = ("PartialTriggerError", "TriggerError", "ErrorGettingCurrentReplicas")


@contextmanager
def _step(step: str) -> Iterator[None]:
    try:
        yield
    except (ConfigError, ScalerError, TargetError, Forbidden, Invalid, NotFound) as error:
        raise StepError(f"{step}: {error}", error) from error
