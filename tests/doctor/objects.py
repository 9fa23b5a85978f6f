"""Objects around a namespace `shop` that sleeps, as a cluster lists them."""

from typing import Any

import orjson

from keda_py.doctor.diagnosis import Diagnosis
from keda_py.doctor.examination import examine
from keda_py.kube.resources import Obj
from keda_py.migration.installation import from_bodies
from tests import builders
from tests.builders import obj

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ASLEEP = {"stage": "Down", "replicas": 3}


def found(*bodies: Obj, unread: dict[str, str] | None = None) -> tuple[Diagnosis, ...]:
    return examine(from_bodies(bodies, unread))


def environment(*asleep: str, **spec: Any) -> Obj:
    """Environment shop/dev that put these Deployments to sleep, from three replicas each."""
    members = {f"Deployment/{name}": dict(ASLEEP) for name in asleep}
    built = builders.environment(namespace="shop", **spec)
    built["metadata"] |= {"uid": "e", "creationTimestamp": "2026-11-01T00:00:00Z"}
    return built | {"status": {"members": members}}


def web(replicas: int = 0, *, name: str = "web", in_git: bool | None = True, **meta: Any) -> Obj:
    """Deployment shop/web; `in_git`: whether the manifest applied last sets a count, None for no trace of it."""
    container = builders.container(cpu="500m", memory="256Mi")
    built = builders.workload("Deployment", name, replicas, namespace="shop", containers=[container])
    annotations = dict(meta.pop("annotations", {}))
    if in_git is not None:
        annotations[LAST_APPLIED] = orjson.dumps({"spec": {"replicas": 3} if in_git else {}}).decode()
    built["metadata"] |= {"annotations": annotations, **meta}
    return built


def written_by(manager: str, *, count: bool = True, time: str = "2026-11-20T08:00:00Z", apply: bool = True) -> Obj:
    """Entry of managedFields."""
    fields: Obj = {"f:spec": {"f:replicas": {}} if count else {"f:template": {}}}
    return {"manager": manager, "operation": "Apply" if apply else "Update", "time": time, "fieldsV1": fields}


def application(
    *ignored: Obj, options: tuple[str, ...] = (), heals: bool = True, names: tuple[str, ...] = ("web",)
) -> Obj:
    resources = [{"group": "apps", "kind": "Deployment", "namespace": "shop", "name": name} for name in names]
    spec = {
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
        "ignoreDifferences": list(ignored),
        "syncPolicy": {"automated": {"selfHeal": heals}, "syncOptions": list(options)},
    }
    built = obj("argoproj.io/v1alpha1", "Application", "shop", "argocd", spec=spec)
    return built | {"status": {"resources": resources}}
