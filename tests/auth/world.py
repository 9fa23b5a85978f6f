"""The embedded cluster with the very operator on it, in real time, and what a test wants to know of them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.clock import Clock, SystemClock
from keda_py.core.spec import build_spec
from keda_py.kube.resources import Obj
from keda_py.net.secret_texts import EMPTY, plain
from keda_py.operator.assembly import Assembly
from keda_py.sdk.scaler import PodIdentity
from tests.builders import scaled_object
from tests.operators import running_operator
from tests.waiting import eventually
from tests.worlds.world import World as InProcess
from tests.worlds.world import open_cluster


@dataclass(kw_only=True)
class World(InProcess):
    """A cluster in which somebody works with kubectl; `operator` is None before `started`."""

    operator: Assembly | None = None

    async def apply(self, *manifests: Obj) -> None:
        await self.cluster.apply(manifests)


@asynccontextmanager
async def open_world(folder: Path, clock: Clock | None = None) -> AsyncIterator[World]:
    """A cluster that knows our kinds."""
    async with open_cluster(folder, clock or SystemClock()) as opened:
        yield World(cluster=opened.cluster, client=opened.client, kubeconfig=opened.kubeconfig)


@asynccontextmanager
async def started(world: World, env: Mapping[str, str] | None = None, **flags: str) -> AsyncIterator[Assembly]:
    """The operator at work; `flags` with underscores."""
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    given = {"kubeconfig": str(world.kubeconfig), **named}
    async with running_operator(given, env or {}, world.cluster.clock) as assembly:
        world.operator = assembly
        yield assembly


def redis_trigger(authentication: str = "", kind: str = "", **metadata: str) -> Obj:
    trigger: Obj = {"type": "redis", "metadata": {"listName": "jobs", "listLength": "5", **metadata}}
    if authentication:
        trigger["authenticationRef"] = {"name": authentication, **({"kind": kind} if kind else {})}
    return trigger


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
    manifest = scaled_object(trigger, name="asker", namespace=namespace, scaleTargetRef={"name": target, **target_ref})
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
