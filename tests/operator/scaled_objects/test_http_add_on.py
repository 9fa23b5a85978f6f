"""KEDA's HTTP add-on with keda-py in KEDA's place: its ScaledObjects, its metrics, and the ticks of its streams."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, Obj
from keda_py.kube.transport import Request
from tests.builders import deployment, scaled_object
from tests.scalers.grpc.http_add_on import (
    GROUP,
    KIND,
    HttpAddOn,
    definition,
    http_add_on,
    http_scaled_object,
    its_scaled_object,
)
from tests.waiting import eventually
from tests.worlds.world import World

METRICS = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"
NAME = "s0-http-default_002Fshop"


@pytest.fixture
async def add_on() -> AsyncIterator[HttpAddOn]:
    async with http_add_on() as add_on:
        yield add_on


async def owned(world: World, name: str) -> Obj:
    """An HTTPScaledObject as it is stored."""
    await world.apply(http_scaled_object(name))
    stored = world.cluster.store
    found = stored.find(stored.resources.get(f"{GROUP}/v1alpha1", KIND), "default", name)
    assert found is not None
    return found


async def asleep(world: World, add_on: HttpAddOn, *names: str, **spec: Any) -> None:
    """ScaledObjects of the add-on without pending requests, their workloads at 0, and their streams open."""
    await world.apply(definition())
    for name in names:
        add_on.targets[f"default/{name}"] = 10
        await world.create(deployment(name), its_scaled_object(add_on.address, await owned(world, name), **spec))
    await world.seconds(5)
    await eventually(lambda: add_on.open_streams == len(names))
    assert {name: world.replicas(name) for name in names} == dict.fromkeys(names, 0)


async def value_of(world: World, metric: str, name: str = "shop") -> str:
    query = {"labelSelector": f"scaledobject.keda.sh/name={name}"}
    path = f"{METRICS}/{metric}"
    answer = await world.client.send(Request(method="GET", path=path, query=query, resource="externalmetrics"))
    return str(answer["items"][0]["value"])


async def test_a_request_wakes_its_workload_within_one_tick(world: World, add_on: HttpAddOn) -> None:
    await asleep(world, add_on, "shop")
    add_on.tick()
    began = world.clock.monotonic()
    add_on.pending["default/shop"] = 1
    add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    assert (add_on.ticks, world.clock.monotonic()) == (2, began), "it waited for another tick, or for a poll"


async def test_a_minute_of_ticks_with_work_delays_nothing_that_comes_after_it(world: World, add_on: HttpAddOn) -> None:
    await asleep(world, add_on, "shop", cooldownPeriod=30)
    add_on.pending["default/shop"] = 7
    for _ in range(300):
        add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    del add_on.pending["default/shop"]
    await world.seconds(60)
    assert world.replicas("shop") == 0
    add_on.pending["default/shop"] = 1
    add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    assert len(add_on.asked) < 60, "each old tick was answered with questions"


async def test_ticks_without_requests_ask_nothing_and_let_it_sleep(world: World, add_on: HttpAddOn) -> None:
    await asleep(world, add_on, "shop")
    asked = len(add_on.asked)
    for _ in range(50):
        add_on.tick()
    add_on.pending["default/shop"] = 1
    add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    assert len(add_on.asked) - asked <= 6


async def test_each_of_several_workloads_of_one_scaler_wakes_by_its_own_requests(
    world: World, add_on: HttpAddOn
) -> None:
    await asleep(world, add_on, "shop", "blog", "docs")
    add_on.pending = {"default/blog": 3}
    add_on.tick()
    await eventually(lambda: world.replicas("blog") == 1)
    assert (world.replicas("shop"), world.replicas("docs")) == (0, 0)


async def test_the_hpa_gets_pending_requests_and_the_target_of_the_http_scaled_object(
    world: World, add_on: HttpAddOn
) -> None:
    await asleep(world, add_on, "shop", maxReplicaCount=20)
    (metric,) = world.get(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-shop")["spec"]["metrics"]
    assert metric["external"]["target"] == {"type": "AverageValue", "averageValue": "10"}
    assert metric["external"]["metric"]["name"] == NAME
    add_on.pending["default/shop"] = 73
    add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    assert await value_of(world, NAME) == "73"
    await world.seconds(60)
    assert world.replicas("shop") == 8


async def test_concurrency_and_rate_of_an_interceptor_route_are_metrics_in_float(
    world: World, add_on: HttpAddOn
) -> None:
    add_on.targets["default/front"] = {"concurrency": 10, "rate": 4}
    keys = {"scalerAddress": add_on.address, "interceptorRoute": "front"}
    await world.create(
        deployment("shop"), scaled_object({"type": "external-push", "metadata": keys}, name="shop", pollingInterval=15)
    )
    await world.seconds(5)
    add_on.pending["default/front"], add_on.rates["default/front"] = 3, 2.25
    add_on.tick()
    await eventually(lambda: world.replicas("shop") == 1)
    assert await value_of(world, "s0-http_front_concurrency") == "3"
    assert await value_of(world, "s0-http_front_rate") == "2250m"
    external = [each["external"] for each in world.get(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-shop")["spec"]["metrics"]]
    assert [each["target"]["averageValue"] for each in external] == ["10", "4"]


async def test_the_interceptors_own_scaled_object_counts_the_requests_of_all(world: World, add_on: HttpAddOn) -> None:
    keys = {"scalerAddress": add_on.address, "interceptorTargetPendingRequests": "200"}
    trigger = {"type": "external", "metadata": keys}
    await world.create(
        deployment("interceptor", 1),
        scaled_object(trigger, name="interceptor", minReplicaCount=1, maxReplicaCount=50, pollingInterval=1),
    )
    add_on.pending = {"default/shop": 450, "default/blog": 50}
    await world.seconds(60)
    assert world.replicas("interceptor") == 3


async def test_an_object_that_the_scaler_does_not_know_yet_is_ready_once_it_does(
    world: World, add_on: HttpAddOn
) -> None:
    await world.apply(definition())
    await world.create(deployment("shop"), its_scaled_object(add_on.address, await owned(world, "shop")))
    await world.seconds(2)
    assert world.condition("Ready", "shop")[0] == "False"
    assert 'HTTPScaledObject.http.keda.sh "shop" not found' in world.message("Ready", "shop")
    add_on.targets["default/shop"] = 10
    await world.seconds(60)
    assert world.condition("Ready", "shop")[0] == "True"


async def test_a_scaler_that_comes_back_as_another_pod_wakes_it_again(world: World) -> None:
    async with http_add_on() as gone:
        await asleep(world, gone, "shop")
    port = int(gone.address.rpartition(":")[2])
    known = HttpAddOn(targets=gone.targets)
    async with http_add_on(port, known) as back:
        await eventually(lambda: back.open_streams == 1)
        back.pending["default/shop"] = 1
        back.tick()
        await eventually(lambda: world.replicas("shop") == 1)


@pytest.mark.parametrize("change", [{"maxReplicaCount": 3}, {"cooldownPeriod": 7, "minReplicaCount": 0}])
async def test_its_merge_patch_of_the_whole_object_is_taken(
    world: World, add_on: HttpAddOn, change: Mapping[str, int]
) -> None:
    """Its operator creates first, and merges the same body where the object exists."""
    await asleep(world, add_on, "shop")
    body = its_scaled_object(add_on.address, await owned(world, "shop"), **change)
    await world.patch(SCALED_OBJECTS, body, "shop")
    await world.seconds(5)
    assert world.condition("Ready", "shop")[0] == "True"
    assert change.items() <= world.get(SCALED_OBJECTS, "shop")["spec"].items()
