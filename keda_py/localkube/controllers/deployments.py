"""Deployments: one ReplicaSet for each pod template, sized by `rollout.py`, and the conditions that kubectl waits
for.

The revision annotation is written together with the status, as by the real controller: written alone, it would raise
the generation.
"""

from collections.abc import Iterable, Sequence

from keda_py.localkube.controllers import rollout
from keda_py.localkube.controllers.replicasets import REPLICASETS, owner_keys
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.model.conditions import find, with_condition
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

DEPLOYMENTS = ("apps", "deployments")
SOURCE = "deployment-controller"
HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


class Deployments:
    """Maintains the ReplicaSets of each Deployment."""

    storages = (DEPLOYMENTS, REPLICASETS)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._deployments = context.resource("apps/v1", "Deployment")
        self._sets = context.resource("apps/v1", "ReplicaSet")

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Map a ReplicaSet's event to the Deployment that owns it."""
        if event.resource.key == REPLICASETS:
            return owner_keys(event, "Deployment")
        return () if event.type == DELETED else ((event.namespace, event.name),)

    def sync(self, key: Key) -> None:
        """Resize the ReplicaSets, then write the status."""
        deployment = self._context.store.find(self._deployments, *key)
        if deployment is None:
            return
        owned = self._owned(deployment)
        if "deletionTimestamp" in deployment["metadata"]:
            self._write_status(deployment, None, owned)
            return
        paused = deployment["spec"].get("paused", False) and bool(owned)
        # A paused Deployment is still scaled, but its new template gets no ReplicaSet.
        new = owned[-1] if paused else self._current(deployment, owned)
        old = [replicaset for replicaset in owned if replicaset["metadata"]["uid"] != new["metadata"]["uid"]]
        new_size, old_sizes = rollout.next_sizes(deployment, _sizes(new), [_sizes(replicaset) for replicaset in old])
        new = self._resize(deployment, new, new_size)
        if not paused:
            old = [self._resize(deployment, r, size) for r, size in zip(old, old_sizes, strict=True)]
            old = self._delete_oldest(deployment, old)
        self._write_status(deployment, new, [*old, new])

    def _owned(self, deployment: Obj) -> list[Obj]:
        places = self._context.index.dependents(deployment["metadata"]["uid"])
        found = (self._context.at(place) for place in places if place.resource.key == REPLICASETS)
        return sorted((replicaset for replicaset in found if replicaset is not None), key=_revision)

    def _current(self, deployment: Obj, owned: Sequence[Obj]) -> Obj:
        """The current template's ReplicaSet, created if missing; a roll-back makes an old one the newest."""
        label = pods.template_hash(deployment["spec"]["template"])
        name = f"{deployment['metadata']['name']}-{label}"
        newest = _revision(owned[-1]) if owned else 0
        known = self._context.store.find(self._sets, deployment["metadata"]["namespace"], name)
        if known is None:
            return self._context.store.create(self._sets, _new_replicaset(deployment, name, label, newest + 1))
        # Orphaned by a deletion with policy Orphan: the new Deployment of that template takes it over.
        if pods.controller_of(known) is None:
            return self._context.store.update(self._sets, pods.adopted(known, deployment))
        if _revision(known) == newest:
            return known
        annotations = {**known["metadata"]["annotations"], REVISION: str(newest + 1)}
        rolled_back = {**known, "metadata": {**known["metadata"], "annotations": annotations}}
        return self._context.store.update(self._sets, rolled_back)

    def _resize(self, deployment: Obj, replicaset: Obj, size: int) -> Obj:
        before = replicaset["spec"]["replicas"]
        if size == before:
            return replicaset
        resized = self._context.store.update(
            self._sets, {**replicaset, "spec": {**replicaset["spec"], "replicas": size}}
        )
        direction = "up" if size > before else "down"
        message = f"Scaled {direction} replica set {replicaset['metadata']['name']} from {before} to {size}"
        self._context.events.record(deployment, EventText(reason="ScalingReplicaSet", message=message, source=SOURCE))
        return resized

    def _delete_oldest(self, deployment: Obj, old: list[Obj]) -> list[Obj]:
        """Delete empty ReplicaSets beyond revisionHistoryLimit."""
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        empty = [r for r in old if not r["spec"]["replicas"] and not (r.get("status") or {}).get("replicas")]
        surplus = empty[: max(0, len(empty) - limit)]
        for replicaset in surplus:
            self._context.store.delete(self._sets, replicaset["metadata"]["namespace"], replicaset["metadata"]["name"])
        return [replicaset for replicaset in old if replicaset not in surplus]

    def _write_status(self, deployment: Obj, new: Obj | None, owned: Sequence[Obj]) -> None:
        status = _status(deployment, new, owned, self._context.now())
        annotations = deployment["metadata"].get("annotations") or {}
        if new is not None:
            annotations = {**annotations, REVISION: str(_revision(new))}
        metadata = {**deployment["metadata"], **({"annotations": annotations} if annotations else {})}
        self._context.store.update(
            self._deployments, {**deployment, "metadata": metadata, "status": status}, subresource="status"
        )


def _revision(replicaset: Obj) -> int:
    return int((replicaset["metadata"].get("annotations") or {}).get(REVISION, 0))


def _sizes(replicaset: Obj) -> rollout.ReplicaSetSize:
    available = (replicaset.get("status") or {}).get("availableReplicas", 0)
    return rollout.ReplicaSetSize(desired=replicaset["spec"]["replicas"], available=available)


def _new_replicaset(deployment: Obj, name: str, label: str, revision: int) -> Obj:
    spec, hashed = deployment["spec"], {HASH_LABEL: label}
    template = spec["template"]
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), **hashed}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), **hashed}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [pods.owner_reference(deployment)],
        },
        "spec": {
            "replicas": 0,
            "selector": selector,
            "template": {**template, "metadata": {**meta, "labels": labels}},
            **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
        },
        "status": {"replicas": 0},
    }


def _status(deployment: Obj, new: Obj | None, owned: Sequence[Obj], now: str) -> Obj:
    def count(name: str, sets: Iterable[Obj]) -> int:
        return sum((replicaset.get("status") or {}).get(name, 0) for replicaset in sets)

    replicas = deployment["spec"].get("replicas", 1)
    available = count("availableReplicas", owned)
    counts = {
        "replicas": count("replicas", owned),
        "updatedReplicas": count("replicas", [new] if new is not None else []),
        "readyReplicas": count("readyReplicas", owned),
        "availableReplicas": available,
        "unavailableReplicas": max(0, replicas - available),
    }
    before = deployment.get("status") or {}
    conditions = _conditions(deployment, counts, new, now)
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        **{name: value for name, value in counts.items() if value},
        "terminatingReplicas": 0,
        "conditions": conditions if new is not None else before.get("conditions", []),
    }


def _conditions(deployment: Obj, counts: dict[str, int], new: Obj | None, now: str) -> list[Obj]:
    replicas = deployment["spec"].get("replicas", 1)
    _, unavailable = rollout.limits(deployment)
    enough = counts["availableReplicas"] >= replicas - unavailable
    available = {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }
    complete = counts["updatedReplicas"] == counts["replicas"] == counts["availableReplicas"] == replicas
    conditions = (deployment.get("status") or {}).get("conditions")
    known = find(conditions, "Progressing")
    # A finished rollout stays NewReplicaSetAvailable when the Deployment is scaled: only a new template progresses.
    name = new["metadata"]["name"] if new is not None else ""
    settled = known is not None and known["reason"] == "NewReplicaSetAvailable" and f'"{name}"' in known["message"]
    done = complete or settled
    progressing = {
        "type": "Progressing",
        "status": "True",
        "reason": "NewReplicaSetAvailable" if done else "ReplicaSetUpdated",
        "message": f'ReplicaSet "{name}" {"has successfully progressed" if done else "is progressing"}.',
    }
    for condition in (available, progressing):
        conditions = _updated(conditions, condition, now)
    return conditions or []


def _updated(conditions: Sequence[Obj] | None, condition: Obj, now: str) -> list[Obj]:
    """Set a condition, with a Deployment's lastUpdateTime: the last change of status, reason or message."""
    old = find(conditions, condition["type"])
    same = old is not None and all(old[key] == condition[key] for key in ("status", "reason", "message"))
    if old is not None and same:
        return list(conditions or ())
    return with_condition(conditions, {"type": condition["type"], "lastUpdateTime": now, **condition}, now)
