"""Controller of Overrides: whether each rules, when it ends, who asked for it; deletes it a day after its end.

The controller of the target's Environment applies Overrides, and reads them all (`known/`). This controller writes
their status, stores their end once (that of NextChange would move with the calendar otherwise), and wakes their
targets. For a ScaledObject outside of Environments it also sets the overlay (`override_targets.py`, `overlays.py`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from keda_py.answers.fairness import TenantPlaces
from keda_py.apis.environments.override import OverrideStatus
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at
from keda_py.apis.wire import Condition
from keda_py.core.environment.decision.members import OverlayAsleep
from keda_py.core.environment.overrides import OverridePhase, OverrideSpec, OverrideState, TargetKey, removable_at
from keda_py.core.environment.scaling.overlays import overlay_of
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.errors import ConfigError, Conflict, NotFound
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS, STATEFUL_SETS, Obj
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import LookOnlyKind, LookOnlyMemory
from keda_py.operator.controller.state import LATE_SECONDS
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.known.override_cache import CalendarAnswers
from keda_py.operator.environments.overlays import Overlays, Removal, SpecLayer
from keda_py.operator.environments.override_targets import OverriddenTarget, OverrideTargets, Remembers
from keda_py.operator.environments.wire import fields_of
from keda_py.operator.waking.request_triggers import has_request_trigger

LONGEST_WAIT = timedelta(hours=1)
# Looks of one namespace at a time, each with a status to write. A burst of Overrides would open as many connections,
# and delay the API server's answers to all others, among them those for the Lease.
LOOKED_AT_ONCE = 5

_NO_COUNT = "spec.replicas: downscaler annotations rule the workload, and know no such count; use state"
_OVER = "the end of its Override"
_STANDING = ("Active", "Outranked")
_TOLD = {"Active": "OverrideBegan", "Ended": "OverrideEnded"}


@dataclass(slots=True)
class OverrideMemory(LookOnlyMemory):
    """State of one Override between two looks; nothing of it has to survive. `alone`: its target, a ScaledObject
    outside of Environments.
    """

    target: TargetKey | None = None
    alone: ObjectKey | None = None


class OverrideObjects(LookOnlyKind[OverrideMemory]):
    """The kind for `Controller`. `direct` is the layer of overlays on ScaledObjects outside of Environments."""

    new = OverrideMemory

    def __init__(self, parts: EnvironmentDependencies, direct: Overlays) -> None:
        self._parts, self.live, self._direct = parts, parts.caches.overrides, direct
        self._shared = parts.shared
        self._places = OverrideTargets(parts.caches, parts.cluster, parts.owners, parts.shared.clock)
        self._due: Callable[[OverrideMemory], None] = lambda _: None
        self._restored: dict[ObjectKey, ObjectKey] = {}
        self._states: Mapping[ObjectKey, OverrideMemory] = {}
        self._looking = TenantPlaces(LOOKED_AT_ONCE)
        self._aimed: dict[tuple[str, TargetKey], dict[ObjectKey, OverrideMemory]] = {}

    def allow(self, remembers: Remembers) -> None:
        """Accept workloads outside of Environments whose original count is stored elsewhere (`override_targets.py`)."""
        self._places.allow(remembers)

    async def restore(self) -> None:
        """Restore the overlays outside of Environments before any ScaledObject is reconciled.

        An unreadable Override does not prevent the start; its first look reports it.
        """
        self._direct.clear()
        self._restored.clear()
        asked: defaultdict[str, CalendarAnswers] = defaultdict(dict)
        for live in self.live.objects():
            with suppress(Exception):
                self._parts.overriding.check_room(live)
                spec = await self._parts.overriding.read(live, asked[namespace_of(live)])
                place = self._places.find(live["metadata"]["namespace"], spec.target)
                if place.alone is not None:
                    self._restored[ObjectKey.of(self.resource.kind, live)] = place.alone
                    await self._lay(place.alone)

    async def look(self, state: OverrideMemory) -> None:
        """Update the status of the Override; delete it a day after its end. Raises KubeError."""
        async with self._looking.turn(state.key.namespace):
            await self._look(state)

    async def _look(self, state: OverrideMemory) -> None:
        live = self.live.get(state.key.namespace, state.key.name)
        if live is None:
            return
        now = self._shared.clock.now()
        state.due.look_at(self._shared.clock.monotonic() + LONGEST_WAIT.total_seconds())
        try:
            self._parts.overriding.check_room(live)
            spec = await self._parts.overriding.read({**live, "status": state.status})
            self._aim(state, spec.target)
            remove = removable_at(spec)
            if remove is not None and now >= remove and self._parts.acts():
                await self._remove(state)
                return
            others = await self._parts.overriding.of_namespace(state.key.namespace)
            standing = others.standing(spec, now)
            place = self._places.find(state.key.namespace, spec.target) if spec.holds(now) else None
            if place is not None and place.annotated and spec.state is OverrideState.EXACTLY:
                raise ConfigError(_NO_COUNT, field="spec.replicas")
        except ConfigError as error:
            status = OverrideStatus(phase="Invalid", because=str(error), conditions=_valid(str(error)))
            await self._write(state, live, status)
            await self._lies_over(state, None)
            return
        await self._write_phase(state, live, spec, standing, place)
        await self._lies_over(state, None if place is None else place.alone)
        times = [at for at in (spec.starts, spec.ends, remove) if at is not None and at > now]
        self._wait(state, min(times, default=None), now)

    async def _write_phase(
        self,
        state: OverrideMemory,
        live: Obj,
        spec: OverrideSpec,
        standing: OverridePhase,
        place: OverriddenTarget | None,
    ) -> None:
        before = state.status.get("phase", "")
        status = OverrideStatus.model_validate(
            {
                "phase": standing.phase,
                "because": standing.because,
                "starts": write_time(spec.starts),
                "ends": "" if spec.ends is None else write_time(spec.ends),
                "ends_of": spec.ends_of,
                "conditions": _valid(),
            }
        )
        await self._write(state, live, status)
        if before != standing.phase and standing.phase in _TOLD and self._parts.acts():
            for about in (live, place.live if place is not None else self._live_of(state)):
                if about is not None:
                    self._shared.events.record(about, "Normal", _TOLD[standing.phase], spec.because)

    def _live_of(self, state: OverrideMemory) -> Obj | None:
        with suppress(ConfigError):
            return self._places.find(state.key.namespace, state.target).live if state.target is not None else None
        return None

    async def _write(self, state: OverrideMemory, live: Obj, status: OverrideStatus) -> None:
        """Write all fields but `requestedBy`, which the admission owns, and `request`, which the wake has written."""
        generation = live["metadata"].get("generation", 0)
        fields = fields_of(OverrideStatus, status.model_copy(update={"observed_generation": generation}))
        del fields["requestedBy"], fields["request"]
        await self._shared.status.write(state, fields)

    async def _lies_over(self, state: OverrideMemory, alone: ObjectKey | None) -> None:
        before, state.alone = state.alone or self._restored.pop(state.key, None), alone
        for key in {before, alone}:
            await self._lay(key)

    async def _lay(self, key: ObjectKey | None) -> None:
        """Compute the overlay of a ScaledObject outside of Environments from its Overrides."""
        if key is None:
            return
        live = self._parts.cluster.scaled_objects.get(key.namespace, key.name)
        overrides = await self._parts.overriding.of_namespace(key.namespace)
        verdict = overrides.verdict(self._places.targets_of(key), self._shared.clock.now())
        overlay = None if live is None or self._parts.owners.of(live) else overlay_of(verdict)
        off = Removal(f"with {verdict.because or _OVER}")
        reason = "AsleepByOverride" if isinstance(overlay, OverlayAsleep) else "HeldByOverride"
        because = f"by {verdict.because}{_no_request(live, verdict.rules)}"
        until = "" if verdict.changes_at is None else write_time(verdict.changes_at)
        self._direct.put(key, off if overlay is None else SpecLayer(overlay, because, reason, until))

    def forget(self, state: OverrideMemory) -> None:
        """Drop a deleted Override: another one for the same ScaledObject takes its place, or the overlay is removed."""
        self._aim(state, None)
        if state.alone is None:
            return
        others = [one for one in self._states.values() if one is not state and one.alone == state.alone]
        for other in others:
            self._due(other)
        if not others:
            self._direct.put(state.alone, Removal(f"with {_OVER}"))

    def _aim(self, state: OverrideMemory, target: TargetKey | None) -> None:
        """Index the Override by its target."""
        if state.target is not None and (known := self._aimed.get((state.key.namespace, state.target))) is not None:
            known.pop(state.key, None)
            if not known:
                del self._aimed[state.key.namespace, state.target]
        state.target = target
        if target is not None:
            self._aimed.setdefault((state.key.namespace, target), {})[state.key] = state

    async def _remove(self, state: OverrideMemory) -> None:
        try:
            await self._shared.client.delete(OVERRIDES.named(state.key.namespace, state.key.name), uid=state.uid)
        except (NotFound, Conflict):
            return

    def _wait(self, state: OverrideMemory, at: datetime | None, now: datetime) -> None:
        wait = LONGEST_WAIT if at is None else min(at - now, LONGEST_WAIT)
        at_latest = self._shared.clock.monotonic() + wait.total_seconds() + LATE_SECONDS
        state.due.look_by(at_latest)

    def watches(self, controller: Controller[OverrideMemory]) -> Iterable[Callable[[], None]]:
        """Subscribe to the other Overrides, since a newer one for the same target outranks this one, and to targets."""
        self._states, self._due = controller.states, partial(_make_due, controller)
        self._aimed.clear()
        yield self.live.follow(Neighbours(self._states, self._due, self._parts.overriding.room).hear)
        cluster, caches = self._parts.cluster, self._parts.caches
        for kind, informer in (
            (ENVIRONMENTS.kind, caches.environments),
            (SCALED_OBJECTS.kind, cluster.scaled_objects),
            (DEPLOYMENTS.kind, cluster.workloads[DEPLOYMENTS.plural]),
            (STATEFUL_SETS.kind, cluster.workloads[STATEFUL_SETS.plural]),
            (DEPLOYMENTS.kind, caches.members[DEPLOYMENTS.kind]),
            (STATEFUL_SETS.kind, caches.members[STATEFUL_SETS.kind]),
        ):
            yield informer.follow(partial(self._on_target, kind))

    def _on_target(self, kind: str, old: Obj | None, new: Obj | None) -> None:
        """Make Overrides due whose target came, went or changed its owner; a changed Environment or ScaledObject
        affects all with a target.
        """
        if old is not None and new is not None and _placing(old) == _placing(new):
            return
        namespace, name = namespace_of(new or old), name_of(new or old)
        if kind in (ENVIRONMENTS.kind, SCALED_OBJECTS.kind):
            about = [state for state in self._states.values() if state.target and state.key.namespace == namespace]
        else:
            about = [*self._aimed.get((namespace, TargetKey(kind, name)), {}).values()]
        for state in about:
            self._due(state)


def _no_request(live: Obj | None, rules: OverrideSpec | None) -> str:
    """Say that no request wakes a ScaledObject which requests could wake otherwise."""
    if rules is None or not rules.keeps_down(0) or not has_request_trigger(live or {}):
        return ""
    return "; no request wakes it until the Override is deleted or has ended"


def _valid(error: str = "") -> list[Condition]:
    status, reason = ("False", "OverrideInvalid") if error else ("True", "Valid")
    return [Condition(type="Valid", status=status, reason=reason, message=error)]


def _make_due(controller: Controller[OverrideMemory], state: OverrideMemory) -> None:
    state.due.look_now()
    controller.queue.add(state.key)


Room = Callable[[str], Set[str] | None]
"""Returns the uids of the Overrides of a namespace that are read; None: all are."""


@dataclass(slots=True)
class _Change:
    """Changes of Overrides in one namespace: targets of those that came, names of those that went."""

    keys: set[ObjectKey] = field(default_factory=set)
    targets: set[TargetKey | None] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    makes_room: bool = False


class Neighbours:
    """Make only those Overrides due that a change of another one affects; a burst of changes is answered once.

    A new Override outranks the one that ruled the same target; those that a deleted one outranked may rule now; and one
    that was beyond the limit may be read now.
    """

    def __init__(
        self, states: Mapping[ObjectKey, OverrideMemory], due: Callable[[OverrideMemory], None], room: Room
    ) -> None:
        self._states, self._due, self._room = states, due, room
        self._changes: dict[str, _Change] = {}

    def hear(self, old: Obj | None, new: Obj | None) -> None:
        """Collect a change of an Override; all changes of one pass of the loop are answered together."""
        if old is not None and new is not None and _request(old) != _request(new):
            self._tell_own(ObjectKey.of(OVERRIDES.kind, new))
        before, after = _phase(old), _phase(new)
        edited = old is not None and new is not None and old.get("spec") != new.get("spec")
        comes = old is None or edited or before != after == "Active"
        goes = new is None or edited or (before in _STANDING and after not in _STANDING)
        makes_room = new is None or before != after == "Ended"
        if not (comes or goes or makes_room):
            return
        change = self._change_in(namespace_of(new or old))
        change.keys.add(ObjectKey.of(OVERRIDES.kind, new or old or {}))
        change.makes_room = change.makes_room or makes_room
        if comes:
            change.targets.add(_target_of(new or old or {}))
        if goes:
            change.gone.add(name_of(new or old))

    def _tell_own(self, key: ObjectKey) -> None:
        """Make an Override itself due: its first look may have been before its request was recorded."""
        if (state := self._states.get(key)) is not None:
            self._due(state)

    def _change_in(self, namespace: str) -> _Change:
        if namespace not in self._changes:
            self._changes[namespace] = _Change()
            asyncio.get_running_loop().call_soon(self._answer, namespace)
        return self._changes[namespace]

    def _answer(self, namespace: str) -> None:
        change = self._changes.pop(namespace)
        room = self._room(namespace) if change.makes_room else None
        for state in self._states.values():
            if state.key.namespace != namespace or change.keys == {state.key}:
                continue
            match state.status.get("phase"):
                case "Active":
                    due = bool(change.targets) and (
                        None in change.targets or state.target is None or state.target in change.targets
                    )
                case "Outranked":
                    due = _named_in(state.status.get("because", "")) in change.gone
                case "Invalid":
                    due = change.makes_room and (room is None or state.uid in room)
                case _:
                    due = False
            if due:
                self._due(state)


def _named_in(because: str) -> str:
    """The name of the outranking Override in a status text; "" if none."""
    return because.removeprefix("Override ").partition(" ")[0] if because.startswith("Override ") else ""


def _request(live: Obj) -> str:
    return text_at(live, "status", "request")


def _phase(live: Obj | None) -> str:
    return text_at(live or {}, "status", "phase")


def _target_of(live: Obj) -> TargetKey | None:
    """The written target; None if it is left out."""
    written = map_at(live, "spec", "target")
    return TargetKey(text_at(written, "kind"), text_at(written, "name")) if written else None


def _placing(live: Obj) -> tuple[object, ...]:
    """The fields that decide which Environment owns an object, and which ScaledObject scales a workload."""
    meta, spec = live["metadata"], map_at(live, "spec")
    chooses = [spec.get(name) for name in ("scaleTargetRef", "selector", "exclude", "calendar", "calendarRef")]
    return (meta.get("labels"), meta.get("annotations"), meta.get("deletionTimestamp"), *chooses)
