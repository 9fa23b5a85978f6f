"""A life for the operator in which it needs each of its rights at least once.

Each function is one story that ends when the cluster shows its outcome. Where a right is for an accident (a write that
found somebody else's object, an answer that was lost), the story arranges the accident.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from keda_py.clock import SystemClock
from keda_py.core.hpa.conditions import ZeroMark
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.kube.informers.named_watches import NAMES_LIMIT
from keda_py.kube.resources import (
    CLOUD_EVENT_SOURCES,
    CLUSTER_CLOUD_EVENT_SOURCES,
    CLUSTER_ENVIRONMENTS,
    CLUSTER_KEDA_DEFAULTS,
    CLUSTER_TRIGGER_AUTHENTICATIONS,
    CONFIG_MAPS,
    CRON_JOBS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    KEDA_DEFAULTS,
    OVERRIDES,
    SCALED_JOBS,
    SCALED_OBJECTS,
    SCALING_SCHEDULES,
    SECRETS,
    SERVICE_ACCOUNTS,
    TRIGGER_AUTHENTICATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Resource,
)
from keda_py.localkube.access.certificates import Authority
from tests import builders
from tests.builders import box_definition, boxen, deployment, metrics_api, scaled_object, workload
from tests.charts.installed import SHOP, Installed
from tests.charts.rendering import Obj
from tests.e2e.scene import condition_of
from tests.http_server import HttpServer
from tests.localkube.access.webhook import Webhook
from tests.waiting import eventually
from tests.worlds.actor import KINDS

MANY = NAMES_LIMIT + 2
"""More objects of a kind in one namespace than are followed one by one."""
GROUP = "example.com"
ENDPOINT_SLICES = Resource(group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices")


def named(kind: str, name: str, namespace: str = SHOP, **fields: Any) -> Obj:
    """An object of the core group or of KEDA's."""
    version = "keda.sh/v1alpha1" if "Trigger" in kind or "Scaled" in kind else "v1"
    place = {} if kind.startswith("Cluster") else {"namespace": namespace}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name} | place, **fields}


def guarded(server: HttpServer, kind: str = "TriggerAuthentication") -> Obj:
    """A trigger that needs the token of `source`."""
    trigger = metrics_api(f"{server.url}/jobs", authenticationRef={"name": "source", "kind": kind})
    trigger["metadata"]["authMode"] = "bearer"
    return trigger


def source(kind: str, **more: Any) -> Obj:
    """An authentication with the token, from more Secrets and ConfigMaps than are followed one by one."""
    secrets = [{"parameter": f"secret{i}", "name": f"source-{i}", "key": "token"} for i in range(MANY)]
    maps = [{"parameter": f"map{i}", "name": f"source-{i}", "key": "token"} for i in range(MANY)]
    secrets[0]["parameter"] = "token"
    return named(kind, "source", spec={"secretTargetRef": secrets, "configMapTargetRef": maps, **more})


def guarded_job(server: HttpServer, name: str, **spec: Any) -> Obj:
    return builders.scaled_job(guarded(server), name=name, namespace=SHOP, **{"maxReplicaCount": 2, **spec})


async def sleep_and_wake(here: Installed) -> None:
    """An Environment that never opens puts a Deployment and a CronJob to sleep; deleted, it gives them back.

    The Deployment has an HPA of its owner that says of a zero that it has set it.
    """
    days = {"dates": ["2026-01-01/2027-06-30", "2027-07-01/2028-12-31"], "closed": True, "reason": "closed for good"}
    hours = [{"days": "Mon", "from": "00:00", "to": "00:01"}]
    calendar = {"timeZone": "UTC", "hours": hours, "exceptions": [days]}
    chosen = {"matchLabels": {"sleeps": "yes"}}
    spec = {"calendar": calendar, "grace": "0s", "selector": chosen}
    pod = {"containers": [builders.container()], "restartPolicy": "Never"}
    job = {"schedule": "0 1 1 1 *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    labels = {"sleeps": "yes"}
    sleeper, nightly = deployment("sleeper", 1), builders.obj("batch/v1", "CronJob", "nightly", spec=job)
    for body in (sleeper, nightly):
        body["metadata"]["labels"] = labels
    await here.scene.create(sleeper, nightly, builders.hpa("sleeper", "sleeper", maxReplicas=1))
    marked = {"type": "ScaledToZero", "status": "True", "reason": "ScaledToZero"}
    path = HORIZONTAL_POD_AUTOSCALERS.named(here.scene.namespace, "sleeper", "status")
    await here.scene.client.patch(path, {"status": {"conditions": [marked]}})
    hers, over = "keda-py.dev/v1alpha1", {"target": {"kind": "Environment", "name": "night"}, "state": "Asleep"}
    await here.scene.create(builders.obj(hers, "Environment", "night", spec=spec))
    for kind in ("Calendar", "ClusterCalendar"):
        await here.scene.create(builders.obj(hers, kind, "night", spec=calendar))
        await here.scene.until(KINDS[kind], _is_told, "night")
    always = {"name": "day", "hours": [{"from": "00:00", "to": "24:00"}], "minReplicas": 0}
    schedule = {"timeZone": "UTC", "names": ["sleeper"], "periods": [always]}
    await here.scene.create(builders.obj(hers, "ScalingSchedule", "bounds", spec=schedule))
    await here.scene.until(SCALING_SCHEDULES, _is_told, "bounds")
    await here.scene.create(builders.obj(hers, "Override", "now", spec={**over, "for": "1h"}))
    await here.scene.until(OVERRIDES, _is_told, "now")
    await here.scene.create(builders.obj(hers, "Override", "past", spec={**over, "until": "NextChange"}))
    await here.scene.until(OVERRIDES, _is_told, "past")
    over_long_ago = {"status": {"ends": "2026-01-01T00:00:00Z"}}
    async with here.scene.watching(OVERRIDES, "past") as past:
        await here.scene.client.patch(OVERRIDES.named(here.scene.namespace, "past", "status"), over_long_ago)
        touch = {"metadata": {"annotations": {"example.com/touched": "yes"}}}
        await here.scene.client.patch(OVERRIDES.named(here.scene.namespace, "past"), touch)
        await past.gone()
    await here.scene.until(DEPLOYMENTS, lambda live: live["spec"]["replicas"] == 0, "sleeper")
    await here.scene.until(CRON_JOBS, lambda live: bool(live["spec"].get("suspend")), "nightly")
    await here.scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda hpa: read_zero_mark(hpa) is ZeroMark.HELD, "sleeper")
    await here.scene.delete(ENVIRONMENTS, "night")
    await here.scene.until(DEPLOYMENTS, lambda live: live["spec"]["replicas"] == 1, "sleeper")
    await here.scene.until(CRON_JOBS, lambda live: not live["spec"].get("suspend"), "nightly")
    await here.scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda hpa: read_zero_mark(hpa) is ZeroMark.SET, "sleeper")


async def cover_a_namespace(here: Installed) -> None:
    """A ClusterEnvironment gives a namespace an Environment, corrects it, and takes it back."""
    hours = [{"days": "Mon", "from": "00:00", "to": "00:01"}]
    template = {"calendar": {"timeZone": "UTC", "hours": hours}}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": SHOP}}
    spec = {"namespaceSelector": selector, "template": template}
    policy = builders.obj("keda-py.dev/v1alpha1", "ClusterEnvironment", "office", spec=spec)
    await here.scene.client.create(CLUSTER_ENVIRONMENTS, policy)
    await here.scene.until(ENVIRONMENTS, lambda live: bool(live.get("status")), "office")
    await here.scene.client.patch(ENVIRONMENTS.named(SHOP, "office"), {"spec": {"grace": "9h"}})
    await here.scene.until(ENVIRONMENTS, lambda live: live["spec"] == template, "office")
    async with here.scene.watching(ENVIRONMENTS, "office") as watch:
        never = {"spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "none"}}}}
        await here.scene.client.patch(CLUSTER_ENVIRONMENTS.named("", "office"), never)
        await watch.gone()


async def lay_defaults(here: Installed) -> None:
    """Defaults of both kinds are in force, and their statuses say that they can be used."""
    name = {"matchLabels": {"kubernetes.io/metadata.name": SHOP}}
    cluster = builders.keda_defaults("all", "ClusterKedaDefaults", namespaceSelector=name, maxReplicaCount=7)
    await here.scene.client.create(CLUSTER_KEDA_DEFAULTS, cluster)
    await here.scene.client.create(KEDA_DEFAULTS, builders.keda_defaults(namespace=SHOP, minReplicaCount=2))
    await here.scene.until(CLUSTER_KEDA_DEFAULTS, _is_told, "all")
    await here.scene.until(KEDA_DEFAULTS, _is_told, "team")
    await here.scene.client.create(DEPLOYMENTS, builders.deployment("plain", namespace=SHOP))
    await here.scene.client.create(SCALED_OBJECTS, builders.bare_scaled_object(name="plain", namespace=SHOP))
    await here.scene.until(
        HORIZONTAL_POD_AUTOSCALERS,
        lambda hpa: (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 7),
        "keda-hpa-plain",
    )


def _is_told(live: Obj) -> bool:
    return bool(live.get("status"))


async def follow_sources(here: Installed, server: HttpServer, **tokens: Any) -> None:
    """Authentications, from a namespace's Secrets and from the operator's own."""
    client = here.scene.client
    for namespace in (SHOP, "keda"):
        for i in range(MANY):
            text = {"token": "open sesame"}
            await client.create(SECRETS, named("Secret", f"source-{i}", namespace, stringData=text))
            await client.create(CONFIG_MAPS, named("ConfigMap", f"source-{i}", namespace, data=text))
    await client.create(TRIGGER_AUTHENTICATIONS, source("TriggerAuthentication", **tokens))
    await client.create(CLUSTER_TRIGGER_AUTHENTICATIONS, source("ClusterTriggerAuthentication"))
    server.answers["/jobs"] = '{"value": 0}'
    for number, kind in enumerate(("TriggerAuthentication", "ClusterTriggerAuthentication")):
        name = f"source-{number}"
        await here.scene.create(deployment(name), scaled_object(guarded(server, kind), name=name))
        await here.scene.condition("Ready", "True", name=name)
    assert server.asked[-1].headers["Authorization"] == "Bearer open sesame"
    for length in (1, 2):  # which tells the same twice, about an object without a namespace
        secrets = source("")["spec"]["secretTargetRef"][:length]
        path = CLUSTER_TRIGGER_AUTHENTICATIONS.named("", "source")
        await client.patch(path, {"spec": {"secretTargetRef": secrets}})
        await here.until_listed(EVENTS, "default", lambda told: "is updated" in told["note"])
    await here.until_listed(EVENTS, "default", lambda told: told.get("series", {}).get("count") == 2)


async def scale_up_and_down(here: Installed, server: HttpServer) -> None:
    """A life of a ScaledObject, from the first message to its deletion; it wakes twice, and so is one Event counted."""
    world = here.scene
    await world.create(deployment(), scaled_object(guarded(server)))
    for _ in range(2):
        server.answers["/jobs"] = '{"value": 20}'
        await world.replicas(4)
        server.answers["/jobs"] = '{"value": 0}'
        await world.replicas(0)
    await world.condition("Ready", "True")
    told = await world.event("KEDAScaleTargetActivated")
    await world.until(EVENTS, lambda live: live.get("series", {}).get("count") == 2, told["metadata"]["name"])
    await world.delete(SCALED_OBJECTS)
    async with world.watching(SCALED_OBJECTS) as watch:
        await watch.gone()
    assert not await world.exists(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-app")


async def wait_for_targets(here: Installed, server: HttpServer, *, boxen_are_named: bool) -> None:
    """ScaledObjects that are there before their targets, of each kind that may be read."""
    world, server.answers["/busy"] = here.scene, '{"value": 1}'
    await world.client.create(CUSTOM_RESOURCE_DEFINITIONS, box_definition(GROUP))
    box = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "metadata": {"name": "box", "namespace": SHOP}}
    if not boxen_are_named:
        await world.client.create(boxen(GROUP), box | {"spec": {"size": 0}})
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        name = kind.lower()
        target = {"kind": kind, "name": name}
        await world.create(scaled_object(metrics_api(f"{server.url}/busy"), name=name, scaleTargetRef=target))
        await world.condition("Ready", "False", name=name)
        await world.create(workload(kind, name))
        await world.until(KINDS[kind], lambda live: live["spec"]["replicas"] == 1, name)
    target = {"apiVersion": f"{GROUP}/v1", "kind": "Box", "name": "box"}
    await world.create(scaled_object(metrics_api(f"{server.url}/busy"), name="box", scaleTargetRef=target))
    if boxen_are_named:
        await world.condition("Ready", "False", name="box")
        await world.client.create(boxen(GROUP), box | {"spec": {"size": 0}})
    await world.until(boxen(GROUP), lambda live: live["spec"]["size"] == 1, "box")


async def change_hpas(here: Installed) -> None:
    """An HPA is changed, deleted by a pause, and made anew where somebody else was faster."""
    world, name, hpa = here.scene, "deployment", "keda-hpa-deployment"
    await world.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 7}}, name)
    live = await world.until(HORIZONTAL_POD_AUTOSCALERS, lambda live: live["spec"]["maxReplicas"] == 7, hpa)
    async with world.watching(HORIZONTAL_POD_AUTOSCALERS, hpa) as watch:
        await world.annotate({"autoscaling.keda.sh/paused": "true"}, name)
        await watch.gone()
    async with slow_admission(here, "autoscaling", "horizontalpodautoscalers", failurePolicy="Ignore") as webhook:
        await world.annotate({"autoscaling.keda.sh/paused": None}, name)
        await until_asked(webhook)
        webhook.hangs = False
        kept = {key: live["metadata"][key] for key in ("name", "namespace")}
        await world.client.create(HORIZONTAL_POD_AUTOSCALERS, {**live, "metadata": kept})
        await world.until(HORIZONTAL_POD_AUTOSCALERS, lambda live: bool(live["metadata"].get("ownerReferences")), hpa)


async def run_jobs(here: Installed, server: HttpServer) -> None:
    """Jobs of a ScaledJob: replaced when it changes, created again after an answer that was lost, and deleted."""
    world = here.scene
    server.answers["/jobs"] = '{"value": 10}'
    async with slow_admission(here, "batch", "jobs", failurePolicy="Fail") as webhook:
        await world.client.create(SCALED_JOBS, guarded_job(server, "work"))
        await until_asked(webhook)
    await world.until(SCALED_JOBS, lambda live: condition_of(live, "Active").get("status") == "True", "work")
    await here.until_listed(JOBS, SHOP, lambda job: generation(job) == "1")
    await world.patch(SCALED_JOBS, {"spec": {"maxReplicaCount": 1}}, "work")
    await here.until_listed(JOBS, SHOP, lambda job: generation(job) == "2")
    await world.delete(SCALED_JOBS, "work")
    async with world.watching(SCALED_JOBS, "work") as watch:
        await watch.gone()


def endpoints_here(server: HttpServer, namespace: str) -> Obj:
    """The EndpointSlice of a Service `work` that leads to the server."""
    labels = {"kubernetes.io/service-name": "work"}
    piece = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
    piece |= {"metadata": {"name": "work-1", "namespace": namespace, "labels": labels}}
    return piece | {"ports": [{"port": server.port}], "endpoints": [{"addresses": ["127.0.0.1"]}]}


def endpoint_by_endpoint(server: HttpServer, namespace: str) -> Obj:
    """A trigger that asks each endpoint of that Service."""
    trigger = metrics_api(f"http://work.{namespace}:{server.port}/busy")
    trigger["metadata"]["aggregateFromKubeServiceEndpoints"] = "true"
    return trigger


async def ask_around(here: Installed, server: HttpServer) -> None:
    """Triggers that ask each endpoint of a Service, count pods, and read a number from a ConfigMap."""
    client, server.answers["/busy"] = here.scene.client, '{"value": 1}'
    await client.create(ENDPOINT_SLICES, endpoints_here(server, SHOP))
    await client.create(CONFIG_MAPS, named("ConfigMap", "backlog", data={"count": "3"}))
    endpoints = endpoint_by_endpoint(server, SHOP)
    pods = {"type": "kubernetes-workload", "metadata": {"podSelector": "app=deployment", "value": "1"}}
    backlog = {"resourceKind": "ConfigMap", "resourceName": "backlog", "key": "count", "targetValue": "1"}
    number = {"type": "kubernetes-resource", "metadata": backlog}
    for trigger, name in ((endpoints, "endpoints"), (pods, "pods"), (number, "number")):
        await here.scene.create(deployment(name), scaled_object(trigger, name=name))
        await here.scene.condition("Active", "True", name=name)


async def be_many_accounts(here: Installed) -> None:
    """Workloads with an identity of their own each."""
    client, names = here.scene.client, [f"account-{i}" for i in range(MANY)]
    identity = {"podIdentity": {"provider": "aws", "identityOwner": "workload"}}
    await client.create(TRIGGER_AUTHENTICATIONS, named("TriggerAuthentication", "workload", spec=identity))
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/work"}
    for names_now in (names[:-1], names[-1:]):
        for name in names_now:
            account = named("ServiceAccount", name)
            account["metadata"]["annotations"] = role
            await client.create(SERVICE_ACCOUNTS, account)
            body = deployment(name)
            body["spec"]["template"]["spec"]["serviceAccountName"] = name
            trigger = {"type": "cron", "authenticationRef": {"name": "workload"}}
            trigger["metadata"] = {"timezone": "UTC", "start": "0 0 1 1 *", "end": "1 0 1 1 *", "desiredReplicas": "1"}
            await here.scene.create(body, scaled_object(trigger, name=name))
        for name in names_now:
            await here.scene.condition("Ready", "True", name=name)


async def spoil_the_certificates(here: Installed) -> None:
    """The Secret of the certificates loses a key and gets it back."""
    client = here.scene.client
    path = SECRETS.named("keda", "kedaorg-certs")
    await client.patch(path, {"data": {"tls.crt": None}})
    await here.until_listed(
        SECRETS, "keda", lambda one: one["metadata"]["name"] == path.name and "tls.crt" in one["data"]
    )


async def until_asked(webhook: Webhook) -> None:
    await eventually(lambda: webhook.asked, 30)


def generation(job: Obj) -> str:
    return str(job["metadata"]["annotations"]["scaledjob.keda.sh/generation"])


@asynccontextmanager
async def slow_admission(here: Installed, group: str, resource: str, **policy: str) -> AsyncIterator[Webhook]:
    """Somebody's webhook for creations of that resource, which does not answer in time."""
    async with Webhook(Authority("vet", SystemClock().now())) as webhook:
        webhook.hangs = True
        rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": ["CREATE"]}
        configuration = webhook.configuration(rules=[rule], timeoutSeconds=1, **policy)
        await here.scene.client.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration)
        try:
            yield webhook
        finally:
            await here.scene.client.delete(VALIDATING_WEBHOOK_CONFIGURATIONS.named("", "vet"))


async def follow_event_sources(here: Installed) -> None:
    """Both kinds get a condition, a destination that is none an Event, too; and KEDA's finalizer goes."""
    uris = {CLUSTER_CLOUD_EVENT_SOURCES: "http://127.0.0.1:1", CLOUD_EVENT_SOURCES: "nowhere"}
    for resource, uri in uris.items():
        meta = {"name": "sink", "finalizers": ["finalizer.keda.sh"]} | (
            {"namespace": SHOP} if resource.namespaced else {}
        )
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        await here.scene.client.create(resource, body | {"spec": {"destination": {"http": {"uri": uri}}}})
        await here.scene.until(resource, lambda live: condition_of(live, "Active") != {}, "sink")
        async with here.scene.watching(resource, "sink") as watch:
            await here.scene.client.delete(resource.named(SHOP, "sink"))
            await watch.gone()
