"""An Override goes before the annotations of the same workload, and what they wake keeps to the cluster's budget."""

from typing import Any

import pytest

from keda_py.kube.resources import DEPLOYMENTS, OVERRIDES
from tests.builders import deployment, metrics_api, override, scaled_object
from tests.operator.downscaler.builders import NIGHT, ORIGINAL, mark_namespace, marked, obeying
from tests.operator.environments.builders import until
from tests.worlds.world import World


def about(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return override(target={"kind": kind, "name": name}, **spec)


def phase(world: World) -> str:
    return str(world.get(OVERRIDES, "evening")["status"]["phase"])


@pytest.mark.parametrize("kind", ["ScaledObject", "Deployment"])
async def test_awake_wakes_a_scaled_object_at_night_until_it_ends(quiet_world: World, kind: str) -> None:
    world = quiet_world
    world.jobs(10)
    await world.create(marked(deployment(), **NIGHT), scaled_object(metrics_api(world.url), pollingInterval=60))
    await obeying(world)
    await until(world, 20, "12:31")
    assert world.replicas() == 0
    await world.create(about(kind, "app", state="Awake", **{"for": "10m"}))
    await until(world, 20, "12:33")
    assert (world.replicas() >= 1, phase(world)) == (True, "Active")
    await until(world, 20, "12:42")
    assert (world.replicas(), phase(world)) == (0, "Ended")


async def test_a_workload_is_kept_up_put_down_and_left_alone_and_its_count_is_not_forgotten(quiet_world: World) -> None:
    world = quiet_world
    await world.create(deployment("web", 3))
    await obeying(world)
    await mark_namespace(world, **NIGHT)
    await until(world, 20, "12:20")
    await world.create(about("Deployment", "web", state="Asleep", **{"for": "5m"}))
    await world.seconds(5)
    assert (world.replicas("web"), phase(world)) == (0, "Active")
    assert world.get(DEPLOYMENTS, "web")["metadata"]["annotations"][ORIGINAL] == "3"
    await until(world, 20, "12:26")
    assert world.replicas("web") == 3
    await world.patch(OVERRIDES, {"spec": {"state": "Awake", "for": "12m"}}, "evening")
    await until(world, 20, "12:31")
    assert world.replicas("web") == 3
    await until(world, 20, "12:33")
    assert world.replicas("web") == 0
    await world.patch(OVERRIDES, {"spec": {"state": "Hold", "for": "40m"}}, "evening")
    await until(world, 20, "12:55")
    assert world.replicas("web") == 0
    await world.delete(OVERRIDES, "evening")
    await world.seconds(5)
    assert world.replicas("web") == 3


async def test_of_a_workload_that_annotations_rule_no_count_can_be_wished(quiet_world: World) -> None:
    world = quiet_world
    await world.create(marked(deployment("web", 3), **NIGHT), about("Deployment", "web", replicas=1))
    await obeying(world)
    await world.seconds(5)
    assert (world.replicas("web"), phase(world)) == (3, "Invalid")
    assert "know no such count; use state" in world.get(OVERRIDES, "evening")["status"]["because"]


async def test_what_annotations_wake_takes_turns_in_the_budget(quiet_world: World) -> None:
    world = quiet_world
    names = [f"web-{number}" for number in range(8)]
    first = marked(deployment("first", 1), **NIGHT)
    first["metadata"]["annotations"]["keda-py.dev/priority"] = "9"
    await world.create(*(marked(deployment(name, 1), **NIGHT) for name in names), first)
    world.operator.flags |= {"activations-per-second": "1"}
    await obeying(world)
    await until(world, 20, "12:45")
    assert sum(world.replicas(name) for name in names) == 0
    await until(world, 20, "12:50")
    await world.seconds(2.9)
    assert 1 <= sum(world.replicas(name) for name in names) <= 4
    assert world.replicas("first") == 1
    await world.seconds(10)
    assert all(world.replicas(name) == 1 for name in names)
