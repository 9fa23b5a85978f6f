"""Defaults of built-in kinds that depend on other fields.

`defaults.apply_defaults` calls `complete` after the schema's own defaults. It may build new dicts but never changes one
that it was given.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from keda_py.schema.resources import Obj


def complete(obj: Obj) -> Obj:
    """Fill in the defaults that a kind derives from other fields."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    rule = _RULES.get((group, str(obj.get("kind", ""))))
    spec = obj.get("spec")
    if rule is None or not isinstance(spec, dict):
        return _without_spec(obj)
    return {**obj, "spec": rule(spec, obj)}


def _without_spec(obj: Obj) -> Obj:
    """Complete the kinds whose content is not in `spec`."""
    if obj.get("kind") == "Secret" and isinstance(obj.get("stringData"), dict):
        return _encode_secret(obj)
    if obj.get("kind") in ("RoleBinding", "ClusterRoleBinding"):
        return _complete_binding(obj)
    return obj


def _encode_secret(secret: Obj) -> Obj:
    """Move stringData into data, base64-encoded, as the API server does."""
    encoded = {key: b64encode(str(text).encode()).decode() for key, text in secret["stringData"].items()}
    rest = {key: value for key, value in secret.items() if key != "stringData"}
    return {**rest, "data": {**(secret.get("data") or {}), **encoded}}


def _complete_binding(binding: Obj) -> Obj:
    groups = {"User": _RBAC, "Group": _RBAC, "ServiceAccount": ""}
    completed = dict(binding)
    if subjects := binding.get("subjects"):
        completed["subjects"] = [_with_group(subject, groups.get(subject.get("kind", ""), "")) for subject in subjects]
    if role_ref := binding.get("roleRef"):
        completed["roleRef"] = _with_group(role_ref, _RBAC)
    return completed


def _with_group(reference: Obj, group: str) -> Obj:
    return {"apiGroup": group, **reference} if group else reference


_RBAC = "rbac.authorization.k8s.io"


def _pod(spec: Obj, obj: Obj) -> Obj:
    completed = {**spec, "containers": [_container(container) for container in spec.get("containers") or []]}
    if spec.get("initContainers"):
        completed["initContainers"] = [_container(container) for container in spec["initContainers"]]
    if account := spec.get("serviceAccountName"):
        completed["serviceAccount"] = account
    elif account := spec.get("serviceAccount"):
        completed["serviceAccountName"] = account
    return completed


def _standalone_pod(spec: Obj, obj: Obj) -> Obj:
    """Complete a pod that has no template, with the values that admission and scheduling set."""
    completed = {"enableServiceLinks": True, "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    return completed | _pod({**spec, "serviceAccountName": account}, obj)


def _container(container: Obj) -> Obj:
    """Complete a container: requests default to limits, and an image without a fixed version is always pulled."""
    completed = container
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        requests = {**limits, **(resources.get("requests") or {})}
        completed = {**completed, "resources": {**resources, "requests": requests}}
    if "imagePullPolicy" not in container:
        policy = "Always" if _moves(str(container.get("image", ""))) else "IfNotPresent"
        completed = {**completed, "imagePullPolicy": policy}
    return completed


def _moves(image: str) -> bool:
    last = image.rsplit("/", 1)[-1]
    return "@" not in last and (":" not in last or last.endswith(":latest"))


def _template(spec: Obj) -> Obj:
    """Complete the `template.spec` of a workload like a pod's."""
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return spec
    return {**spec, "template": {**template, "spec": _pod(template["spec"], template)}}


def _rolling(spec: Obj, key: str, defaults: Obj) -> Obj:
    """Fill in the parameters of a rolling update; other strategies have none."""
    strategy = {"type": "RollingUpdate", **(spec.get(key) or {})}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**defaults, **(strategy.get("rollingUpdate") or {})}
    return {**spec, key: strategy}


def _deployment(spec: Obj, obj: Obj) -> Obj:
    return _rolling(_template(spec), "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


def _stateful_set(spec: Obj, obj: Obj) -> Obj:
    return _rolling(_template(spec), "updateStrategy", {"partition": 0})


def _daemon_set(spec: Obj, obj: Obj) -> Obj:
    return _rolling(_template(spec), "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _replica_set(spec: Obj, obj: Obj) -> Obj:
    return _template(spec)


def _job(spec: Obj, obj: Obj) -> Obj:
    """Complete a Job: one without completions and parallelism runs one pod."""
    completed = _template(spec)
    # With parallelism above 1 an absent `completions` means a work queue, so there is no default then.
    if "completions" not in spec and spec.get("parallelism", 1) == 1:
        completed = {**completed, "completions": 1}
    return completed


def _cron_job(spec: Obj, obj: Obj) -> Obj:
    template = spec.get("jobTemplate") or {}
    if not isinstance(template.get("spec"), dict):
        return spec
    return {**spec, "jobTemplate": {**template, "spec": _template(template["spec"])}}


def _service(spec: Obj, obj: Obj) -> Obj:
    """Complete a Service: targetPort is the port; it has an address unless it is headless or an ExternalName."""
    completed = dict(spec)
    if spec.get("ports"):
        completed["ports"] = [{"targetPort": port.get("port"), **port} for port in spec["ports"]]
    if spec.get("type") == "ExternalName":
        return completed
    address = spec.get("clusterIP") or _address(obj)
    completed |= {"clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}
    families: Obj = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"}
    return families | completed


def _address(obj: Obj) -> str:
    """Derive a cluster address from the name: nothing routes to it, so it only has to be plausible and stable."""
    metadata = obj.get("metadata") or {}
    digest = hashlib.sha256(f"{metadata.get('namespace')}/{metadata.get('name')}".encode()).digest()
    return f"10.{96 + digest[0] % 16}.{digest[1]}.{1 + digest[2] % 254}"


_EVERY_15_S: Obj = {"periodSeconds": 15}
_SCALE_UP: Obj = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, **_EVERY_15_S}, {"type": "Percent", "value": 100, **_EVERY_15_S}],
}
_SCALE_DOWN: Obj = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, **_EVERY_15_S}]}


def _hpa(spec: Obj, obj: Obj) -> Obj:
    """Complete an HPA: the default metric is 80 % CPU; a behavior with one direction gets the other one's default."""
    completed = dict(spec)
    if "metrics" not in spec and not str(obj.get("apiVersion")).endswith("/v1"):
        cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
        completed["metrics"] = [{"type": "Resource", "resource": cpu}]
    if isinstance(behavior := spec.get("behavior"), dict):
        completed["behavior"] = {
            "scaleUp": {**_SCALE_UP, **(behavior.get("scaleUp") or {})},
            "scaleDown": {**_SCALE_DOWN, **(behavior.get("scaleDown") or {})},
        }
    return completed


def _crd(spec: Obj, obj: Obj) -> Obj:
    names = spec.get("names") or {}
    kind = str(names.get("kind", ""))
    return {**spec, "names": {"singular": kind.lower(), "listKind": f"{kind}List", **names}}


_RULES: dict[tuple[str, str], Callable[[Obj, Obj], Any]] = {
    ("", "Pod"): _standalone_pod,
    ("", "Service"): _service,
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): _hpa,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
}
