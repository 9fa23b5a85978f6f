"""Objects of an installed KEDA, as its chart and its operator leave them."""

from typing import Any

from keda_py.kube.resources import Obj
from tests.builders import bare_scaled_object, cron, obj

HELM = {"meta.helm.sh/release-name": "keda", "meta.helm.sh/release-namespace": "keda"}
KEEP = {"helm.sh/resource-policy": "keep"}
CRON = cron(desired=1)


def operator(*arguments: str, image: str = "keda:2.20.2", replicas: int = 1, env: dict[str, str] | None = None) -> Obj:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    container = {
        "image": f"example.org/kedacore/{image}",
        "command": ["/keda"],
        "args": list(arguments),
        "env": variables,
    }
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return obj("apps/v1", "Deployment", "keda-operator", "keda", spec=spec)


def lease(holder: str) -> Obj:
    return obj("coordination.k8s.io/v1", "Lease", "operator.keda.sh", "keda", spec={"holderIdentity": holder})


def definition(annotations: Obj, *, policy_by: str = "helm") -> Obj:
    fields = {f"f:{name}": {} for name in annotations}
    owner = {"manager": policy_by, "fieldsV1": {"f:metadata": {"f:annotations": fields}}}
    found = obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", "scaledobjects.keda.sh")
    found["metadata"] |= {"annotations": annotations, "managedFields": [owner]}
    return found | {"spec": {"names": {"kind": "ScaledObject"}, "versions": [{"name": "v1alpha1", "schema": {}}]}}


def api_service(namespace: str, name: str) -> Obj:
    spec = {"service": {"namespace": namespace, "name": name}}
    return obj("apiregistration.k8s.io/v1", "APIService", "v1beta1.external.metrics.k8s.io", spec=spec)


def webhook(policy: str) -> Obj:
    found = obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "keda-admission")
    return found | {"webhooks": [{"failurePolicy": policy, "rules": [{"apiGroups": ["keda.sh"]}]}]}


def watched(*triggers: Obj, name: str = "web", ready: str = "True", **spec: Any) -> Obj:
    found = bare_scaled_object(*triggers or (CRON,), name=name, namespace="shop", **spec)
    return found | {"status": {"conditions": [{"type": "Ready", "status": ready}]}}


def owned_hpa(name: str, *metrics: str, owner: str = "web") -> Obj:
    external = [{"type": "External", "external": {"metric": {"name": metric}}} for metric in metrics]
    found = obj("autoscaling/v2", "HorizontalPodAutoscaler", name, "shop", spec={"metrics": external, "maxReplicas": 1})
    found["metadata"]["ownerReferences"] = [{"kind": "ScaledObject", "name": owner}]
    return found
