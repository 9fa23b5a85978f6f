"""ScalingSchedules: other bounds by day, without a change of the ScaledObject."""

from typing import Any

from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, SCALING_SCHEDULES, Obj
from tests.builders import deployment, environment, metrics_api, scaled_object, scaling_schedule
from tests.operator.environments.builders import LUNCH, until
from tests.worlds.world import HPA, World

LATE = {"name": "late", "hours": [{"from": "12:04", "to": "12:10"}]}


def late(name: str = "bounds", **period: Any) -> Obj:
    """Holds from 12:04 to 12:10."""
    return scaling_schedule(name, timeZone="UTC", names=["app"], periods=[{**LATE, **period}])


def bounds(world: World) -> tuple[int, int]:
    spec = world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


async def populate(world: World, *more: Obj) -> None:
    world.jobs(10)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=60), *more)
    await world.seconds(70)


async def test_bounds_hold_while_their_period_lasts_and_the_manifests_otherwise(world: World) -> None:
    await populate(world, late(minReplicas=2, maxReplicas=3))
    before = world.get(SCALED_OBJECTS)["spec"]
    assert bounds(world) == (1, 5)
    told = world.get(SCALING_SCHEDULES, "bounds")["status"]
    assert (told["period"], told["nextChange"]["to"], told["scaledObjects"]) == ("otherwise", "late", 1)
    await until(world, 20, "12:05")
    assert bounds(world) == (2, 3)
    assert world.get(SCALING_SCHEDULES, "bounds")["status"]["period"] == "late"
    await until(world, 20, "12:11")
    assert bounds(world) == (1, 5)
    assert world.get(SCALED_OBJECTS)["spec"] == before


async def test_an_exact_count_leaves_no_room_for_a_tolerance(world: World) -> None:
    await populate(world, late(replicas=4))
    await until(world, 20, "12:06")
    assert (bounds(world), world.replicas()) == ((4, 4), 4)


async def test_after_a_restart_the_bounds_are_known_before_the_first_look(world: World) -> None:
    await populate(world, late(replicas=4))
    await until(world, 20, "12:06")
    hpas = world.writes_of(HORIZONTAL_POD_AUTOSCALERS, HPA)
    await world.operator.kill()
    await world.operator.start()
    await world.seconds(120)
    assert {one["spec"]["maxReplicas"] for one in hpas} <= {4}


async def test_a_schedule_that_is_deleted_gives_the_manifest_back(world: World) -> None:
    await populate(world, late(minReplicas=2, maxReplicas=3))
    await until(world, 20, "12:05")
    await world.delete(SCALING_SCHEDULES, "bounds")
    await world.seconds(70)
    assert bounds(world) == (1, 5)


async def test_of_two_schedules_the_older_rules_and_the_newer_says_so(world: World) -> None:
    await populate(world, late("first", maxReplicas=3))
    await world.seconds(10)
    await world.create(late("second", maxReplicas=2))
    await until(world, 20, "12:05")
    assert bounds(world) == (1, 3)
    newer = {one["type"]: one["status"] for one in world.get(SCALING_SCHEDULES, "second")["status"]["conditions"]}
    assert newer["Conflict"] == "True"


async def test_an_environment_lies_over_a_schedule(world: World) -> None:
    await populate(world, late(replicas=4), environment(calendar=LUNCH))
    await until(world, 20, "12:06")
    assert world.replicas() == 0
