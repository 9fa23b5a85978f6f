"""ScaledObjects of an Environment: asleep whatever their triggers say, and as their owners wrote them afterwards.

It is closed from 12:04 to 12:10.
"""

import pytest

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, SCALED_OBJECTS
from tests.builders import deployment, environment, metrics_api, scaled_object
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.worlds.world import HPA, World


async def awake(world: World, **spec: object) -> None:
    """A ScaledObject with work, under an Environment that is about to fall asleep."""
    world.jobs(10)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=60))
    await world.create(environment(calendar=LUNCH, **spec))
    await until(world, 20, "12:03")
    assert world.replicas() >= 1


async def test_it_sleeps_though_its_trigger_is_active_and_wakes_afterwards(world: World) -> None:
    await awake(world)
    await until(world, 20, "12:05")
    assert (world.replicas(), world.hpa(HPA)) == (0, None)
    assert world.full_condition("Paused") == (
        *("True", "ScaledObjectPaused"),
        "ScaledObject is paused: asleep by environment dev until 2026-11-20T12:10:00Z (its own hours)",
    )
    assert world.full_condition("Active") == (
        *("False", "AsleepByEnvironment"),
        "Scaling is not performed: asleep by environment dev until 2026-11-20T12:10:00Z (its own hours)",
    )
    assert world.full_condition("Ready") == ("True", "ScaledObjectReady", "ScaledObject is paused")
    assert world.status()["kedaPy"]["nextChange"] == "2026-11-20T12:10:00Z"
    assert (status(world)["phase"], status(world)["ready"]) == ("Asleep", "0/1")
    await until(world, 20, "12:12")
    assert world.replicas() >= 1
    assert world.hpa(HPA) is not None
    assert world.condition("Paused")[0] == "False"
    assert world.condition("Active") == ("True", "ScalerActive")
    assert condition(world, "Ready") == ("True", "AllReady")


async def test_a_workload_under_a_scaled_object_is_no_member_of_its_own(world: World) -> None:
    await awake(world)
    assert status(world)["ready"] == "1/1"


async def test_what_a_person_scales_up_while_asleep_is_not_taken_down_at_once(world: World) -> None:
    await awake(world)
    await until(world, 20, "12:06")
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 2}})
    await world.seconds(60)
    assert world.replicas() == 2
    assert status(world)["members"]["ScaledObject/app"]["stage"] == "Kept"
    assert world.condition("Active") == ("False", "HeldByEnvironment")
    await world.operator.kill()
    await world.operator.start()
    await world.annotate({"example.com/touched": "yes"})
    await until(world, 20, "12:09")
    assert world.replicas() == 2


async def test_after_a_restart_while_asleep_no_first_look_wakes_it(world: World) -> None:
    await awake(world)
    await until(world, 20, "12:06")
    counts = world.writes_of(DEPLOYMENTS)
    await world.operator.kill()
    await world.operator.start()
    await world.seconds(200)
    assert {one["spec"]["replicas"] for one in counts} <= {0}


async def test_a_scaled_object_that_is_deleted_while_asleep_leaves_its_count_to_its_workload(world: World) -> None:
    await awake(world)
    count = world.replicas()
    await until(world, 20, "12:06")
    await world.delete(SCALED_OBJECTS, "app")
    await world.seconds(60)
    assert (world.replicas(), status(world)["ready"]) == (0, "0/1")
    assert status(world)["members"]["Deployment/app"]["replicas"] == count
    await until(world, 20, "12:11")
    assert world.replicas() == count


async def test_deleted_while_asleep_the_environment_lets_its_triggers_rule_again(world: World) -> None:
    await awake(world)
    await until(world, 20, "12:06")
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(60)
    assert world.replicas() >= 1
    assert world.find(ENVIRONMENTS, "dev") is None


@pytest.mark.parametrize("jobs", [0, 10])
async def test_with_triggers_wake_an_active_trigger_wakes_it_and_that_alone(world: World, jobs: int) -> None:
    await world.create(deployment("other", 2))
    await awake(world, asleep={"triggersWake": True})
    world.jobs(0)
    await until(world, 20, "12:06")
    assert (world.replicas(), world.replicas("other")) == (0, 0)
    world.jobs(jobs)
    await until(world, 20, "12:09")
    assert ((world.replicas() > 0), world.replicas("other")) == ((jobs > 0), 0)
