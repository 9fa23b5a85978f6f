"""The numbers of objects and triggers for our own metrics, counted as objects come and go, not at each scrape."""

from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import TypeVar

from keda_py.apis.foreign import maps_at, namespace_of, text_at
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj
from keda_py.operator.controller.controller import Controller
from keda_py.operator.scaled_jobs.parts import ScaledJobParts
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.standby.rights import Rights
from keda_py.sdk.registry import trigger_types
from keda_py.telemetry.admission_metrics import ELSEWHERE
from keda_py.telemetry.process_metrics import ShardMetrics
from keda_py.telemetry.prometheus import OperatorMetrics

K = TypeVar("K")


class ObjectCounts:
    """Keeps the registered totals of KEDA's names."""

    def __init__(self, instruments: OperatorMetrics, trigger_types: Collection[str]) -> None:
        self._instruments, self._known = instruments, frozenset(trigger_types)
        self._objects: Counter[tuple[str, str]] = Counter()
        self._triggers: Counter[str] = Counter()

    def count(self, kind: str, informer: Informer) -> None:
        """Count the objects of an informer under a type of KEDA's: "scaled_object"."""
        informer.subscribe(partial(self._note, kind))

    def _note(self, kind: str, old: Obj | None, new: Obj | None) -> None:
        """Take a change of one object: its namespace stays, and most changes are of a status and leave its triggers."""
        before, after = self._trigger_types(old), self._trigger_types(new)
        present = new or old
        if present is not None and (old is None or new is None):
            where = (kind, _namespace(present))
            self._objects[where] += 1 if old is None else -1
            self._instruments.record_resources(*where, _taken(self._objects, where))
        if before == after:
            return
        self._triggers.update(after)
        self._triggers.subtract(before)
        for trigger_type in {*before, *after}:
            self._instruments.record_triggers(trigger_type, _taken(self._triggers, trigger_type))

    def _trigger_types(self, live: Obj | None) -> list[str]:
        """A type that is not installed is a user's free text: all of those are one."""
        types = (text_at(trigger, "type") for trigger in maps_at(live, "spec", "triggers"))
        return [kind if kind in self._known else ELSEWHERE for kind in types]


def _taken(counts: Counter[K], key: K) -> int:
    """The count; one of 0 is not remembered."""
    return counts[key] or counts.pop(key, 0)


def _namespace(live: Obj) -> str:
    """Count an object of the cluster for "default", as KEDA does."""
    return namespace_of(live) or "default"


def show_counts(parts: ScaledObjectDependencies, scaled_objects: Controller[ObjectState], jobs: ScaledJobParts) -> None:
    """Show on our own metrics how many objects there are, and how many of them are due."""
    counts = ObjectCounts(parts.shared.instruments, trigger_types())
    caches, process = parts.caches, parts.shared.instruments.process
    counts.count("scaled_object", caches.scaled_objects)
    counts.count("scaled_job", jobs.caches.scaled_jobs)
    counts.count("trigger_authentication", caches.authentications)
    counts.count("cluster_trigger_authentication", caches.cluster_authentications)
    counts.count("cloudevent_source", caches.event_sources)
    counts.count("cloudevent_source", caches.cluster_event_sources)

    def exists(namespace: str) -> bool:
        return caches.holds(namespace) or jobs.caches.scaled_jobs.holds(namespace)

    parts.shared.instruments.admission.limit_namespaces(exists)
    process.show(parts.shared.instruments.admission.sweep)
    process.show(lambda: parts.shared.instruments.cloud_events.sweep(exists))
    process.show_waiting_activations(lambda: parts.shared.activations.waiting)
    process.show_queue("scaledobject", lambda: scaled_objects.queue.depth)
    process.show_queue("scaledjob", lambda: jobs.controller.queue.depth)
    for kind in (SCALED_OBJECTS.kind, SCALED_JOBS.kind):
        process.show_held_back(kind.lower(), partial(parts.shared.quarantine.count, kind))


def show_shards(
    instruments: OperatorMetrics, rights: Rights, scaled_objects: Controller[ObjectState], jobs: ScaledJobParts
) -> None:
    """Show on our own metrics the share of this replica."""
    metrics = ShardMetrics(instruments.registry, lambda: rights.membership.share)

    def show() -> None:
        metrics.show()
        metrics.show_objects("scaledobject", rights.shares.count(scaled_objects.states))
        metrics.show_objects("scaledjob", rights.shares.count(jobs.controller.states))

    instruments.process.show(show)
