"""The objects that the scenarios put into a cluster."""

from typing import Any

from keda_py.kube.resources import Obj, Resource

POLL_SECONDS = 1


def deployment(name: str = "app", replicas: int = 0) -> Obj:
    return workload("Deployment", name, replicas)


def workload(kind: str, name: str = "app", replicas: int = 0) -> Obj:
    """A Deployment, StatefulSet or ReplicaSet whose pods are gone the moment they are deleted."""
    labels = {"app": name}
    containers = [{"name": "app", "image": "pause", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]
    pod = {"containers": containers, "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec: Obj = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def scaled_object(*triggers: Obj, name: str = "app", **spec: Any) -> Obj:
    """A ScaledObject on the Deployment of the same name that polls often and does not cool down for long."""
    wanted = {
        "scaleTargetRef": {"name": name},
        "pollingInterval": POLL_SECONDS,
        "cooldownPeriod": 1,
        "maxReplicaCount": 5,
        "triggers": list(triggers),
    }
    body = {key: value for key, value in (wanted | spec).items() if value is not None}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": name}, "spec": body}


def metrics_api(url: str, target: int = 5, **more: Any) -> Obj:
    metadata = {"url": url, "valueLocation": "value", "targetValue": str(target)}
    return {"type": "metrics-api", "metadata": metadata, **more}


def cron(start: str, end: str, desired: int = 1, timezone: str = "Etc/UTC") -> Obj:
    metadata = {"timezone": timezone, "start": start, "end": end, "desiredReplicas": str(desired)}
    return {"type": "cron", "metadata": metadata}


def box_definition(group: str) -> Obj:
    """A custom resource with a scale subresource and nobody who acts on it."""
    count = {"type": "integer", "minimum": 0}
    status = {"type": "object", "properties": {"size": count, "selector": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": count}}, "status": status},
    }
    paths = {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": paths},
    }
    names = {"plural": "boxen", "singular": "box", "kind": "Box", "listKind": "BoxList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxen.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def boxen(group: str) -> Resource:
    return Resource(group=group, version="v1", kind="Box", plural="boxen")
