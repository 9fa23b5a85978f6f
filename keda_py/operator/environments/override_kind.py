"""Overrides: whether each rules, when it ends, who asked for it; a day after its end it is deleted.

What an Override does is for the controller of its target's Environment, which reads them all (`known/`). Here
its status is told, its end is fixed once (NextChange moves with the calendar otherwise), and its target hears of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from keda_py.apis.environments.override import REQUESTED_BY, OverrideStatus
from keda_py.apis.foreign import map_at, text_at, texts_at
from keda_py.core.environment.overrides import OverrideSpec, Standing, removable_at
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError, Conflict, NotFound
from keda_py.kube.resources import OVERRIDES, Obj
from keda_py.operator.controller.after_look import LATE_SECONDS
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered, fingerprint_of
from keda_py.operator.environments.calendar_kind import Standing as Looked
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.wire import fields_of

LONGEST_WAIT = timedelta(hours=1)

_TOLD = {"Active": "OverrideBegan", "Ended": "OverrideEnded"}


@dataclass(slots=True)
class OverrideMemory(Remembered):
    """Of one Override; nothing has to survive."""

    spec: Looked | None = None
    target: Obj = field(default_factory=dict)


class OverrideObjects(Kind[OverrideMemory]):
    """The kind for `Controller`."""

    new = OverrideMemory

    def __init__(self, parts: EnvironmentDependencies) -> None:
        self._parts, self.live = parts, parts.caches.overrides

    async def reconcile(self, state: OverrideMemory, live: Obj) -> None:
        """There is nothing to prepare."""
        state.spec, state.next_look, state.fingerprint = Looked(), 0.0, fingerprint_of(live)
        state.target = map_at(live, "spec", "target")

    async def look(self, state: OverrideMemory) -> None:
        """How it fares; gone, a day after its end. Raises KubeError."""
        live = self.live.get(state.key.namespace, state.key.name)
        if live is None:
            return
        now = self._parts.clock.now()
        state.next_look = self._parts.clock.monotonic() + LONGEST_WAIT.total_seconds()
        by = texts_at(live, "metadata", "annotations").get(REQUESTED_BY, "")
        try:
            spec = await self._parts.overriding.read({**live, "status": {**state.status, "requestedBy": by}})
        except ConfigError as error:
            invalid = OverrideStatus(phase="Invalid", because=str(error), requested_by=by)
            await self._parts.status.write(state, fields_of(OverrideStatus, invalid))
            return
        remove = removable_at(spec)
        if remove is not None and now >= remove:
            await self._remove(state)
            return
        others = await self._parts.overriding.of_namespace(state.key.namespace)
        await self._tell(state, live, spec, others.standing(spec, now))
        times = [at for at in (spec.starts, spec.ends, remove) if at is not None and at > now]
        self._wait(state, min(times, default=None), now)

    async def _tell(self, state: OverrideMemory, live: Obj, spec: OverrideSpec, standing: Standing) -> None:
        before = state.status.get("phase", "")
        status = OverrideStatus.model_validate(
            {
                "phase": standing.phase,
                "because": standing.because,
                "requestedBy": spec.requested_by,
                "starts": write_time(spec.starts),
                "ends": "" if spec.ends is None else write_time(spec.ends),
            }
        )
        await self._parts.status.write(state, fields_of(OverrideStatus, status))
        if before != standing.phase and standing.phase in _TOLD:
            for about in (live, self._target(spec, state.key.namespace)):
                if about is not None:
                    self._parts.events.record(about, "Normal", _TOLD[standing.phase], spec.because)

    def _target(self, spec: OverrideSpec, namespace: str) -> Obj | None:
        kind, name = spec.target.kind, spec.target.name
        if kind == "Environment":
            return self._parts.caches.environments.get(namespace, name)
        return self._parts.cluster.scaled_objects.get(namespace, name) if kind == "ScaledObject" else None

    async def _remove(self, state: OverrideMemory) -> None:
        try:
            await self._parts.client.delete(OVERRIDES.named(state.key.namespace, state.key.name), uid=state.uid)
        except (NotFound, Conflict):
            return

    def _wait(self, state: OverrideMemory, at: datetime | None, now: datetime) -> None:
        wait = LONGEST_WAIT if at is None else min(at - now, LONGEST_WAIT)
        at_latest = self._parts.clock.monotonic() + wait.total_seconds() + LATE_SECONDS
        state.next_look = min(state.next_look, at_latest)

    def watches(self, controller: Controller[OverrideMemory]) -> Iterable[Callable[[], None]]:
        """The others of a namespace: a newer one for the same target goes before."""
        yield self.live.subscribe(partial(_on_neighbour, controller))

    async def finalize(self, state: OverrideMemory, live: Obj) -> None:
        """It has no finalizer of ours."""
        state.stop()


def _on_neighbour(controller: Controller[OverrideMemory], old: Obj | None, new: Obj | None) -> None:
    if old is not None and new is not None and _ruling(old) == _ruling(new):
        return
    changed = ObjectKey.of(controller.kind, new or old or {})
    target = map_at(new or old, "spec", "target")
    for state in controller.states.values():
        if state.key.namespace == changed.namespace and state.key != changed and state.target == target:
            state.next_look = 0.0
            controller.queue.add(state.key)


def _ruling(live: Obj) -> tuple[object, ...]:
    """What decides whether it goes before others."""
    return (live.get("spec"), text_at(live, "status", "phase") in ("Ended", "Invalid"))
