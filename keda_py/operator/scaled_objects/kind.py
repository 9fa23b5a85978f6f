"""ScaledObjects, as the controller works on them: reconciled, looked at, finalized; and what else makes one due.

Next in the flow: `reconcile.py`, then `look.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from keda_py.apis.foreign import map_at, maps_at, name_of, namespace_of, text_at
from keda_py.core.conditions import INITIAL, hpa_active, with_condition
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.kube.informers.cache import Cache, key_of
from keda_py.kube.resources import Obj, Resource
from keda_py.operator.cluster.caches import BY_TARGET, WRITTEN, Caches, target_key, unpack_hpa
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.scaled_objects.deletion import finalize
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.hpas import MOST_RIVALS
from keda_py.operator.scaled_objects.look import ScaleLoop
from keda_py.operator.scaled_objects.reconcile import Reconciler
from keda_py.operator.scaled_objects.savings import last_account
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.targets import TargetError


class ScaledObjects(ScaleLoop, Kind[ObjectState]):
    """The kind for `Controller`; its `look` is `look.py`'s."""

    new = ObjectState

    def __init__(self, parts: ScaledObjectDependencies) -> None:
        super().__init__(parts)
        self.live = parts.caches.scaled_objects
        self._reconciler = Reconciler(parts)

    async def reconcile(self, state: ObjectState, live: Obj) -> None:
        """Reconcile, unless the HPA is gone because its namespace is terminating. Raises StepError and KubeError."""
        if state.hpa_lost and await self._parts.namespaces.is_terminating(state.key.namespace):
            state.stop()
            return
        state.snapshot = None
        await self._reconciler.reconcile(state, live)
        state.hpa_lost = False

    async def make_hpa(self, state: ObjectState) -> None:
        """Make the HPA of a new object, unless a change of the object has made a reconcile due.

        Raises StepError and KubeError.
        """
        live, is_outdated = self._live_of(state), state.changed is not None and state.changed.done()
        if live is not None and not is_outdated:
            await self._parts.shared.status.settle(state)
            await self._reconciler.make_hpa(state, live)

    async def on_stored(self, state: ObjectState) -> None:
        """Make the HPA of a new object before its sources have answered: a slow one does not delay it."""
        if (live := self._live_of(state)) is not None:
            await self._reconciler.create_hpa(state, live)

    def _live_of(self, state: ObjectState) -> Obj | None:
        return self.live.get(state.key.namespace, state.key.name)

    async def refresh(self, state: ObjectState) -> None:
        """Pass a change of the HPA's ScalingActive on. Raises KubeError."""
        hpas, namespace = self._parts.hpas, state.key.namespace
        hpa = hpa_active(hpas.status_in(namespace, state.status)) if state.hpa_changed else None
        if hpa is not None and state.spec is not None:
            listed = with_condition(state.status.get("conditions") or INITIAL, "HPAActive", hpa)
            await self._parts.shared.status.write(state, {"conditions": listed})
        state.hpa_changed = False

    async def finalize(self, state: ObjectState, live: Obj) -> None:
        """Restore the replicas if the spec asks for it, and remove the finalizer. Raises KubeError."""
        await finalize(self._parts, state, live)

    def forget(self, state: ObjectState) -> None:
        """Drop what is remembered of its scale target."""
        self._parts.targets.forget(state)
        if self._parts.requests is not None:
            self._parts.requests.end_wait(state.key)

    def hold(self, state: ObjectState) -> None:
        """`status.kedaPy` is written anew by the next look."""
        state.reason_fields = {}

    def note_failure(self, state: ObjectState, error: StepError, live: Obj) -> None:
        """Count it; an object whose target is missing waits for that, too."""
        self._parts.shared.instruments.record_error(state.key)
        missing = isinstance(error.cause, TargetError)
        state.missing = (state.key.namespace, live["spec"]["scaleTargetRef"]["name"]) if missing else None

    def last_words(self, state: ObjectState) -> Mapping[str, Any]:
        """`lastActiveTime` of an active object, and the account of savings if the stored one is out of date."""
        activity = state.activity
        is_active = activity is not None and activity.active and activity.last is not None
        return last_account(state) | (
            {"lastActiveTime": write_time(self._parts.shared.clock.now())} if is_active else {}
        )

    def watches(self, controller: Controller[ObjectState]) -> Iterable[Callable[[], None]]:
        """Watch HPAs and workloads, and listen to push sources while objects are looked at.

        What is there already is seen by the first look at each object.
        """
        listening = ExitStack()
        listening.enter_context(self._parts.shared.readings.listening())
        yield listening.close
        yield self._parts.caches.hpas.follow(partial(_on_hpa, controller))
        yield self._parts.caches.hpas.follow(partial(_on_rival, controller, self._parts.caches))
        if self._parts.requests is not None:
            yield self._parts.requests.waking.slices.follow(partial(_on_slice, controller))
        for informer in self._parts.caches.workloads.values():
            yield informer.on_restore(partial(_on_restore, controller))
            yield informer.follow(partial(_on_workload, controller, self.live, informer.spec.resource))


def _on_hpa(controller: Controller[ObjectState], old: Obj | None, new: Obj | None) -> None:
    """A hand edit or a deletion is repaired, one too many goes away; a change of ScalingActive is passed on.

    What our own write has made of it needs no other reconcile.
    """
    live = new or old or {}
    # Taking its owner off is an edit by hand, too.
    owner = _owner_of_hpa(live) or _owner_of_hpa(old or live)
    key = ObjectKey(controller.kind, live["metadata"].get("namespace", ""), owner)
    state = controller.states.get(key) if owner else None
    if state is None:
        return
    state.snapshot = None  # it has the HPA from before
    if old is None and state.spec is not None:
        return
    ours = new is not None and new["metadata"].get("resourceVersion") == state.hpa_version
    if not ours and (old is None or new is None or old[WRITTEN] != new[WRITTEN]):
        state.hpa_lost = new is None
        state.reconciled.invalidate()
        controller.queue.add(state.key)
    elif old and new and hpa_active(old.get("status") or {}) != hpa_active(new.get("status") or {}):
        state.hpa_changed = True
        controller.queue.add(state.key)


def _on_rival(controller: Controller[ObjectState], caches: Caches, old: Obj | None, new: Obj | None) -> None:
    """An HPA of another owner comes or goes: the ScaledObjects of its workload are reconciled, which tells of it."""
    live = new or old
    if live is None or (old is not None and new is not None) or _owner_of_hpa(live):
        return
    target = map_at(unpack_hpa(live), "spec", "scaleTargetRef")
    key = target_key(namespace_of(live), *(text_at(target, field) for field in ("apiVersion", "kind", "name")))
    for scaled_object in caches.scaled_objects.by_index(BY_TARGET, key)[:MOST_RIVALS]:
        state = controller.states.get(ObjectKey.of(controller.kind, scaled_object))
        if state is not None and state.spec is not None:
            state.rivals_changed = True
            state.reconciled.invalidate()
            controller.queue.add(state.key)


def _on_slice(controller: Controller[ObjectState], old: Obj | None, new: Obj | None) -> None:
    """A slice that leads to wakers has changed: an object that waits for it may go to 0."""
    live = new or old or {}
    key = ObjectKey(controller.kind, namespace_of(live), _owner_of(live))
    if (state := controller.states.get(key)) is not None:
        state.due.look_now()
        controller.queue.add(key)


def _on_restore(controller: Controller[ObjectState]) -> None:
    """The cache of workloads has gone back in time: our own last writes are no longer the newest."""
    for state in controller.states.values():
        state.written = None
        state.due.look_now()
        controller.queue.add(state.key)


def _on_workload(
    controller: Controller[ObjectState], scaled_objects: Cache, resource: Resource, old: Obj | None, new: Obj | None
) -> None:
    """A target that appears may be the one that an object is waiting for.

    Its objects come from an index: a cluster makes workloads all the time, and most are no object's.
    """
    if old is not None or new is None:
        return
    namespace, name = key_of(new)
    target = target_key(namespace, resource.api_version, resource.kind, name)
    for live in scaled_objects.by_index(BY_TARGET, target):
        state = controller.states.get(ObjectKey(controller.kind, namespace, name_of(live)))
        if state is not None and state.missing == (namespace, name):
            controller.queue.add(state.key)


def _owner_of_hpa(hpa: Obj) -> str:
    return _owner_of(unpack_hpa(hpa))


def _owner_of(live: Obj) -> str:
    for owner in maps_at(live, "metadata", "ownerReferences"):
        if owner.get("kind") == "ScaledObject":
            return str(owner["name"])
    return ""
