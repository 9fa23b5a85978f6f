"""What the operator reads instead of asking the API server: one informer per kind, trimmed to what is used.

A cache that has not synced, or whose watch has been down for over a minute, is "do not know": nothing is taken down
on its word (design: not synced is "do not know").
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.informer import Informer
from keda_py.kube.informer_spec import InformerSpec, Transform, whole
from keda_py.kube.resources import (
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    REPLICA_SETS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    Obj,
    Resource,
)

BLIND_SECONDS = 60.0
WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, REPLICA_SETS)


def keep_workload(live: Obj) -> Obj:
    """Of a workload only who it is, its version and the replicas it is asked to have (absent: 1)."""
    meta = live["metadata"]
    spec = live.get("spec") or {}
    return {
        "metadata": {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in meta},
        "spec": {"replicas": spec.get("replicas", 1)},
    }


def keep_hpa(live: Obj) -> Obj:
    """Of an HPA everything that a manifest or the HPAActive condition is compared with."""
    meta = live["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "labels", "annotations", "ownerReferences")
    conditions = (live.get("status") or {}).get("conditions") or []
    return {
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": live.get("spec") or {},
        "status": {"conditions": [c for c in conditions if c.get("type") == "ScalingActive"]},
    }


class Caches:
    """The informers of the operator; `run` them in a TaskGroup, then wait for `synced`."""

    def __init__(self, client: KubeClient, namespaces: Sequence[str]) -> None:
        def informer(resource: Resource, transform: Transform = whole) -> Informer:
            spec = InformerSpec(resource=resource, namespaces=tuple(namespaces) or ("",), transform=transform)
            return Informer(client, spec)

        self.scaled_objects = informer(SCALED_OBJECTS)
        self.hpas = informer(HORIZONTAL_POD_AUTOSCALERS, keep_hpa)
        self.workloads = {resource.plural: informer(resource, keep_workload) for resource in WORKLOADS}

    @property
    def all(self) -> tuple[Informer, ...]:
        """Every informer."""
        return (self.scaled_objects, self.hpas, *self.workloads.values())

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.all:
                tasks.create_task(informer.run(), name=f"informer {informer.spec.resource.plural}")

    async def synced(self) -> None:
        """Return once every cache holds a complete list."""
        for informer in self.all:
            await informer.wait_synced()

    def known(self) -> bool:
        """No watch has been out of contact for longer than a minute."""
        return all(informer.down_for() < BLIND_SECONDS for informer in self.all)

    def workload(self, kind: ScaleTarget, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The cached workload; None when it is not there or not of a kind that is watched (see `watches`)."""
        return self.workloads[kind.resource].get(namespace, name) if self.watches(kind) else None

    def watches(self, kind: ScaleTarget) -> bool:
        """Whether this kind of scale target is in a cache."""
        return kind.group == "apps" and kind.resource in self.workloads
