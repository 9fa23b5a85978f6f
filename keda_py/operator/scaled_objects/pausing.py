"""Pause and un-pause: the HPA goes away, the replicas stay or take the asked count, and nothing bounces.

Behaviour reference, section 3.2 step 5.
"""

from typing import Any

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.spec import ScalingSpec
from keda_py.kube.resources import Obj
from keda_py.operator.cluster.caches import unpack_hpa
from keda_py.operator.controller.after_look import note_decision
from keda_py.operator.controller.dependencies import WATCH_STOPPED
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.hpas import is_owned
from keda_py.operator.scaled_objects.reporting import entry_paused
from keda_py.operator.scaled_objects.savings import account_pause, note_kept
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.status import reason_paused, savings_of
from keda_py.operator.scaled_objects.targets import Count


async def pause(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, live: Obj) -> None:
    """Stop all scaling; with paused-replicas bring the target to that count. Raises ConfigError, KubeError."""
    # The condition comes first: if this process ends before the HPA is gone, the status says why nothing scales, and
    # the next reconcile does the rest.
    marked_before = await _mark_paused(parts, state, spec, live)
    if state.spec is not None:
        parts.shared.events.record(live, *WATCH_STOPPED)
    state.stop()
    await parts.shared.readings.forget(state.key)
    # Before the count is written: an HPA that is still there would scale the workload back.
    await _take_hpa_away(parts, state, spec, certain=not marked_before)
    wanted, before = spec.pause.replica_count(), None
    if wanted is not None:
        kind, _ = await parts.targets.resolve(spec)
        count = await parts.targets.read_again(state, spec, kind)
        before = count.replicas
        if before != wanted:
            target = Count(replicas=wanted, resource_version=count.resource_version)
            await parts.targets.write(state, spec, kind, target)
    if spec.ruled_by:
        note_decision(parts.shared, state, entry_paused(spec, before, parts.shared.clock.now()))
    now, document = parts.shared.clock.now(), state.reason_fields or state.status.get("kedaPy") or {}
    state.reason_fields, state.ledger = reason_paused(document, spec, now), account_pause(state, spec, now, wanted)
    fields = {"pausedReplicaCount": wanted, "kedaPy": state.reason_fields}
    if state.reason_fields != document:
        fields |= savings_of(state.ledger)
    await parts.shared.status.write(state, fields)
    note_kept(state, fields)


async def _take_hpa_away(
    parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, *, certain: bool
) -> None:
    """Delete the HPA that is ours, `certain`: without asking the cache, which may lag behind its creation.

    An HPA of that name that another client made, and that we have not taken over yet, is left alone.
    """
    recorded = state.status.get("hpaName", "")
    cached = parts.caches.hpas.get(spec.namespace, recorded or spec.hpa_name)
    if (recorded and certain) or (cached is not None and is_owned(unpack_hpa(cached), state.uid)):
        await parts.hpas.delete(spec.namespace, recorded or spec.hpa_name)


async def resume(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, live: Obj) -> None:
    """Not stopped (any more): the Paused condition says whether scaling is blocked in one direction."""
    status = state.status
    current = status.get("conditions") or conditions.INITIAL
    fields: dict[str, Any] = {"pausedReplicaCount": None}
    if spec.pause.any:
        await _mark_paused(parts, state, spec, live)
    elif read_condition(current, "Paused").status == "True":
        value = conditions.PAUSE_OVER if spec.pause_over else conditions.UNPAUSED
        parts.shared.tell(live, "Normal", "ScaledObjectUnpaused", value.message)
        fields["conditions"] = with_condition(current, "Paused", value)
    if any(status.get(name) != value for name, value in fields.items()):
        await parts.shared.status.write(state, fields)
    parts.shared.instruments.record_paused(state.key, paused=spec.pause.any)


async def _mark_paused(parts: ScaledObjectDependencies, state: ObjectState, spec: ScalingSpec, live: Obj) -> bool:
    """True when the status said so already."""
    # An Environment that sleeps is no pause that was forgotten, and has metrics of its own.
    parts.shared.instruments.record_paused(state.key, paused=not spec.ruled_by)
    current = state.status.get("conditions") or conditions.INITIAL
    before, value = read_condition(current, "Paused"), conditions.paused(spec.pause.because)
    listed = with_condition(current, "Paused", value)
    if spec.pause.active_reason:
        listed = with_condition(listed, "Active", conditions.inactive(spec.pause.active_reason, spec.pause.because))
    if listed != list(current):
        await parts.shared.status.write(state, {"conditions": listed})
    if before.status != "True":
        parts.shared.tell(live, "Normal", "ScaledObjectPaused", value.message)
    return before.status == "True"
