"""What manifests say of workloads: how many replicas they have while they are awake, and what each requests."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, texts_at, value_at
from keda_py.savings.reading import request_of

Body = Mapping[str, Any]
_WORKLOADS = ("Deployment", "StatefulSet", "CronJob")


def with_written(observed: Observed, bodies: Sequence[Body]) -> Observed:
    """Labels are those of the object that an Environment takes: of the ScaledObject that scales it, else its own."""
    workload = observed.workload
    here = [body for body in bodies if namespace_of(body) == workload.namespace]
    own = _named(here, workload.kind, workload.name)
    scaling = own if workload.kind == "ScaledObject" else _scaling(here, workload)
    taken = scaling or own
    target = _target_of(here, scaling) if workload.kind == "ScaledObject" else own
    return replace(
        observed,
        labels=texts_at(taken, "metadata", "labels") if taken else observed.labels,
        replicas=_replicas(scaling, "minReplicaCount") or _replicas(target, "replicas") or observed.replicas,
        request=request_of(dict(target)) if target else observed.request,
    )


def are_all(workloads: Collection[WorkloadKey], namespace: str, bodies: Iterable[Body]) -> bool:
    """Whether these are the workloads of a namespace, each seen in a manifest; CronJobs and the like are others."""
    here = [body for body in bodies if namespace_of(body) == namespace]
    seen = {WorkloadKey(namespace, body["kind"], name_of(body)) for body in here if body["kind"] in _WORKLOADS}
    of_objects = {workload: _scaled(body) for body in here if (workload := _scaled(body)) is not None}
    known = {*workloads, *(scaled for scaled in of_objects if _object_of(here, scaled) in workloads)}
    return set(workloads) <= {*seen, *(_object_of(here, each) for each in of_objects)} and seen <= known


def running(workload: WorkloadKey, bodies: Iterable[Body]) -> WorkloadKey:
    """What has the pods: of a ScaledObject among the manifests that is its target."""
    here = [body for body in bodies if namespace_of(body) == workload.namespace]
    body = _named(here, workload.kind, workload.name)
    return (_scaled(body) if body is not None else None) or workload


def _scaled(body: Body) -> WorkloadKey | None:
    """What a ScaledObject scales."""
    if body["kind"] != "ScaledObject":
        return None
    target = map_at(body, "spec", "scaleTargetRef")
    return WorkloadKey(namespace_of(body), text_at(target, "kind") or "Deployment", text_at(target, "name"))


def _object_of(bodies: Iterable[Body], scaled: WorkloadKey) -> WorkloadKey | None:
    body = next((each for each in bodies if _scaled(each) == scaled), None)
    return WorkloadKey(scaled.namespace, "ScaledObject", name_of(body)) if body is not None else None


def _named(bodies: Iterable[Body], kind: str, name: str) -> Body | None:
    return next((body for body in bodies if (body["kind"], name_of(body)) == (kind, name)), None)


def _scaling(bodies: Iterable[Body], workload: WorkloadKey) -> Body | None:
    return next((body for body in bodies if _scaled(body) == workload), None)


def _target_of(bodies: Sequence[Body], scaling: Body | None) -> Body | None:
    target = map_at(scaling, "spec", "scaleTargetRef") if scaling else {}
    return _named(bodies, text_at(target, "kind") or "Deployment", text_at(target, "name"))


def _replicas(body: Body | None, field: str) -> int:
    count = value_at(body, "spec", field) if body else 0
    return count if isinstance(count, int) and count > 0 else 0
