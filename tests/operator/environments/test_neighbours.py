"""Two rules for one workload: it has one of them at a time, and its count is never lost between the two."""

import pytest

from keda_py.core.environment.decision.members import OverlayAsleep
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from keda_py.operator.environments.overlays import Overlays, SpecLayer
from tests.builders import deployment, environment, metrics_api, obj, scaled_object
from tests.operator.environments.builders import LUNCH, condition, labelled, status, until
from tests.worlds.world import World


def team(name: str) -> dict[str, dict[str, str]]:
    return {"matchLabels": {"team": name}}


async def test_a_sleeping_workload_that_moves_to_another_environment_takes_its_count_along(world: World) -> None:
    await world.create(labelled(deployment("web", 3), team="a"))
    for name in ("a", "b"):
        await world.create(environment(name, calendar=LUNCH, selector=team(name)))
    await until(world, 20, "12:06")
    assert world.replicas("web") == 0
    await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"team": "b"}}}, "web")
    await until(world, 20, "12:09")
    assert world.replicas("web") == 0
    assert status(world, "b")["members"]["Deployment/web"]["replicas"] == 3
    assert "members" not in status(world, "a")
    await until(world, 20, "12:14")
    assert world.replicas("web") == 3


async def test_an_older_environment_that_takes_a_sleeping_workload_gets_its_count_with_it(world: World) -> None:
    await world.create(labelled(deployment("web", 3), team="b"))
    await world.create(environment("a", calendar=LUNCH, selector=team("a")))
    await world.seconds(2)
    await world.create(environment("b", calendar=LUNCH))
    await until(world, 20, "12:06")
    assert status(world, "b")["members"]["Deployment/web"]["replicas"] == 3
    await world.patch(ENVIRONMENTS, {"spec": {"selector": team("b")}}, "a")
    await until(world, 20, "12:09")
    assert world.replicas("web") == 0
    assert status(world, "a")["members"]["Deployment/web"]["replicas"] == 3
    assert condition(world, "Conflict", "b") == ("True", "OwnedByAnother")
    await until(world, 20, "12:14")
    assert world.replicas("web") == 3


async def test_a_sleeping_scaled_object_that_moves_stays_asleep_and_wakes_with_the_other(world: World) -> None:
    world.jobs(10)
    body = labelled(scaled_object(metrics_api(world.url), pollingInterval=60), team="a")
    await world.create(deployment("app", 2), body)
    for name in ("a", "b"):
        await world.create(environment(name, calendar=LUNCH, selector=team(name)))
    await until(world, 20, "12:06")
    assert world.replicas() == 0
    await world.patch(SCALED_OBJECTS, {"metadata": {"labels": {"team": "b"}}})
    await until(world, 20, "12:09")
    assert (world.replicas(), status(world, "b")["phase"]) == (0, "Asleep")
    await until(world, 20, "12:14")
    assert world.replicas() > 0


@pytest.mark.parametrize("minimum", [0, 1])
async def test_nothing_scales_a_sleeping_scaled_object_up_while_it_moves(world: World, minimum: int) -> None:
    """It was given back by the one before the other had it, woke, and was "kept up by a person" for the night."""
    world.jobs(10)
    spec = {"pollingInterval": 1, "minReplicaCount": minimum}
    await world.create(deployment("app", 2), labelled(scaled_object(metrics_api(world.url), **spec), team="a"))
    for name in ("a", "b"):
        await world.create(environment(name, calendar=LUNCH, selector=team(name)))
    await until(world, 20, "12:06")
    assert world.replicas() == 0
    seen: set[int] = set()
    world.listen(lambda event: seen.add(world.replicas()))
    await world.patch(SCALED_OBJECTS, {"metadata": {"labels": {"team": "b"}}})
    await until(world, 20, "12:09")
    assert seen == {0}
    assert status(world, "b")["members"]["ScaledObject/app"]["stage"] == "Down"
    assert "members" not in status(world, "a")
    await until(world, 20, "12:14")
    assert world.replicas() > 0
    assert "members" not in status(world, "b")


async def test_a_sleeping_scaled_object_that_moves_to_an_environment_that_is_awake_wakes(world: World) -> None:
    world.jobs(10)
    await world.create(
        deployment("app", 2), labelled(scaled_object(metrics_api(world.url), pollingInterval=1), team="a")
    )
    always = {"timeZone": "UTC", "hours": [{"from": "00:00", "to": "24:00"}]}
    for name, calendar in (("a", LUNCH), ("b", always)):
        await world.create(environment(name, calendar=calendar, selector=team(name)))
    await until(world, 20, "12:06")
    assert world.replicas() == 0
    await world.patch(SCALED_OBJECTS, {"metadata": {"labels": {"team": "b"}}})
    await until(world, 20, "12:08")
    assert world.replicas() > 0
    assert not status(world, "a").get("members")
    assert not status(world, "b").get("members")


def test_what_one_environment_lays_is_not_taken_off_by_another() -> None:
    told: list[ObjectKey] = []
    overlays, key = Overlays(), ObjectKey("ScaledObject", "default", "app")
    overlays.subscribe(told.append)
    asleep = SpecLayer(OverlayAsleep(), "asleep by environment b")
    overlays.put(key, SpecLayer(OverlayAsleep(), "asleep by environment a"), "a")
    overlays.put(key, asleep, "b")
    overlays.put(key, None, "a")
    overlays.put(key, asleep, "b")
    assert len(told) == 2
    overlays.put(key, None, "b")
    assert len(told) == 3


async def test_an_hpa_of_its_owner_is_disabled_at_night_and_scales_again_in_the_morning(world: World) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, "metrics": [cpu]}
    await world.create(deployment("web", 1), obj("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec=spec))
    await world.create(environment(calendar=LUNCH))
    await until(world, 20, "12:03")
    assert world.replicas("web") == 2
    await until(world, 20, "12:05")
    written = world.writes_of(DEPLOYMENTS, "web")
    await until(world, 20, "12:09")
    assert (world.replicas("web"), written, condition(world, "Asleep")[0]) == (0, [], "True")
    await until(world, 20, "12:12")
    assert (world.replicas("web"), status(world)["phase"], status(world).get("members")) == (2, "Awake", None)
    found = {one["type"]: one["reason"] for one in world.get(HORIZONTAL_POD_AUTOSCALERS, "web")["status"]["conditions"]}
    assert found["AbleToScale"] != "FailedGetScale"
    await world.patch(HORIZONTAL_POD_AUTOSCALERS, {"spec": {"minReplicas": 3}}, "web")
    await until(world, 20, "12:14")
    assert world.replicas("web") == 3
