"""Obey the annotations: at each full minute, which is the precision of their windows, and as soon as an object changes.

Nothing is kept here: the original count is stored in an annotation of the object, in the same patch as the downscaled
count, so that after a kill the next process, or py-kube-downscaler itself, continues. Changes by other clients are
judged again at the next minute, never at once, so that no two clients write in turns. In: `decisions.py`. Out: patches,
and overlays that put ScaledObjects to sleep. Rule: an object of which something is not known keeps its count.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack

from keda_py.apis.foreign import map_at, name_of, namespace_of
from keda_py.core.environment.decision.members import OverlayAsleep, OverlayReplicas
from keda_py.core.environment.downscaler.decision import AnnotatedObject, DesiredFields
from keda_py.core.environment.overrides import Overrides, TargetKey
from keda_py.core.pacing.activations import read_priority
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.resources import NAMESPACES, SCALED_OBJECTS, Obj, Resource
from keda_py.operator.cluster.caches import BY_TARGET, target_key
from keda_py.operator.controller.activations import Ticket
from keda_py.operator.controller.state import LATE_SECONDS
from keda_py.operator.downscaler.decisions import Deciding, DownscaleDecision
from keda_py.operator.downscaler.dependencies import DownscalerDependencies, Problems, key_of
from keda_py.operator.downscaler.objects import DOWNSCALED_BY_KIND, annotations_of, patch_of
from keda_py.operator.environments.overlays import Removal, SpecLayer

MINUTE = 60.0
# Seconds between two sweeps, which bounds the work for objects that flap.
PAUSE = 0.5
AT_ONCE = 20
TURN = 4096
"""Characters of annotations that are processed before other tasks get the loop."""
LEAST_COST, LONG = 200, 1000
"""The least that an object costs in characters; objects above LONG are processed last."""
BECAUSE = "put to sleep by its downscaler annotations, or those of its workload or namespace"

log = logging.getLogger(__name__)


class Sweep:
    """Run `caches.run` beside it from the start; `restore`, then `run`, while this replica leads."""

    def __init__(self, parts: DownscalerDependencies) -> None:
        self._parts, self._shared = parts, parts.shared
        self._deciding, self._problems = Deciding(parts), Problems(parts)
        self._due = asyncio.Event()
        self._every, self._changed = True, set[ObjectKey]()
        self._written: dict[ObjectKey, float] = {}
        self._writing = set[ObjectKey]()
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._reported = ""
        self._waiting = set[ObjectKey]()

    async def restore(self) -> None:
        """Restore which ScaledObjects sleep, before any of them is reconciled."""
        await self._parts.caches.tried()
        self._every = True
        if self._parts.caches.in_contact():
            known = dict[str, Overrides]()
            async for live in _in_turns(self._parts.scaled_objects.objects()):
                self._lay(live, await self._decide(live, known))

    async def run(self) -> None:
        """Downscale and restore objects until cancelled."""
        clock = self._shared.clock
        self._writing.clear()
        self._waiting.clear()
        with ExitStack() as subscriptions:
            subscriptions.callback(self._parts.overriding.subscribe(self._on_override))
            for informer in (*self._parts.caches.all, self._parts.scaled_objects):
                subscriptions.callback(informer.subscribe(self._on_change))
            async with asyncio.TaskGroup() as writes:
                while True:
                    timer = clock.call_later(self._seconds_to_minute(), self.on_clock_step)
                    await self._due.wait()
                    self._due.clear()
                    with clock.busy():
                        await self._sweep(writes)
                    await clock.sleep(PAUSE)
                    timer.cancel()

    def on_clock_step(self) -> None:
        """Process every object again: a minute has begun, or the wall clock was set."""
        self._every = True
        self._due.set()

    def _seconds_to_minute(self) -> float:
        now = self._shared.clock.now()
        return MINUTE - now.second - now.microsecond / 1e6 + LATE_SECONDS

    def _on_change(self, old: Obj | None, new: Obj | None) -> None:
        live = new or old or {}
        if new is None:
            self._forget(live)
        elif old is None or _matter(old) != _matter(new):
            if live["kind"] == NAMESPACES.kind:
                self._problems.clear(live)  # those of a workload are cleared by its decision
            self._changed.add(key_of(live))
            self._due.set()

    def _forget(self, live: Obj) -> None:
        self._withdraw(live)
        self._problems.clear(live)
        self._written.pop(key_of(live), None)
        if live["kind"] == SCALED_OBJECTS.kind:
            self._parts.overlays.put(ObjectKey.of(SCALED_OBJECTS.kind, live), None)

    async def _sweep(self, writes: asyncio.TaskGroup) -> None:
        """Process all or the changed objects. Writes run in tasks of their own: a slow one delays only its object."""
        if not self._parts.caches.in_contact():
            self._tell_blind()
            return
        self._reported = ""
        every, changed = self._every, self._changed
        self._every, self._changed, known = False, set(), dict[str, Overrides]()
        async for live in _in_turns(self._objects() if every else self._of(changed)):
            decided = await self._decide(live, known)
            self._lay(live, decided)
            outcome = None if decided is None else decided.outcome
            if decided is None or outcome is None or not outcome.changed or not self._parts.acts():
                self._withdraw(live)
                continue
            # An object that we wrote within the last minute waits for the full minute: if another client changes it
            # back each time, writing at once would never end.
            is_due = key_of(live) not in self._writing and (every or not self._is_fresh(live))
            if is_due and self._has_turn(live, outcome):
                self._writing.add(key_of(live))
                writes.create_task(self._write(live, decided.before, outcome))

    def _has_turn(self, live: Obj, outcome: DesiredFields) -> bool:
        """Whether it may be written now: waking from zero takes a turn in the budget of activations (`on_turn`)."""
        before, after = map_at(live, "fields").get("replicas"), outcome.fields.get("replicas")
        if before != 0 or not after:
            return True
        key = key_of(live)
        if self._shared.activations.ask(Ticket(key), read_priority(annotations_of(live))):
            self._waiting.discard(key)
            return True
        self._waiting.add(key)
        return False

    def _withdraw(self, live: Obj) -> None:
        key = key_of(live)
        if key in self._waiting:
            self._waiting.discard(key)
            self._shared.activations.withdraw(key)

    def on_turn(self, key: ObjectKey) -> None:
        """Process an object that waited for its turn to wake."""
        self._changed.add(key)
        self._due.set()

    def _on_override(self, namespace: str) -> None:
        """Process the whole namespace, since an Override may be about any object there."""
        self._changed.add(ObjectKey(NAMESPACES.kind, "", namespace))
        self._due.set()

    def remembers(self, namespace: str, target: TargetKey) -> bool:
        """Whether annotations rule that workload and remember its count; also true while that is not known."""
        kind = DOWNSCALED_BY_KIND[target.kind]
        if kind.resource.plural not in self._parts.caches.workloads:
            return False
        live = self._parts.caches.of_kind(target.kind).get(namespace, target.name)
        return not self._parts.caches.in_contact() or (live is not None and self._deciding.is_marked(live))

    def _tell_blind(self) -> None:
        problem = self._parts.caches.problem()
        if problem and problem != self._reported:
            log.warning("downscaler annotations are not obeyed: watches are down", extra={"error": problem})
        self._reported = problem

    def _objects(self) -> Iterator[Obj]:
        yield from self._parts.caches.every()
        yield from self._parts.scaled_objects.objects()

    def _of(self, changed: Iterable[ObjectKey]) -> Iterator[Obj]:
        """Changed objects and those that depend on them: all objects of a namespace, the ScaledObject of a workload."""
        caches, scaled_objects = self._parts.caches, self._parts.scaled_objects
        for key in changed:
            if key.kind == NAMESPACES.kind:
                for informer in (*caches.workloads.values(), scaled_objects):
                    yield from informer.objects(key.name)
                continue
            if key.kind != SCALED_OBJECTS.kind:
                version = DOWNSCALED_BY_KIND[key.kind].resource.api_version
                yield from scaled_objects.by_index(BY_TARGET, target_key(key.namespace, version, key.kind, key.name))
            informer = scaled_objects if key.kind == SCALED_OBJECTS.kind else caches.of_kind(key.kind)
            if (live := informer.get(key.namespace, key.name)) is not None:
                yield live

    async def _decide(self, live: Obj, known: dict[str, Overrides]) -> DownscaleDecision | None:
        """Decide about one object; None keeps it, if something is unknown. `known` caches Overrides by namespace."""
        namespace = namespace_of(live)
        if namespace not in known:
            known[namespace] = await self._parts.overriding.of_namespace(namespace)
        try:
            decided = self._deciding.decide(live, known[namespace], self._shared.clock.now())
        except ConfigError as error:
            self._problems.refuse(live, error)
            return None
        if decided is not None and decided.governed_by:
            self._problems.ignore(live, decided.governed_by)
        else:
            self._problems.clear(live)
        return decided

    def _lay(self, live: Obj, decided: DownscaleDecision | None) -> None:
        if live["kind"] != SCALED_OBJECTS.kind or decided is None:
            return
        count = decided.outcome.sleeps_at if decided.outcome is not None else None
        overlay = OverlayReplicas(count) if count else OverlayAsleep()
        off = Removal("with its downscaler annotations, or those of its workload or namespace")
        laid = off if count is None else SpecLayer(overlay, BECAUSE, "AsleepByAnnotation")
        self._parts.overlays.put(ObjectKey.of(SCALED_OBJECTS.kind, live), laid)

    def _is_fresh(self, live: Obj) -> bool:
        """Whether we have written it within the last minute."""
        written = self._written.get(key_of(live))
        return written is not None and self._shared.clock.monotonic() - written < MINUTE

    async def _write(self, live: Obj, before: AnnotatedObject, outcome: DesiredFields) -> None:
        resource = _resource(live["kind"])
        about = {"kind": live["kind"], "namespace": namespace_of(live), "object": name_of(live)}
        async with self._at_once:
            try:
                path = resource.named(namespace_of(live), name_of(live))
                await self._shared.client.patch(path, patch_of(live, before, outcome))
            except (Conflict, NotFound) as error:
                log.debug("object changed meanwhile", extra=about | {"error": str(error)})
            except KubeError as error:
                log.warning("object was not scaled by its annotations", extra=about | {"error": str(error)})
            else:
                self._written[key_of(live)] = self._shared.clock.monotonic()
                log.info("object scaled by its annotations", extra=about | {"reason": outcome.because})
            finally:
                self._writing.discard(key_of(live))


async def _in_turns(objects: Iterable[Obj]) -> AsyncIterator[Obj]:
    """Yield each object, and yield the loop between them. Long annotations come last: they delay only each other."""
    spent, long = 0, list[Obj]()
    for live in objects:
        if (cost := _cost(live)) > LONG:
            long.append(live)
            continue
        if (spent := spent + cost) > TURN:
            spent = 0
            await asyncio.sleep(0)
        yield live
    for live in long:
        await asyncio.sleep(0)
        yield live


def _cost(live: Obj) -> int:
    return LEAST_COST + sum(map(len, annotations_of(live).values()))


def _resource(kind: str) -> Resource:
    return SCALED_OBJECTS if kind == SCALED_OBJECTS.kind else DOWNSCALED_BY_KIND[kind].resource


def _matter(live: Obj) -> tuple[object, ...]:
    """The fields that a decision depends on, besides time."""
    meta = live["metadata"]
    target = map_at(live, "spec", "scaleTargetRef") if live["kind"] == SCALED_OBJECTS.kind else live.get("fields")
    return (annotations_of(live), meta.get("labels"), meta.get("deletionTimestamp"), target)
