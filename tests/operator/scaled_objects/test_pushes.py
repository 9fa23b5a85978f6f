"""Work that the cluster's own watch tells of: the workload wakes while time stands still, long before the next poll."""

import asyncio

import pytest
from aiohttp import web

from keda_py.kube.resources import CONFIG_MAPS, PODS, SECRETS, Obj
from keda_py.kube.transport import Request
from tests.builders import config_map, deployment, metadata, metrics_api, scaled_object, secret
from tests.waiting import eventually
from tests.worlds.world import World

LONG = 3600
QUESTION = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/s0-configmap-depth-jobs"
ABOUT = {"labelSelector": "scaledobject.keda.sh/name=app"}


def waiting_pod(name: str, **labels: str) -> Obj:
    """One that no node takes."""
    spec = {"nodeSelector": {"no": "such-node"}, "containers": [{"name": "app", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name, labels=labels), "spec": spec}


def on_pods(selector: str) -> Obj:
    return {"type": "kubernetes-workload", "metadata": {"podSelector": selector, "value": "1"}}


def on_key(kind: str) -> Obj:
    keys = {"resourceKind": kind, "resourceName": "depth", "key": "jobs", "targetValue": "5"}
    return {"type": "kubernetes-resource", "metadata": keys}


async def asleep(world: World, trigger: Obj) -> None:
    await world.create(deployment(), scaled_object(trigger, pollingInterval=LONG, cooldownPeriod=0))
    await world.seconds(1)
    assert (world.replicas(), world.condition("Active")) == (0, ("False", "ScalerNotActive"))


async def test_a_pod_that_appears_wakes_the_workload_at_once(world: World) -> None:
    await asleep(world, on_pods("app=web"))
    now = world.clock.monotonic()
    await world.create(waiting_pod("other", app="db"), waiting_pod("web", app="web"))
    await eventually(lambda: world.replicas() == 1)
    assert world.clock.monotonic() == now


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
async def test_a_number_that_is_written_wakes_the_workload_at_once(world: World, kind: str) -> None:
    make, resource = (config_map, CONFIG_MAPS) if kind == "ConfigMap" else (secret, SECRETS)
    await world.create(make("depth", jobs="0"))
    await asleep(world, on_key(kind))
    now = world.clock.monotonic()
    await world.client.patch(resource.named("default", "depth"), {"data": make("depth", jobs="7")["data"]})
    await eventually(lambda: world.replicas() == 1)
    assert world.clock.monotonic() == now


async def test_an_object_that_was_not_there_wakes_the_workload_when_it_comes(world: World) -> None:
    await world.create(deployment(), scaled_object(on_key("ConfigMap"), pollingInterval=LONG))
    await world.seconds(1)
    assert world.replicas() == 0
    await world.create(config_map("depth", jobs="7"))
    await eventually(lambda: world.replicas() == 1)


async def test_work_that_is_told_of_during_a_look_does_not_wait_for_the_next_poll(quiet_world: World) -> None:
    """The look has read the one trigger, and waits for the other."""
    world, asked, answer = quiet_world, asyncio.Event(), asyncio.Event()
    world.operator.source_seconds = 30.0
    await world.operator.start()
    await world.create(config_map("depth", jobs="0"), deployment())
    await world.create(scaled_object(on_key("ConfigMap"), metrics_api(world.url), pollingInterval=LONG))
    await world.seconds(10)

    async def slow(_: web.Request) -> web.Response:
        asked.set()
        await answer.wait()
        return web.Response(text='{"value": 0}')

    async def is_told() -> bool:
        found = await world.client.send(Request(method="GET", path=QUESTION, query=ABOUT, resource="externalmetrics"))
        return bool(found["items"][0]["value"] == "7")

    world.server.answers["/jobs"] = slow
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.seconds(LONG))
        await asked.wait()
        await world.patch(CONFIG_MAPS, {"data": {"jobs": "7"}}, "depth")
        await eventually(is_told)
        assert world.replicas() == 0
        world.jobs(0)
        answer.set()
    assert world.replicas() == 1


async def test_pods_are_followed_again_when_the_workload_is_back_at_zero(world: World) -> None:
    await asleep(world, on_pods("app=web"))
    for _ in range(2):
        await world.create(waiting_pod("web", app="web"))
        await eventually(lambda: world.replicas() == 1)
        await world.delete(PODS, "web")
        await world.seconds(LONG)
        assert world.replicas() == 0


async def test_a_workload_at_its_idle_count_is_woken_too(world: World) -> None:
    counts = {"idleReplicaCount": 1, "minReplicaCount": 3, "cooldownPeriod": 0}
    await world.create(deployment(replicas=5), scaled_object(on_pods("app=web"), pollingInterval=LONG, **counts))
    await world.seconds(1)
    assert world.replicas() == 1
    await world.create(waiting_pod("web", app="web"))
    await eventually(lambda: world.replicas() == 3)
