"""What the operator reads instead of asking the API server: one informer per kind, trimmed to what is used.

A cache that has not synced, or whose watch has been down for over a minute, is "do not know": nothing is taken down
on its word (design: not synced is "do not know").
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from keda_py.apis.foreign import list_at, map_at, maps_at, name_of, namespace_of, text_at, texts_at
from keda_py.apis.squeezed import compact_json
from keda_py.auth.lookup.pod_template import keep_pod
from keda_py.auth.lookup.target_pods import POD
from keda_py.core.hpa.conditions import ConditionType, ZeroMark
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.informers.cache import IndexBy
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, Pool, Transform, whole
from keda_py.kube.resources import (
    CLOUD_EVENT_SOURCES,
    CLUSTER_CLOUD_EVENT_SOURCES,
    CLUSTER_TRIGGER_AUTHENTICATIONS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    LIMIT_RANGES,
    REPLICA_SETS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    TRIGGER_AUTHENTICATIONS,
    Obj,
    Resource,
)
from keda_py.kube.status import packed
from keda_py.operator.cluster.references import BY_AUTHENTICATION, index_authentication
from keda_py.operator.decisions.history import HISTORY

BLIND_SECONDS = 60.0
WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)

POD_LABELS = "podLabels"
BY_TARGET = "scale target"
"""Index of ScaledObjects and HPAs by `target_key`."""
BY_HPA = "hpa"
"""Index of ScaledObjects by "namespace/name of the HPA"."""
BY_METRIC = "external metric"
"""Index of ScaledObjects by `metric_key` of the external metrics that they serve, in their namespace and in "*"."""

# What an HPA says (labels, annotations, owners, spec: what a manifest is compared with) is cached as one text. A
# cluster has one HPA for each ScaledObject, and each changes with every status: as text it takes a third of the memory
# and is compared in one step.
WRITTEN = "written"
# Bytes; a longer HPA is cached as it is. Any user may create one, and its text would be built anew at each of its
# changes.
LONGEST_TEXT = 4096
_IDENTITY = ("name", "namespace", "uid", "resourceVersion")
_SAID = ("labels", "annotations", "ownerReferences")
_ALIKE = frozenset({"scaleTargetGVKR", "scaleTargetKind", "triggersTypes", "authenticationsTypes"})
"""Fields of the status of a ScaledObject that many others have with the same value."""
_CONDITION = ("type", "status", "reason", "message")


def target_key(namespace: str, api_version: str, kind: str, name: str) -> str:
    """A scale target as an index value; "" stands for apps/v1 and Deployment."""
    return f"{namespace}/{api_version or 'apps/v1'}/{kind or 'Deployment'}/{name}"


def _index_target(live: Obj) -> Iterator[str]:
    """Nothing for an object without a target; an older CRD may have let it in, and no object may end a watch."""
    reference = map_at(live, "spec", "scaleTargetRef")
    api_version, kind, name = (text_at(reference, field) for field in ("apiVersion", "kind", "name"))
    if name:
        yield target_key(namespace_of(live), api_version, kind, name)


def _index_hpa(live: Obj) -> Iterator[str]:
    own = text_at(live, "spec", "advanced", "horizontalPodAutoscalerConfig", "name")
    yield f"{namespace_of(live)}/{own or 'keda-hpa-' + name_of(live)}"


def metric_key(namespace: str, metric: str) -> str:
    """A metric's name as an index value: upper and lower case are one, as in KEDA's answers."""
    return f"{namespace}/{metric.lower()}"


def _index_metrics(live: Obj) -> Iterator[str]:
    for name in list_at(live, "status", "externalMetricNames"):
        yield metric_key(namespace_of(live), str(name))
        yield metric_key("*", str(name))


def keep_scaled_object(live: Obj, alike: Pool) -> Obj:
    """All but managedFields; conditions, finalizers, and what kind its target is, are mostly like another's."""
    kept = packed(whole(live), HISTORY)
    if "finalizers" in kept["metadata"]:
        kept["metadata"]["finalizers"] = alike.piece(kept["metadata"]["finalizers"])
    if isinstance(status := kept.get("status"), dict):
        kept["status"] = status = dict(status)
        if isinstance(conditions := status.get("conditions"), list):
            status["conditions"] = [alike.piece(condition) for condition in conditions]
        for name in _ALIKE & status.keys():
            status[name] = alike.piece(status[name])
    return kept


def keep_workload(live: Obj, alike: Pool) -> Obj:
    """Trim a workload to identity, version, replicas (1 if absent), its pods' labels, its containers' requests and
    env, and whether a pod is ready.

    What is of the pods is shared where it is equal: the ReplicaSets of a Deployment nearly always agree.
    """
    meta = live["metadata"]
    containers = maps_at(live, "spec", "template", "spec", "containers")
    kept = [{name: container[name] for name in ("name", "resources") if name in container} for container in containers]
    replicas = map_at(live, "spec").get("replicas", 1)
    return {
        "metadata": {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in meta},
        "spec": alike.piece({"replicas": replicas, "template": {"spec": {"containers": kept}}}),
        POD: alike.text(keep_pod(live)),
        POD_LABELS: alike.piece(texts_at(live, "spec", "template", "metadata", "labels")),
        # Not how many are ready: each pod of a large workload would count as a change.
        "status": alike.piece({"ready": bool(map_at(live, "status").get("readyReplicas"))}),
    }


def keep_hpa(live: Obj, alike: Pool) -> Obj:
    """Everything that a manifest or the HPAActive condition is compared with, and the mark of a zero."""
    marked = read_zero_mark(live) is not ZeroMark.NONE
    types = ("ScalingActive", ConditionType.SCALED_TO_ZERO) if marked else ("ScalingActive",)
    kept = [condition for condition in maps_at(live, "status", "conditions") if condition.get("type") in types]
    conditions = [{name: one[name] for name in _CONDITION if name in one} for one in kept]
    return _kept(live, alike.piece({"conditions": [alike.piece(condition) for condition in conditions]}))


def keep_hpa_status(live: Obj, alike: Pool) -> Obj:
    """The same, and what the HPA controller found out: its conditions, counts and metrics."""
    status = map_at(live, "status")
    kept = ("conditions", "currentReplicas", "desiredReplicas", "currentMetrics")
    return _kept(live, {name: status[name] for name in kept if name in status})


def unpack_hpa(kept: Obj) -> Obj:
    """As the API server has it, as far as it is kept."""
    written_parts = kept[WRITTEN]
    if isinstance(written_parts, bytes):
        written_parts = orjson.loads(written_parts)
    written = {name: written_parts[name] for name in _SAID if name in written_parts}
    return {"metadata": {**kept["metadata"], **written}, "spec": written_parts["spec"], "status": kept["status"]}


def _kept(live: Obj, status: dict[str, Any]) -> Obj:
    meta = live["metadata"]
    written = {name: meta[name] for name in _SAID if name in meta} | {"spec": live.get("spec") or {}}
    return {
        "metadata": {name: meta[name] for name in _IDENTITY if name in meta},
        WRITTEN: _text_of(written),
        "status": status,
    }


def _text_of(said: Obj) -> bytes | Obj:
    try:
        text = compact_json(said)
    except TypeError:  # nested deeper than can be written
        return said
    return text if len(text) <= LONGEST_TEXT else said


class Caches:
    """The informers of the operator; `run` them in a TaskGroup, then wait for `synced`.

    `hpas` says what is kept of an HPA.
    """

    def __init__(
        self, client: KubeClient, namespaces: Sequence[str], hpas: Callable[[Obj, Pool], Obj] = keep_hpa
    ) -> None:
        self.namespaces = tuple(namespaces) or ("",)

        def informer(resource: Resource, transform: Transform = whole, **indexes: IndexBy) -> Informer:
            spec = InformerSpec(resource=resource, namespaces=self.namespaces, transform=transform, indexes=indexes)
            return Informer(client, spec)

        indexes = {
            BY_TARGET: _index_target,
            BY_HPA: _index_hpa,
            BY_AUTHENTICATION: index_authentication,
            BY_METRIC: _index_metrics,
        }
        alike = Pool()
        self.scaled_objects = informer(SCALED_OBJECTS, partial(keep_scaled_object, alike=alike), **indexes)
        self.hpas = informer(
            HORIZONTAL_POD_AUTOSCALERS,
            lambda live: hpas(live, alike),
            **{BY_TARGET: lambda kept: _index_target(unpack_hpa(kept))},
        )
        self.limit_ranges = informer(LIMIT_RANGES)
        self.authentications = informer(TRIGGER_AUTHENTICATIONS)
        self.cluster_authentications = Informer(client, InformerSpec(resource=CLUSTER_TRIGGER_AUTHENTICATIONS))
        self.workloads = {
            resource.plural: informer(resource, partial(keep_workload, alike=alike)) for resource in WORKLOADS
        }
        self.event_sources = informer(CLOUD_EVENT_SOURCES)
        self.cluster_event_sources = Informer(client, InformerSpec(resource=CLUSTER_CLOUD_EVENT_SOURCES))
        self._reflectors = tuple(reflector for informer in self.all for reflector in informer.reflectors)

    @property
    def all(self) -> tuple[Informer, ...]:
        """Every informer that scaling depends on; LimitRanges matter to admission, event sources to CloudEvents."""
        authentications = (self.authentications, self.cluster_authentications)
        return (self.scaled_objects, self.hpas, *authentications, *self.workloads.values())

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (*self.all, self.limit_ranges, self.event_sources, self.cluster_event_sources):
                tasks.create_task(informer.run(), name=f"informer {informer.spec.resource.plural}")

    @property
    def has_synced(self) -> bool:
        """Whether every cache holds a complete list."""
        return all(informer.synced for informer in self.all)

    async def synced(self) -> None:
        """Return once every cache holds a complete list."""
        for informer in self.all:
            await informer.wait_synced()
        # What happens from now on is sent; but nothing waits for kinds that are not installed, or may not be read.
        for informer in (self.event_sources, self.cluster_event_sources):
            await informer.wait_tried()

    def in_contact(self) -> bool:
        """No watch has been out of contact for longer than a minute."""
        return all(reflector.down_for() < BLIND_SECONDS for reflector in self._reflectors)

    def holds(self, namespace: str) -> bool:
        """Whether a cache has an object in this namespace; a client may invent the names of others."""
        return any(informer.holds(namespace) for informer in (*self.all, self.event_sources, self.limit_ranges))

    def covers(self, namespace: str) -> bool:
        """Whether objects of this namespace are in the caches."""
        return "" in self.namespaces or namespace in self.namespaces

    def workload(self, kind: ScaleTarget, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The cached workload; None when it is not there or not of a kind that is watched (see `watches`)."""
        cache = self.of_kind(kind)
        return None if cache is None else cache.get(namespace, name)

    def of_kind(self, kind: ScaleTarget) -> Informer | None:
        """The cache of a kind of scale target, None if the kind is not watched."""
        return self.workloads.get(kind.resource) if kind.group == "apps" else None

    def watches(self, kind: ScaleTarget) -> bool:
        """Whether this kind of scale target is in a cache."""
        return self.of_kind(kind) is not None
