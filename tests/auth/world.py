"""The embedded cluster with the very operator on it, in real time, and what a test wants to know of them."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.clock import Clock, SystemClock
from keda_py.core.spec import build_spec
from keda_py.errors import NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.resources import DEPLOYMENTS, EVENTS, SCALED_OBJECTS, Resource
from keda_py.localkube.cluster import LocalCluster
from keda_py.net.secret_texts import EMPTY, plain
from keda_py.operator.assembly import Assembly
from keda_py.sdk.scaler import PodIdentity
from tests.definitions import DEFINITIONS
from tests.kubeconfigs import token_kubeconfig
from tests.operators import running_operator
from tests.plain_http import plain_http

Obj = dict[str, Any]
PAUSE = 0.02


class World:
    """A cluster in which somebody works with kubectl; `operator` is None before `started`."""

    def __init__(self, cluster: LocalCluster, client: KubeClient, kubeconfig: Path) -> None:
        self.cluster, self.client, self.kubeconfig = cluster, client, kubeconfig
        self.operator: Assembly | None = None

    async def apply(self, *manifests: Obj) -> None:
        await self.cluster.apply(manifests)

    async def get(self, resource: Resource, name: str, namespace: str = "default") -> Obj:
        return await self.client.get(resource.named(namespace, name))

    async def patch(self, resource: Resource, name: str, change: Obj, namespace: str = "default") -> Obj:
        return await self.client.patch(resource.named(namespace, name), change, PatchKind.MERGE)

    async def delete(self, resource: Resource, name: str, namespace: str = "default") -> None:
        await self.client.delete(resource.named(namespace, name))

    async def status(self, name: str) -> Obj:
        return (await self.get(SCALED_OBJECTS, name)).get("status") or {}

    async def condition(self, name: str, kind: str) -> tuple[str, str]:
        """Status and reason."""
        found = [one for one in (await self.status(name)).get("conditions") or () if one["type"] == kind]
        return (found[0]["status"], found[0].get("reason", "")) if found else ("", "")

    async def ready_message(self, name: str) -> str:
        conditions = (await self.status(name)).get("conditions") or ()
        return next((one.get("message", "") for one in conditions if one["type"] == "Ready"), "")

    async def replicas(self, name: str) -> int:
        return int((await self.get(DEPLOYMENTS, name))["spec"]["replicas"])

    async def events(self, kind: str, name: str) -> list[tuple[str, str, str]]:
        """(type, reason, note) of the Events about an object."""
        found = await self.client.list(EVENTS)
        about = [one for one in found if (one["regarding"]["kind"], one["regarding"]["name"]) == (kind, name)]
        return [(one["type"], one["reason"], one["note"]) for one in about]

    async def exists(self, resource: Resource, name: str, namespace: str = "default") -> bool:
        try:
            await self.get(resource, name, namespace)
        except NotFound:
            return False
        return True


async def eventually(look: Callable[[], Any], seconds: float = 10.0) -> Any:
    """The first truthy answer of `look`, which may be a coroutine function; AssertionError after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        found = look()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        if loop.time() > end:
            raise AssertionError(f"nothing came within {seconds} s: {found!r}")
        await asyncio.sleep(PAUSE)


@asynccontextmanager
async def open_world(folder: Path, clock: Clock | None = None) -> AsyncIterator[World]:
    """A cluster that knows our kinds."""
    clock = clock or SystemClock()
    async with LocalCluster(clock) as cluster, plain_http(cluster) as url:
        await cluster.apply(DEFINITIONS)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(token_kubeconfig(cluster, url=url), encoding="utf-8")
        async with KubeClient(clock, str(kubeconfig)) as client:
            yield World(cluster, client, kubeconfig)


@asynccontextmanager
async def started(world: World, env: Mapping[str, str] | None = None, **flags: str) -> AsyncIterator[Assembly]:
    """The operator at work; `flags` with underscores."""
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    given = {"kubeconfig": str(world.kubeconfig), **named}
    async with running_operator(given, env or {}, world.cluster.clock) as assembly:
        world.operator = assembly
        yield assembly


def deployment(name: str, *, replicas: int = 0, **container: Any) -> Obj:
    """A Deployment of one container."""
    app = {"name": "app", "image": "app", **container}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [app]}},
        },
    }


def scaled_object(name: str, *triggers: Obj, **spec: Any) -> Obj:
    """Of the Deployment of the same name, polled each second."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"name": name},
            "pollingInterval": 1,
            "cooldownPeriod": 1,
            "triggers": list(triggers),
            **spec,
        },
    }


def scaled_job(name: str, *triggers: Obj, **spec: Any) -> Obj:
    """One Job for each piece of work, in a container that does nothing."""
    pod = {"containers": [{"name": "app", "image": "app"}], "restartPolicy": "Never"}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"jobTargetRef": {"template": {"spec": pod}}, "triggers": list(triggers), **spec},
    }


def redis_trigger(authentication: str = "", kind: str = "", **metadata: str) -> Obj:
    trigger: Obj = {"type": "redis", "metadata": {"listName": "jobs", "listLength": "5", **metadata}}
    if authentication:
        trigger["authenticationRef"] = {"name": authentication, **({"kind": kind} if kind else {})}
    return trigger


def authentication(name: str, kind: str = "TriggerAuthentication", namespace: str = "default", **spec: Any) -> Obj:
    metadata = {"name": name} if kind.startswith("Cluster") else {"name": name, "namespace": namespace}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def secret(name: str, namespace: str = "default", **data: str) -> Obj:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}


def config_map(name: str, **data: str) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def from_key(parameter: str, name: str, key: str) -> Obj:
    return {"parameter": parameter, "name": name, "key": key}


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a trigger is given, unwrapped."""

    env: dict[str, str]
    auth: dict[str, str]
    pod_identity: PodIdentity


async def resolve(
    world: World, trigger: Obj, target: str = "app", namespace: str = "default", **target_ref: str
) -> Given:
    """What the running operator gives a trigger of an object that it has never heard of; wrapped, each value of it."""
    assert world.operator is not None
    manifest = scaled_object("asker", trigger, scaleTargetRef={"name": target, **target_ref})
    manifest["metadata"]["namespace"] = namespace
    spec = build_spec(parse_object(ScaledObject, manifest))
    caches = world.operator.parts.caches
    reference = trigger.get("authenticationRef")
    if reference:
        is_cluster_wide = reference.get("kind", "").startswith("Cluster")
        informer = caches.cluster_authentications if is_cluster_wide else caches.authentications
        await eventually(lambda: informer.get("" if is_cluster_wide else namespace, reference["name"]))
    found = await world.operator.parts.resolver.resolve(spec, 0)
    shown = {repr(text) for text in (*found.env.values(), *found.auth.values())}
    assert shown <= {repr(SecretStr("any")), repr(EMPTY)}, "a value that is not wrapped"
    return Given(env=plain(found.env), auth=plain(found.auth), pod_identity=found.pod_identity)
