"""Pause and un-pause: the HPA goes away, the replicas stay or take the asked count, and nothing bounces.

Behaviour reference, section 3.2 step 5.
"""

from keda_py.core import conditions
from keda_py.core.conditions import read_condition, with_condition
from keda_py.core.spec import ScalingSpec
from keda_py.kube.resources import Obj
from keda_py.operator.parts import Parts, tell
from keda_py.operator.state import ObjectState
from keda_py.operator.targets import Count


async def hold(parts: Parts, state: ObjectState, spec: ScalingSpec, live: Obj) -> None:
    """Stop all scaling; with paused-replicas bring the target to that count. Raises ConfigError, KubeError."""
    held_already = await _mark_paused(parts, state, live)
    if state.spec is not None:
        parts.events.record(live, "Normal", "KEDAScalersStopped", "Stopped scalers watch")
    state.stop()
    await parts.readings.forget(state.key)
    hpa_name = state.status.get("hpaName") or spec.hpa_name
    if not held_already or parts.caches.hpas.get(spec.namespace, hpa_name) is not None:
        await parts.hpas.delete(spec.namespace, hpa_name)
    wanted = spec.pause.replica_count()
    if wanted is not None:
        kind, _ = await parts.targets.resolve(spec)
        count = await parts.targets.read_again(state, spec, kind)
        if count.replicas != wanted:
            target = Count(replicas=wanted, resource_version=count.resource_version)
            await parts.targets.write(state, spec, kind, target)
    await parts.status.write(state, {"pausedReplicaCount": wanted})


async def release(parts: Parts, state: ObjectState, spec: ScalingSpec, live: Obj) -> None:
    """Not stopped (any more): the Paused condition says whether scaling is blocked in one direction."""
    current = state.status.get("conditions") or conditions.INITIAL
    if spec.pause.any:
        await _mark_paused(parts, state, live)
    elif read_condition(current, "Paused").status == "True":
        tell(parts, live, "Normal", "ScaledObjectUnpaused", conditions.UNPAUSED.message)
        listed = with_condition(current, "Paused", conditions.UNPAUSED)
        await parts.status.write(state, {"conditions": listed, "pausedReplicaCount": None})
    parts.instruments.record_paused(state.key, paused=spec.pause.any)


async def _mark_paused(parts: Parts, state: ObjectState, live: Obj) -> bool:
    """True when the status said so already."""
    parts.instruments.record_paused(state.key, paused=True)
    current = state.status.get("conditions") or conditions.INITIAL
    marked = read_condition(current, "Paused").status == "True"
    if not marked:
        await parts.status.write(state, {"conditions": with_condition(current, "Paused", conditions.PAUSED)})
        tell(parts, live, "Normal", "ScaledObjectPaused", conditions.PAUSED.message)
    return marked
