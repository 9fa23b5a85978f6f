"""The rights that charts/keda-py gives are enough: nothing that the operator asks for is refused."""

from pathlib import Path
from typing import Any

import pytest

from keda_py.errors import KubeError
from keda_py.kube.resources import (
    API_SERVICES,
    CLOUD_EVENT_SOURCES,
    CLUSTER_CLOUD_EVENT_SOURCES,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    SCALED_JOBS,
    SCALED_OBJECTS,
    SECRETS,
    TRIGGER_AUTHENTICATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from tests.charts.installed import SHOP, Installed, installed
from tests.charts.rendering import Obj, only, render
from tests.e2e.manifests import cron, deployment, metrics_api, scaled_object
from tests.e2e.world import condition_of
from tests.http_server import HttpServer, http_server

CRON = cron("0 8 * * *", "0 20 * * *")
WAYS: list[dict[str, Any]] = [{}, {"watchNamespace": SHOP}]
AUTHENTICATION: Obj = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "TriggerAuthentication",
    "metadata": {"name": "source", "namespace": SHOP},
    "spec": {"secretTargetRef": [{"parameter": "token", "name": "source", "key": "token"}]},
}
SECRET: Obj = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "source", "namespace": SHOP},
    "stringData": {"token": "open sesame"},
}


def guarded(server: HttpServer) -> Obj:
    """A trigger that needs the Secret."""
    trigger = metrics_api(f"{server.url}/jobs", authenticationRef={"name": "source"})
    trigger["metadata"]["authMode"] = "bearer"
    return trigger


def scaled_job(server: HttpServer) -> Obj:
    container = {"name": "work", "image": "work"}
    spec = {
        "pollingInterval": 1,
        "maxReplicaCount": 2,
        "jobTargetRef": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        "triggers": [guarded(server)],
    }
    meta = {"name": "work", "namespace": SHOP}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": meta, "spec": spec}


async def follow_event_sources(here: Installed) -> None:
    """Both kinds get a condition, a destination that is none an Event, too; and KEDA's finalizer goes."""
    body: Obj = {"apiVersion": "eventing.keda.sh/v1alpha1", "metadata": {"name": "sink"}}
    wide = body | {"kind": "ClusterCloudEventSource", "spec": {"destination": {"http": {"uri": "http://127.0.0.1:1"}}}}
    meta = {"name": "sink", "namespace": SHOP, "finalizers": ["finalizer.keda.sh"]}
    narrow = {"kind": "CloudEventSource", "metadata": meta, "spec": {"destination": {"http": {"uri": "nowhere"}}}}
    for resource, one in ((CLUSTER_CLOUD_EVENT_SOURCES, wide), (CLOUD_EVENT_SOURCES, body | narrow)):
        await here.world.client.create(resource, one)
        await here.world.until(resource, lambda live: condition_of(live, "Active") != {}, "sink")
        await here.world.client.delete(resource.named(SHOP, "sink"))
    async with here.world.watching(CLOUD_EVENT_SOURCES, "sink") as watch:
        await watch.gone()


async def hear_the_webhook(here: Installed) -> None:
    """A second ScaledObject on the same Deployment is not let in, once the webhook carries the operator's CA."""

    def trusted(live: Obj) -> bool:
        return all(one["clientConfig"].get("caBundle") for one in live["webhooks"])

    await here.world.until(VALIDATING_WEBHOOK_CONFIGURATIONS, trusted, "keda-admission")
    await here.world.create(scaled_object(CRON))
    await here.world.condition("Ready", "True")
    with pytest.raises(KubeError, match="admission webhook"):
        await here.world.create(scaled_object(CRON, name="other", scaleTargetRef={"name": "app"}))


async def scale_up_and_down(here: Installed, server: HttpServer) -> None:
    """A life of a ScaledObject, from the first message to its deletion."""
    world = here.world
    server.answers["/jobs"] = '{"value": 20}'
    await world.create(deployment(), scaled_object(guarded(server)))
    await world.replicas(4)
    await world.condition("Ready", "True")
    await world.event("KEDAScaleTargetActivated")
    assert server.asked[-1].headers["Authorization"] == "Bearer open sesame"
    server.answers["/jobs"] = '{"value": 0}'
    await world.replicas(0)
    await world.delete(SCALED_OBJECTS)
    async with world.watching(SCALED_OBJECTS) as watch:
        await watch.gone()
    assert not await world.exists(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-app")


async def run_jobs(here: Installed, server: HttpServer) -> None:
    """Jobs of a ScaledJob, until it is deleted."""
    world = here.world
    server.answers["/jobs"] = '{"value": 10}'
    await world.client.create(SCALED_JOBS, scaled_job(server))
    await world.until(SCALED_JOBS, lambda live: condition_of(live, "Active").get("status") == "True", "work")
    assert len(await world.client.list(JOBS, SHOP)) == 2
    await world.delete(SCALED_JOBS, "work")
    async with world.watching(SCALED_JOBS, "work") as watch:
        await watch.gone()


@pytest.mark.parametrize("values", WAYS, ids=str)
async def test_no_request_of_the_operator_is_refused(values: dict[str, Any], tmp_path: Path) -> None:
    async with http_server() as server, installed(tmp_path, **values) as here:
        for resource, body in ((SECRETS, SECRET), (TRIGGER_AUTHENTICATIONS, AUTHENTICATION)):
            await here.world.client.create(resource, body)
        for api in ("v1beta1.external.metrics.k8s.io", "v1alpha1.insight.keda-py.dev"):
            await here.world.until(API_SERVICES, lambda live: condition_of(live, "Available")["status"] == "True", api)
        await scale_up_and_down(here, server)
        await run_jobs(here, server)
        await follow_event_sources(here)
        assert here.refused == []
        await hear_the_webhook(here)  # its refusal counts, too, so it comes last


def test_a_watched_namespace_gets_a_role_of_its_own_and_the_cluster_none() -> None:
    objects = render(watchNamespace="shop, bank", clusterScoped={"create": False})
    assert {one["kind"] for one in objects}.isdisjoint({"ClusterRole", "ClusterRoleBinding"})
    for namespace in ("shop", "bank"):
        role = only(objects, "Role", "keda-operator-watched", namespace)
        assert any("deployments/scale" in rule["resources"] for rule in role["rules"])
        binding = only(objects, "RoleBinding", "keda-operator-watched", namespace)
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "keda-operator", "namespace": "keda"}]


def test_the_kinds_that_may_be_scaled_can_be_narrowed() -> None:
    narrow = render(rbac={"scaledRefKinds": [{"apiGroup": "argoproj.io", "kind": "rollouts"}]})
    rules = only(narrow, "ClusterRole", "keda-operator")["rules"]
    scalable = {
        (group, one) for rule in rules for group in rule["apiGroups"] for one in rule["resources"] if "/scale" in one
    }
    assert ("argoproj.io", "rollouts/scale") in scalable
    assert "*" not in str(scalable)


def test_nobody_may_read_everything() -> None:
    rules = only(render(), "ClusterRole", "keda-operator")["rules"]
    assert [rule for rule in rules if "*" in rule["resources"] or "*" in rule["verbs"]] == []


def test_secrets_of_other_namespaces_can_be_withheld() -> None:
    objects = render(permissions={"operator": {"restrict": {"secret": True}}})
    assert "secrets" not in str(only(objects, "ClusterRole", "keda-operator"))
    assert "secrets" in str(only(objects, "Role", "keda-operator", "keda"))
