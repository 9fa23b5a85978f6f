"""The objects that tests put into a cluster: small functions with defaults, whatever else is wanted as keywords.

Objects without a namespace are made in that of the world that creates them. A ScaledObject polls often and cools down
at once, unless it is a bare one.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from keda_py.kube.resources import Obj, Resource

POLL_SECONDS = 1
GROUP = "keda-py.dev/v1alpha1"
HOURS = [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]
INLINE: dict[str, Any] = {"timeZone": "UTC", "hours": HOURS}


def obj(api_version: str, kind: str, name: str, namespace: str = "", **parts: Any) -> Obj:
    """Any object, of `parts` beside its name."""
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata(name, namespace), **parts}


def metadata(name: str, namespace: str = "", **more: Any) -> Obj:
    """A name and what else is there: no empty labels, annotations or namespace."""
    named = {"name": name, "namespace": namespace, **more}
    return {key: value for key, value in named.items() if value}


def a_namespace(name: str) -> Obj:
    return obj("v1", "Namespace", name)


def config_map(name: str, namespace: str = "", **data: str) -> Obj:
    return obj("v1", "ConfigMap", name, namespace, data=data)


def secret(name: str, namespace: str = "", **texts: str) -> Obj:
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return obj("v1", "Secret", name, namespace, data=encoded)


def authentication(name: str = "auth", kind: str = "TriggerAuthentication", namespace: str = "", **spec: Any) -> Obj:
    """A TriggerAuthentication, or one of the whole cluster, which has no namespace."""
    where = "" if kind.startswith("Cluster") else namespace
    return obj("keda.sh/v1alpha1", kind, name, where, spec=spec)


def from_key(parameter: str, name: str, key: str = "") -> Obj:
    """A parameter from a Secret or ConfigMap, by default from the key of the same name."""
    return {"parameter": parameter, "name": name, "key": key or parameter}


def container(name: str = "app", cpu: str = "10m", memory: str = "16Mi", **fields: Any) -> Obj:
    """A container that requests this much."""
    return {"name": name, "image": "example/app", "resources": {"requests": {"cpu": cpu, "memory": memory}}, **fields}


def usage(**amounts: str) -> dict[str, str]:
    """Annotations of a pod that tell the embedded cluster how it behaves; `_` is read as `-`."""
    return {f"local.keda-py.dev/{key.replace('_', '-')}": amount for key, amount in amounts.items()}


def workload(
    kind: str = "Deployment",
    name: str = "app",
    replicas: int = 0,
    *,
    namespace: str = "",
    containers: Sequence[Obj] = (),
    annotations: Mapping[str, str] | None = None,
) -> Obj:
    """A Deployment, StatefulSet or ReplicaSet, its pods with `annotations` and gone the moment they are deleted."""
    labels = {"app": name}
    pod = {"containers": list(containers) or [container()], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels, **({"annotations": annotations} if annotations else {})}, "spec": pod}
    spec: Obj = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return obj("apps/v1", kind, name, namespace, spec=spec)


def deployment(name: str = "app", replicas: int = 0, *, namespace: str = "", **fields: Any) -> Obj:
    """A Deployment of one container with these `fields`."""
    return workload("Deployment", name, replicas, namespace=namespace, containers=[container(**fields)])


def bare_scaled_object(
    *triggers: Obj,
    name: str = "app",
    namespace: str = "",
    target: str = "",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Obj:
    """A ScaledObject on `target`, a Deployment, or that of the same name; without triggers it goes by the clock."""
    body = {"scaleTargetRef": {"name": target or name}, "triggers": list(triggers or (cron(),)), **spec}
    built = obj("keda.sh/v1alpha1", "ScaledObject", name, namespace, spec=body)
    if annotations:
        built["metadata"]["annotations"] = dict(annotations)
    return built


def scaled_object(*triggers: Obj, **more: Any) -> Obj:
    """One that polls often and does not cool down for long; a field of None is left out."""
    brisk = {"pollingInterval": POLL_SECONDS, "cooldownPeriod": 1, "maxReplicaCount": 5}
    built = bare_scaled_object(*triggers, **brisk | more)
    built["spec"] = {key: value for key, value in built["spec"].items() if value is not None}
    return built


def scaled_job(
    *triggers: Obj,
    name: str = "work",
    namespace: str = "",
    containers: Sequence[Obj] = (),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Obj:
    """A ScaledJob whose pods have `annotations`, polled often."""
    template = _once(annotations, containers)
    body = {"jobTargetRef": {"template": template}, "pollingInterval": POLL_SECONDS, "triggers": list(triggers), **spec}
    return obj("keda.sh/v1alpha1", "ScaledJob", name, namespace, spec=body)


def hpa(name: str, target: str = "app", namespace: str = "", **spec: Any) -> Obj:
    """An HorizontalPodAutoscaler of a Deployment."""
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    body = {"scaleTargetRef": reference, "maxReplicas": 2, **spec}
    return obj("autoscaling/v2", "HorizontalPodAutoscaler", name, namespace, spec=body)


def job(name: str, namespace: str = "", *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Obj:
    """A Job of one pod, which has `annotations`."""
    return obj("batch/v1", "Job", name, namespace, spec={"template": _once(annotations), **spec})


def cron_job(name: str = "report", schedule: str = "0 1 * * *", **spec: Any) -> Obj:
    return obj(
        "batch/v1", "CronJob", name, spec={"schedule": schedule, "jobTemplate": {"spec": job(name)["spec"]}, **spec}
    )


def _once(annotations: Mapping[str, str] | None, containers: Sequence[Obj] = ()) -> Obj:
    pod = {"containers": list(containers) or [container()], "restartPolicy": "Never"}
    return {"metadata": {"annotations": dict(annotations or {})}, "spec": pod}


def environment(name: str = "dev", namespace: str = "", **spec: Any) -> Obj:
    """With office hours of its own, unless it has a `calendarRef`; members are never too young."""
    own = {} if "calendarRef" in spec else {"calendar": INLINE}
    return obj(GROUP, "Environment", name, namespace, spec={"grace": "0s", **own, **spec})


def override(name: str = "evening", namespace: str = "", **spec: Any) -> Obj:
    return obj(GROUP, "Override", name, namespace, spec=spec)


def calendar(name: str = "office", kind: str = "Calendar", **spec: Any) -> Obj:
    """Open in office hours."""
    return obj(GROUP, kind, name, spec=INLINE | spec)


def scaling_schedule(name: str = "bounds", namespace: str = "", **spec: Any) -> Obj:
    return obj(GROUP, "ScalingSchedule", name, namespace, spec=spec)


def keda_defaults(name: str = "team", kind: str = "KedaDefaults", namespace: str = "", **spec: Any) -> Obj:
    """Defaults of a namespace, or with that kind of the cluster."""
    return obj(GROUP, kind, name, "" if kind.startswith("Cluster") else namespace, spec=spec)


def metrics_api(url: str, target: int = 5, location: str = "value", **more: Any) -> Obj:
    fields = {"url": url, "valueLocation": location, "targetValue": str(target)}
    return {"type": "metrics-api", "metadata": fields, **more}


def cron(start: str = "0 8 * * *", end: str = "0 20 * * *", desired: int = 2, timezone: str = "UTC") -> Obj:
    fields = {"timezone": timezone, "start": start, "end": end, "desiredReplicas": str(desired)}
    return {"type": "cron", "metadata": fields}


def cpu(percent: int = 60) -> Obj:
    return {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(percent)}}


def box_definition(group: str) -> Obj:
    """A custom resource with a scale subresource and no controller."""
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
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"boxen.{group}", spec=spec)


def boxen(group: str) -> Resource:
    return Resource(group=group, version="v1", kind="Box", plural="boxen")
