"""ReplicaSets: keeps `spec.replicas` pods, and a status that counts them.

Deployments work through ReplicaSets (`deployments.py`); a ReplicaSet without an owner works the same.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import PODS
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

REPLICASETS = ("apps", "replicasets")
SOURCE = "replicaset-controller"


def owner_keys(event: Event, kind: str) -> tuple[Key, ...]:
    """The key of an object's controller if that is of `kind`: routes a pod's event to its workload."""
    reference = pods.controller_of(event.object)
    return ((event.namespace, reference["name"]),) if reference is not None and reference["kind"] == kind else ()


def owned_pods(context: ControllerContext, owner: Obj) -> list[Obj]:
    """The active pods that the workload controls, oldest first."""
    places = context.index.dependents(owner["metadata"]["uid"])
    found = (context.at(place) for place in places if place.resource.key == PODS)
    return [pod for pod in found if pod is not None and pods.is_active(pod)]


def seconds_until_available(workload: Obj, members: Sequence[Obj], now: datetime) -> list[float]:
    """Seconds until each Ready pod has been so for minReadySeconds; 0 or less means available."""
    needed = workload["spec"].get("minReadySeconds") or 0
    since = [datetime.fromisoformat(pods.ready_since(pod) or "") for pod in members if pods.is_ready(pod)]
    return [needed - (now - moment).total_seconds() for moment in since]


class ReplicaSets:
    """Maintains the pods of each ReplicaSet."""

    storages = (REPLICASETS, PODS)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._sets = context.resource("apps/v1", "ReplicaSet")
        self._pods = context.resource("v1", "Pod")

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Map a pod's event to the ReplicaSet that owns it."""
        if event.resource.key == PODS:
            return owner_keys(event, "ReplicaSet")
        return () if event.type == DELETED else ((event.namespace, event.name),)

    def sync(self, key: Key) -> None:
        """Create missing pods or delete surplus ones, then write the status."""
        replicaset = self._context.store.find(self._sets, *key)
        if replicaset is None:
            return
        members = owned_pods(self._context, replicaset)
        if "deletionTimestamp" not in replicaset["metadata"]:
            members += self._adopt(replicaset)
            missing = replicaset["spec"].get("replicas", 1) - len(members)
            if missing > 0:
                members += [self._create(replicaset) for _ in range(missing)]
            elif missing < 0:
                members = self._remove(replicaset, members, -missing)
        waits = seconds_until_available(replicaset, members, self._context.clock.now())
        self._context.set_status(self._sets, replicaset, _status(replicaset, members, waits))
        later = [seconds for seconds in waits if seconds > 0]
        if later:
            self._context.loop.add_after(self, key, min(later))

    def _adopt(self, replicaset: Obj) -> list[Obj]:
        """Adopt pods that match the selector and have no controller."""
        selector = LabelSelector.of(replicaset["spec"]["selector"])
        labels = replicaset["spec"]["selector"].get("matchLabels")
        places = self._context.index.pods(replicaset["metadata"]["namespace"], labels) if labels else ()
        found = [pod for place in places if (pod := self._context.at(place)) is not None]
        orphans = [pod for pod in found if pods.controller_of(pod) is None and pods.is_active(pod)]
        return [
            self._context.store.update(self._pods, pods.adopted(pod, replicaset))
            for pod in orphans
            if selector.matches(pod)
        ]

    def _create(self, replicaset: Obj) -> Obj:
        pod = self._context.store.create(self._pods, pods.new_pod(replicaset))
        self._record_event(replicaset, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
        return pod

    def _remove(self, replicaset: Obj, members: list[Obj], count: int) -> list[Obj]:
        going = pods.first_to_go(members)[:count]
        for pod in going:
            name = pod["metadata"]["name"]
            self._context.store.delete(self._pods, pod["metadata"]["namespace"], name)
            self._record_event(replicaset, "SuccessfulDelete", f"Deleted pod: {name}")
        gone = {pod["metadata"]["uid"] for pod in going}
        return [pod for pod in members if pod["metadata"]["uid"] not in gone]

    def _record_event(self, replicaset: Obj, reason: str, message: str) -> None:
        self._context.events.record(replicaset, EventText(reason=reason, message=message, source=SOURCE))


def _status(replicaset: Obj, members: Sequence[Obj], waits: Sequence[float]) -> Obj:
    status: Obj = {"replicas": len(members)}
    counts = {
        "fullyLabeledReplicas": len(members),
        "readyReplicas": sum(1 for pod in members if pods.is_ready(pod)),
        "availableReplicas": sum(1 for seconds in waits if seconds <= 0),
    }
    status.update((name, count) for name, count in counts.items() if count)
    return {**status, "terminatingReplicas": 0, "observedGeneration": replicaset["metadata"]["generation"]}
