"""The operator is put to sleep by no Environment of its namespace, however it was installed."""

import pytest

from keda_py.kube.resources import OVERRIDES
from keda_py.operator.environments.known.own_pod import OwnPod
from tests.builders import cron, deployment, environment, override, scaled_object
from tests.operator.environments.builders import LUNCH, status, until
from tests.worlds.world import World

OWN = {"POD_NAME": "operator-7d9c8b6f5-x2k9q", "POD_NAMESPACE": "default"}
LONG = "an-operator-with-a-name-that-is-longer-than-all-pods-may-be"


@pytest.mark.parametrize(
    ("pod", "kind", "name", "own"),
    [
        ("keda-operator-7d9c8b6f5-x2k9q", "Deployment", "keda-operator", True),
        ("keda-operator-7d9c8b6f5-x2k9q", "Deployment", "keda", False),
        ("keda-operator-7d9c8b6f5-x2k9q", "Deployment", "keda-operator-7d9c8b6f5", False),
        ("keda-operator-7d9c8b6f5-x2k9q", "StatefulSet", "keda-operator", False),
        ("keda-0", "StatefulSet", "keda", True),
        ("keda-0", "Deployment", "keda", False),
        (f"{LONG}-7d9c8b6f5-"[:58] + "x2k9q", "Deployment", LONG, True),
        (f"{LONG[:50]}-7d9c8b6f5-"[:58] + "x2k9q", "Deployment", LONG[:50], True),
        (f"{LONG[:50]}-7d9c8b6f5-"[:58] + "x2k9q", "Deployment", "web", False),
        ("", "Deployment", "keda", False),
    ],
)
def test_a_workload_is_known_by_the_name_of_its_pod(pod: str, kind: str, name: str, own: bool) -> None:
    assert OwnPod("keda", pod).is_of(kind, "keda", name) is own
    assert not OwnPod("keda", pod).is_of(kind, "shop", name)


async def test_the_operator_is_no_member_and_neither_is_a_scaled_object_of_it(quiet_world: World) -> None:
    world = quiet_world
    world.operator.env |= OWN
    await world.operator.start()
    await world.create(deployment("web", 2), deployment("operator", 2), environment(calendar=LUNCH))
    await world.seconds(5)
    assert status(world)["ready"] == "1/1"
    await until(world, 20, "12:06")
    assert (world.replicas("web"), world.replicas("operator")) == (0, 2)
    target = {"scaleTargetRef": {"name": "operator"}, "minReplicaCount": 1}
    await world.create(scaled_object(cron("0 8 * * *", "0 20 * * *"), **target))
    await world.seconds(30)
    assert (world.replicas("operator") > 0, status(world)["membersTotal"]) == (True, 1)


@pytest.mark.parametrize("kind", ["ScaledObject", "Deployment"])
async def test_no_override_rules_a_scaled_object_of_the_operator(quiet_world: World, kind: str) -> None:
    world = quiet_world
    world.operator.env |= OWN
    await world.operator.start()
    minimum = {"scaleTargetRef": {"name": "operator"}, "minReplicaCount": 1}
    await world.create(deployment("operator", 2), scaled_object(cron("0 8 * * *", "0 20 * * *"), **minimum))
    name = "app" if kind == "ScaledObject" else "operator"
    await world.create(override(target={"kind": kind, "name": name}, state="Asleep"))
    await world.seconds(30)
    assert world.replicas("operator") > 0
    told = world.get(OVERRIDES, "evening")["status"]
    assert (told["phase"], "the operator itself runs in" in told["because"]) == ("Invalid", True)
    await world.operator.kill()
    await world.operator.start()
    await world.seconds(30)
    assert world.replicas("operator") > 0
