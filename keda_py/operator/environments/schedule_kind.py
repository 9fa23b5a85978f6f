"""Controller of ScalingSchedules: the bounds of ScaledObjects by time, in a layer below that of Environments.

Each look finds the period in force, writes it into the status, and makes the selected ScaledObjects due if their bounds
changed. In: `known/calendars.py`, `core/environment/scaling/schedules.py`. Next: `overlays.py`, the overlay itself.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from keda_py.apis.environments.calendar import CalendarRef, ChangeStatus
from keda_py.apis.environments.scaling_schedule import ScalingSchedule, ScalingScheduleStatus
from keda_py.apis.foreign import name_of, texts_at
from keda_py.apis.parsing import parse_manifest
from keda_py.apis.wire import Condition
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.scaling.schedules import (
    InForce,
    ScheduleSpec,
    build_schedule,
    conflicts_of,
    in_force,
    schedule_of,
)
from keda_py.core.meaning.causes import by_schedule
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError
from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import LookOnlyKind, LookOnlyMemory
from keda_py.operator.controller.state import LATE_SECONDS
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.overlays import Removal, SpecLayer, schedule_ruler
from keda_py.operator.environments.wire import fields_of

LONGEST_WAIT = timedelta(minutes=10)
"""Longest time between two looks: a calendar that a period names may have been edited, or its file."""
_MOST_NAMED = 5


@dataclass(slots=True)
class ScheduleMemory(LookOnlyMemory):
    """State of one ScalingSchedule between two looks; nothing of it has to survive. `known` None: the spec was
    unreadable.
    """

    known: ScheduleSpec | None = None
    ruled: frozenset[str] = field(default_factory=frozenset)


class ScheduleObjects(LookOnlyKind[ScheduleMemory]):
    """The kind for `Controller`."""

    new = ScheduleMemory

    def __init__(self, parts: EnvironmentDependencies) -> None:
        self._parts, self.live = parts, parts.caches.schedules
        self._shared = parts.shared
        self._states: dict[tuple[str, str], ScheduleMemory] = {}

    async def look(self, state: ScheduleMemory) -> None:
        """Find the period in force, write it, and set the bounds. Raises KubeError."""
        live = self.live.get(state.key.namespace, state.key.name)
        if live is None:
            return
        self._states[state.key.namespace, state.key.name] = state
        clock = self._shared.clock
        now = clock.now()
        state.due.look_at(clock.monotonic() + LONGEST_WAIT.total_seconds())
        try:
            state.known = await self._read(live)
        except ConfigError as error:
            state.known = None
            valid = Condition(type="Valid", status="False", reason="ScheduleInvalid", message=str(error))
            await self._write(state, ScalingScheduleStatus(conditions=[valid]))
            return  # its bounds stay until the spec can be read again or is deleted
        holds = in_force(state.known, now)
        await self._write(state, self._status(state, state.known, holds))
        self._lay(state, state.known, holds)
        state.due.look_by(clock.monotonic() + _seconds_to(holds.changes_at, now))

    async def _read(self, live: Obj) -> ScheduleSpec:
        written = parse_manifest(ScalingSchedule, live)
        namespace = written.metadata.namespace
        found: dict[CalendarRef, Calendar] = {}
        for period in written.spec.periods:
            if period.calendar_ref is not None:
                found[period.calendar_ref] = await self._parts.calendars.find(namespace, period.calendar_ref)
        return build_schedule(written, found.__getitem__)

    async def restore(self) -> None:
        """Restore the bounds in force before any ScaledObject is reconciled. The first look reports unreadable
        schedules.
        """
        self._states.clear()
        self._parts.bounds.clear()
        memories = []
        for live in self.live.objects():
            key = ObjectKey.of(self.live.spec.resource.kind, live)
            memory = ScheduleMemory(resource=self.resource, key=key, uid=live["metadata"]["uid"])
            with suppress(Exception):  # an unreadable schedule must not prevent the start
                memory.known = await self._read(live)
            self._states[key.namespace, key.name] = memory
            memories.append(memory)
        # Bounds are set after all schedules were read: which one rules an object depends on all of them.
        for memory in memories:
            if memory.known is not None:
                self._lay(memory, memory.known, in_force(memory.known, self._shared.clock.now()))

    def _objects(self, namespace: str) -> dict[str, dict[str, str]]:
        lives = self._parts.cluster.scaled_objects.objects(namespace)
        return {name_of(live): texts_at(live, "metadata", "labels") for live in lives}

    def _all(self, namespace: str) -> list[ScheduleSpec]:
        states = (state for (where, _), state in self._states.items() if where == namespace)
        return [state.known for state in states if state.known is not None]

    def _lay(self, state: ScheduleMemory, known: ScheduleSpec, holds: InForce) -> None:
        """Set the bounds of the ScaledObjects that it rules, and remove them from those that it no longer rules."""
        every = self._all(known.namespace)
        ruled = {
            name
            for name, labels in self._objects(known.namespace).items()
            if (ruling := schedule_of(every, name, labels)) is not None and ruling.uid == known.uid
        }
        because = schedule_ruler(known.name, holds)
        until = "" if holds.changes_at is None else write_time(holds.changes_at)
        for name in ruled | state.ruled:
            bounds = holds.bounds if name in ruled else None
            off = Removal(by_schedule(known.name, holds.period))
            laid = off if bounds is None else SpecLayer(bounds, because, "HeldBySchedule", until)
            self._parts.bounds.put(_scaled_object(known.namespace, name), laid, known.uid)
        state.ruled = frozenset(ruled)

    def _status(self, state: ScheduleMemory, known: ScheduleSpec, holds: InForce) -> ScalingScheduleStatus:
        objects = self._objects(known.namespace)
        conflicts = conflicts_of(known, self._all(known.namespace), objects)
        change = None
        if holds.changes_at is not None and holds.changes_to:
            change = ChangeStatus(at=write_time(holds.changes_at), to=holds.changes_to)
        conditions = [Condition(type="Valid", status="True", reason="Valid")]
        if conflicts:
            text = ", ".join(f"{name} ({older})" for name, older in sorted(conflicts.items())[:_MOST_NAMED])
            message = f"older schedules rule {text}"
            conditions.append(Condition(type="Conflict", status="True", reason="RuledByAnother", message=message))
        chosen = sum(known.takes(name, labels) for name, labels in objects.items()) - len(conflicts)
        return ScalingScheduleStatus(
            period=holds.period, next_change=change, scaled_objects=chosen, conditions=conditions
        )

    async def _write(self, state: ScheduleMemory, status: ScalingScheduleStatus) -> None:
        await self._shared.status.write(state, fields_of(ScalingScheduleStatus, status))

    def forget(self, state: ScheduleMemory) -> None:
        """Drop a deleted schedule and its bounds: the manifests' own bounds apply again."""
        self._states.pop((state.key.namespace, state.key.name), None)
        for name in state.ruled:
            self._parts.bounds.put(_scaled_object(state.key.namespace, name), None, state.uid)

    def watches(self, controller: Controller[ScheduleMemory]) -> Iterable[Callable[[], None]]:
        """Subscribe to ScaledObjects that come, go or change their labels, to calendars, and to other schedules."""
        due = partial(_on_change, controller)
        caches = self._parts.caches
        for informer in (self._parts.cluster.scaled_objects, caches.calendars, caches.cluster_calendars, self.live):
            yield informer.follow(due)


def _on_change(controller: Controller[ScheduleMemory], old: Obj | None, new: Obj | None) -> None:
    if old is not None and new is not None and _choosing(old) == _choosing(new):
        return
    where = (new or old or {})["metadata"].get("namespace", "")
    for state in controller.states.values():
        if state.spec is not None and where in ("", state.key.namespace):
            state.due.look_now()
            controller.queue.add(state.key)


def _scaled_object(namespace: str, name: str) -> ObjectKey:
    return ObjectKey(SCALED_OBJECTS.kind, namespace, name)


def _choosing(live: Obj) -> tuple[object, ...]:
    """The fields that a schedule depends on; of a ScaledObject only its labels."""
    spec = None if live["kind"] == "ScaledObject" else live.get("spec")
    return (live["metadata"].get("labels"), spec)


def _seconds_to(at: datetime | None, now: datetime) -> float:
    wait = LONGEST_WAIT if at is None else min(at - now, LONGEST_WAIT)
    return wait.total_seconds() + LATE_SECONDS
