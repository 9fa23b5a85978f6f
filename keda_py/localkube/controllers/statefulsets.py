"""StatefulSets: numbered pods, created in order, deleted from the highest down, replaced when the template changes."""

from collections.abc import Iterable, Sequence

from keda_py.localkube.controllers.replicasets import owned_pods, owner_keys, seconds_until_available
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import PODS
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

STATEFULSETS = ("apps", "statefulsets")
SOURCE = "statefulset-controller"
HASH_LABEL = "controller-revision-hash"


class StatefulSets:
    """Maintains the pods of each StatefulSet, one step at a time unless podManagementPolicy is Parallel."""

    storages = (STATEFULSETS, PODS)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._sets = context.resource("apps/v1", "StatefulSet")
        self._pods = context.resource("v1", "Pod")

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Map a pod's event to the StatefulSet that owns it."""
        if event.resource.key == PODS:
            return owner_keys(event, "StatefulSet")
        return () if event.type == DELETED else ((event.namespace, event.name),)

    def sync(self, key: Key) -> None:
        """Take the next steps, then write the status."""
        statefulset = self._context.store.find(self._sets, *key)
        if statefulset is None:
            return
        members = {_ordinal(pod): pod for pod in owned_pods(self._context, statefulset)}
        if "deletionTimestamp" not in statefulset["metadata"]:
            self._grow(statefulset, members)
            self._shrink(statefulset, members)
            self._replace_outdated(statefulset, members)
        present = list(members.values())
        waits = seconds_until_available(statefulset, present, self._context.clock.now())
        self._context.set_status(self._sets, statefulset, _status(statefulset, present, waits))
        later = [seconds for seconds in waits if seconds > 0]
        if later:
            self._context.loop.add_after(self, key, min(later))

    def _grow(self, statefulset: Obj, members: dict[int, Obj]) -> None:
        for ordinal in range(statefulset["spec"].get("replicas", 1)):
            # OrderedReady: a pod is created only after all before it are Ready, so a broken one stops those behind it.
            if not _in_parallel(statefulset) and any(not pods.is_ready(pod) for pod in members.values()):
                return
            if ordinal not in members:
                members[ordinal] = self._create(statefulset, ordinal)

    def _create(self, statefulset: Obj, ordinal: int) -> Obj:
        name = f"{statefulset['metadata']['name']}-{ordinal}"
        labels = {
            HASH_LABEL: _revision(statefulset),
            "apps.kubernetes.io/pod-index": str(ordinal),
            "statefulset.kubernetes.io/pod-name": name,
        }
        pod = pods.new_pod(statefulset, name=name, labels=labels, spec={"hostname": name})
        self._record_event(
            statefulset, "SuccessfulCreate", f"create Pod {name} in StatefulSet {_name(statefulset)} successful"
        )
        return self._context.store.create(self._pods, pod)

    def _shrink(self, statefulset: Obj, members: dict[int, Obj]) -> None:
        surplus = sorted((n for n in members if n >= statefulset["spec"].get("replicas", 1)), reverse=True)
        for ordinal in surplus if _in_parallel(statefulset) else surplus[:1]:
            self._delete(statefulset, members, ordinal)

    def _replace_outdated(self, statefulset: Obj, members: dict[int, Obj]) -> None:
        """Delete the highest pod of an old template once all pods are Ready; `_grow` creates its successor."""
        strategy = statefulset["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or any(not pods.is_ready(pod) for pod in members.values()):
            return
        first = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        revision = _revision(statefulset)
        old = [n for n, pod in members.items() if n >= first and pod["metadata"]["labels"].get(HASH_LABEL) != revision]
        if old:
            self._delete(statefulset, members, max(old))

    def _delete(self, statefulset: Obj, members: dict[int, Obj], ordinal: int) -> None:
        pod = members.pop(ordinal)
        self._context.store.delete(self._pods, pod["metadata"]["namespace"], pod["metadata"]["name"])
        text = f"delete Pod {pod['metadata']['name']} in StatefulSet {_name(statefulset)} successful"
        self._record_event(statefulset, "SuccessfulDelete", text)

    def _record_event(self, statefulset: Obj, reason: str, message: str) -> None:
        self._context.events.record(statefulset, EventText(reason=reason, message=message, source=SOURCE))


def _name(statefulset: Obj) -> str:
    name: str = statefulset["metadata"]["name"]
    return name


def _ordinal(pod: Obj) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def _in_parallel(statefulset: Obj) -> bool:
    return bool(statefulset["spec"].get("podManagementPolicy") == "Parallel")


def _revision(statefulset: Obj) -> str:
    return f"{_name(statefulset)}-{pods.template_hash(statefulset['spec']['template'])}"


def _status(statefulset: Obj, members: Sequence[Obj], waits: Sequence[float]) -> Obj:
    revision = _revision(statefulset)
    updated = sum(1 for pod in members if pod["metadata"]["labels"].get(HASH_LABEL) == revision)
    before = (statefulset.get("status") or {}).get("currentRevision", revision)
    counts = {
        "readyReplicas": sum(1 for pod in members if pods.is_ready(pod)),
        "currentReplicas": updated,
        "updatedReplicas": updated,
    }
    return {
        "observedGeneration": statefulset["metadata"]["generation"],
        "replicas": len(members),
        **{name: count for name, count in counts.items() if count},
        "availableReplicas": sum(1 for seconds in waits if seconds <= 0),
        "currentRevision": revision if updated == len(members) else before,
        "updateRevision": revision,
        "collisionCount": 0,
    }
