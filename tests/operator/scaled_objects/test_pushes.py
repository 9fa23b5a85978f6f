"""Work that the cluster's own watch tells of: the workload wakes while time stands still, long before the next poll."""

import pytest

from keda_py.kube.resources import CONFIG_MAPS, PODS, SECRETS, Obj
from tests.builders import config_map, deployment, metadata, scaled_object, secret
from tests.operator.world import World
from tests.waiting import eventually

LONG = 3600


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


async def test_pods_are_followed_again_when_the_workload_is_back_at_zero(world: World) -> None:
    await asleep(world, on_pods("app=web"))
    for _ in range(2):
        await world.create(waiting_pod("web", app="web"))
        await eventually(lambda: world.replicas() == 1)
        await world.delete(PODS, "web")
        await world.seconds(LONG)
        assert world.replicas() == 0
