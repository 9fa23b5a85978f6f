"""0 <-> 1 on virtual time: when the operator scales, when it does not, and what it says about it."""

from datetime import timedelta

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from keda_py.kube.transport import Request
from tests.builders import cron, deployment, metrics_api, scaled_object, workload
from tests.sweeps import size
from tests.worlds.actor import KINDS
from tests.worlds.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def world(room: World) -> World:
    return room


async def test_a_job_wakes_the_workload_at_the_next_poll(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=30))
    await world.seconds(60)
    assert (world.replicas(), world.condition("Active")) == (0, ("False", "ScalerNotActive"))
    world.jobs(1)
    await world.seconds(30)
    assert (world.replicas(), world.condition("Active")) == (1, ("True", "ScalerActive"))
    note = f"Scaled apps/v1.Deployment {world.namespace}/app from 0 to 1, triggered by s0-metric-api-value"
    assert ("KEDAScaleTargetActivated", note) in world.notes()


async def test_the_workload_sleeps_when_the_cooldown_is_over_and_not_a_second_before(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=300))
    await world.seconds(60)
    last = world.clock.now()
    heard = world.writes_of(DEPLOYMENTS)
    world.jobs(0)
    await world.seconds(285)
    assert (world.replicas(), world.condition("Active")) == (1, ("False", "ScalerCooldown"))
    await world.seconds(16)
    assert world.replicas() == 0
    assert world.clock.now() - last <= timedelta(seconds=301)
    assert world.condition("Active") == ("False", "ScalerNotActive")
    assert [version["spec"]["replicas"] for version in heard if version["spec"]["replicas"] == 0]


async def test_the_initial_cooldown_counts_from_the_objects_creation(world: World) -> None:
    wanted = scaled_object(metrics_api(world.url), initialCooldownPeriod=120, cooldownPeriod=0, pollingInterval=10)
    await world.create(deployment(replicas=1), wanted)
    await world.seconds(118)
    assert world.replicas() == 1
    await world.seconds(3)
    assert world.replicas() == 0


async def test_idle_and_minimum_are_the_two_floors(world: World) -> None:
    wanted = scaled_object(metrics_api(world.url), idleReplicaCount=1, minReplicaCount=3, cooldownPeriod=60)
    await world.create(deployment(replicas=5), wanted)
    await world.seconds(5)
    assert world.replicas() == 1
    world.jobs(1)
    await world.seconds(2)
    assert world.replicas() == 3
    world.jobs(0)
    await world.seconds(57)
    assert world.replicas() == 3
    await world.seconds(10)
    assert world.replicas() == 1


async def test_a_workload_below_its_minimum_is_raised_without_being_active(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), minReplicaCount=2))
    await world.seconds(2)
    assert (world.replicas(), world.condition("Active")) == (2, ("False", "ScalerNotActive"))
    assert "KEDAScaleTargetActivated" not in world.reasons()


async def test_a_schedule_fires_at_its_boundary_not_at_the_next_poll(alone: World) -> None:
    world = alone
    window = cron("30 12 * * *", "35 12 * * *", desired=1)
    await world.create(deployment(), scaled_object(window, pollingInterval=3600, cooldownPeriod=60))
    await world.seconds(30 * 60 - 1)
    assert world.replicas() == 0
    await world.seconds(1.5)
    assert world.replicas() == 1
    await world.seconds(5 * 60 + 58)
    assert world.replicas() == 1
    await world.seconds(2)
    assert world.replicas() == 0


async def test_force_activation_wakes_what_nothing_asks_for(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    await world.annotate({"autoscaling.keda.sh/force-activation": "true"})
    await world.seconds(2)
    assert world.replicas() == 1
    assert world.message("Active") == "Scaling is performed because activation is being forced by annotation"
    assert "from 0 to 1, caused by forced activation annotation" in dict(world.notes())["KEDAScaleTargetActivated"]


async def test_somebody_who_scales_by_hand_is_seen(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=300))
    await world.seconds(3)
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 0}})
    await world.seconds(3)
    assert world.replicas() == 1


async def test_between_one_and_many_the_operator_writes_no_scale(world: World) -> None:
    world.jobs(14)
    wanted = scaled_object(metrics_api(world.url, target=5), cooldownPeriod=300, pollingInterval=size(1, 30))
    await world.create(deployment(), wanted)
    await world.seconds(45)
    assert world.replicas() == 3
    world.jobs(30)
    await world.seconds(60)
    assert world.replicas() == 5
    world.jobs(1)
    await world.seconds(600)
    assert world.replicas() == 1
    assert world.reasons().count("KEDAScaleTargetActivated") == 1
    assert world.condition("HPAActive") == ("True", "HPAActive")


async def test_nothing_is_written_while_nothing_changes(world: World) -> None:
    world.jobs(1)
    wanted = scaled_object(metrics_api(world.url), cooldownPeriod=300, pollingInterval=size(1, 5))
    await world.create(deployment(), wanted)
    await world.seconds(60)
    versions = [world.get(kind)["metadata"]["resourceVersion"] for kind in (SCALED_OBJECTS, DEPLOYMENTS)]
    events = world.notes()
    asked = len(world.server.asked)
    await world.seconds(600)
    assert len(world.server.asked) > asked + size(500, 100)
    assert [world.get(kind)["metadata"]["resourceVersion"] for kind in (SCALED_OBJECTS, DEPLOYMENTS)] == versions
    assert world.notes() == events


async def test_a_wall_clock_set_forward_does_not_shorten_a_cooldown(alone: World) -> None:
    world = alone
    world.jobs(1)
    wanted = scaled_object(metrics_api(world.url), cooldownPeriod=300, pollingInterval=size(1, 10))
    await world.create(deployment(), wanted)
    await world.seconds(10)
    world.jobs(0)
    await world.seconds(10)
    world.clock.step(timedelta(hours=3))
    await world.seconds(280)
    assert world.replicas() == 1
    await world.seconds(12)
    assert world.replicas() == 0


async def test_the_hpas_question_is_an_observation_too(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=3600))
    await world.seconds(5)
    world.jobs(1)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{world.namespace}/s0-metric-api-value"
    query = {"labelSelector": "scaledobject.keda.sh/name=app"}
    answer = await world.client.send(Request(method="GET", path=path, query=query, resource="externalmetrics"))
    assert answer["items"][0]["value"] == "1"
    await world.seconds(0.1)
    assert world.replicas() == 1


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
async def test_every_cached_kind_of_workload_is_scaled(world: World, kind: str) -> None:
    world.jobs(1)
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "app"}
    await world.create(workload(kind), scaled_object(metrics_api(world.url), scaleTargetRef=target, cooldownPeriod=30))
    await world.seconds(2)
    assert world.replicas(resource=KINDS[kind]) == 1
    world.jobs(0)
    await world.seconds(40)
    assert world.replicas(resource=KINDS[kind]) == 0
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, "keda-hpa-app") is not None
