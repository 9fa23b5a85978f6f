"""Members of other kinds with a scale subresource: named by `kinds`, or as targets of ScaledObjects."""

import asyncio
from pathlib import Path
from typing import Any

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, REPLICA_SETS, SCALED_OBJECTS, Obj
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import box_definition, boxen, deployment, environment, metrics_api, obj, scaled_object
from tests.http_server import http_server
from tests.operator.cluster.test_blindness import BINDINGS, CLUSTER_ROLES, EVERYTHING, OPERATOR, binding, role
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.worlds.world import World, open_world

GROUP = "example.com"
BOXEN = boxen(GROUP)
BOX = {"apiVersion": f"{GROUP}/v1", "kind": "Box"}


async def begin(world: World, *objects: Obj, **spec: Any) -> None:
    await world.create(box_definition(GROUP))
    await world.seconds(5)
    for name, size in (("one", 3), ("two", 2)):
        body = obj(BOX["apiVersion"], "Box", name, spec={"size": size})
        await world.client.create(BOXEN, {**body, "metadata": {"name": name, "namespace": "default"}})
    await world.create(*objects, environment(calendar=LUNCH, **spec))
    await until(world, 20, "12:03")


def size(world: World, name: str) -> int:
    found: int = world.get(BOXEN, name)["spec"]["size"]
    return found


async def test_a_kind_that_is_named_sleeps_and_wakes_with_its_counts(world: World) -> None:
    await begin(world, kinds=[BOX])
    assert status(world)["membersTotal"] == 2
    await until(world, 20, "12:05")
    assert (size(world, "one"), size(world, "two"), status(world)["phase"]) == (0, 0, "Asleep")
    await world.operator.kill()
    await world.operator.start()
    await until(world, 20, "12:11")
    assert (size(world, "one"), size(world, "two")) == (3, 2)


async def test_a_member_without_a_count_is_named_with_the_field_that_it_lacks(world: World) -> None:
    await begin(world, kinds=[BOX])
    await world.patch(BOXEN, {"spec": {"size": None}}, "one")
    await until(world, 20, "12:05")
    (up,) = status(world)["stillUp"]
    assert (up["member"], up["reason"]) == ("Box/one", "CountUnknown")
    assert up["because"].startswith('its count could not be read: boxen.example.com "one" has no spec.size')
    await world.patch(BOXEN, {"spec": {"size": 4}}, "one")
    await world.seconds(5)
    assert (size(world, "one"), status(world)["phase"]) == (0, "Asleep")


async def test_what_a_person_scales_up_at_night_is_seen_whatever_its_kind(world: World) -> None:
    await begin(world, kinds=[BOX])
    await until(world, 20, "12:05")
    await world.patch(BOXEN, {"spec": {"size": 4}}, "one")
    await world.seconds(5)
    assert (size(world, "one"), status(world)["phase"]) == (4, "FallingAsleep")
    assert [(up["member"], up["reason"]) for up in status(world)["stillUp"]] == [("Box/one", "KeptUp")]


async def test_a_kind_is_watched_as_long_as_an_environment_names_it_and_anew_when_one_does_again(world: World) -> None:
    def watched() -> int:
        names = [task.get_name() for task in asyncio.all_tasks()]
        return names.count("informer further boxen")

    await begin(world, kinds=[BOX])
    assert watched() == 1
    await world.patch(ENVIRONMENTS, {"spec": {"kinds": []}}, "dev")
    await world.seconds(5)
    assert (watched(), status(world).get("membersTotal", 0)) == (0, 0)
    await world.patch(ENVIRONMENTS, {"spec": {"kinds": [BOX]}}, "dev")
    await world.seconds(5)
    assert (watched(), status(world)["membersTotal"]) == (1, 2)
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(5)
    assert watched() == 0


async def test_a_kind_that_is_not_there_is_told_and_the_others_sleep(world: World) -> None:
    crate = {"apiVersion": f"{GROUP}/v1", "kind": "Crate"}
    await begin(world, kinds=[BOX, crate])
    told = next(one for one in status(world)["conditions"] if one["type"] == "Valid")
    assert (told["status"], told["reason"]) == ("False", "KindUnknown")
    assert told["message"].startswith("spec.kinds[1]: the cluster has no Crate of example.com/v1")
    await until(world, 20, "12:05")
    assert size(world, "one") == 0


async def test_a_scaled_object_sleeps_and_wakes_although_its_kind_is_named_and_may_not_be_listed(
    tmp_path: Path,
) -> None:
    names = ("apiregistration", "events", "coordination", "discovery", "authentication", "authorization")
    ours = ("keda.sh", "eventing.keda.sh", "keda-py.dev")
    groups = ("", "apps", "batch", "autoscaling", *ours, *(f"{name}.k8s.io" for name in names))
    rules = [
        {**EVERYTHING, "apiGroups": groups},
        {"apiGroups": [GROUP], "resources": ["boxen", "boxen/scale"], "verbs": ["get", "update", "patch"]},
    ]
    async with (
        http_server() as server,
        open_world(tmp_path, server, options=ClusterOptions(enforce_rbac=True), tls=True) as world,
    ):
        world.operator.user = OPERATOR
        for resource, body in ((CLUSTER_ROLES, role(rules)), (BINDINGS, binding())):
            await world.client.create(resource, body)
        await world.operator.start()
        world.jobs(10)
        box = {"scaleTargetRef": {**BOX, "name": "one"}, "pollingInterval": 60}
        await begin(world, scaled_object(metrics_api(world.url), **box), kinds=[BOX])
        assert condition(world, "Valid") == ("False", "KindUnknown")
        await until(world, 20, "12:05")
        assert (size(world, "one"), status(world)["phase"]) == (0, "Asleep")
        await until(world, 20, "12:11")
        assert size(world, "one") == 1  # without a selector no HPA scales a Box further


async def test_a_scaled_object_of_another_kind_sleeps_and_leaves_its_count_when_it_goes(world: World) -> None:
    world.jobs(10)
    box = {"scaleTargetRef": {**BOX, "name": "one"}, "pollingInterval": 60}
    await begin(world, scaled_object(metrics_api(world.url), **box))
    assert (condition(world, "Valid")[0], status(world)["membersTotal"]) == ("True", 1)
    await until(world, 20, "12:05")
    assert (size(world, "one"), size(world, "two")) == (0, 2)
    assert status(world)["members"]["ScaledObject/app"]["replicas"] == 3
    await world.delete(SCALED_OBJECTS, "app")
    await world.seconds(90)
    assert size(world, "one") == 3  # a Box is no member by itself, so that nothing else would wake it
    assert status(world).get("members", {}) == {}


async def test_replica_sets_of_deployments_are_scaled_by_those_alone(world: World) -> None:
    kinds = [{"apiVersion": "apps/v1", "kind": "ReplicaSet"}]
    await world.create(deployment("web", 3), environment(calendar=LUNCH, kinds=kinds))
    await world.seconds(30)
    assert status(world)["membersTotal"] == 1
    await world.patch(DEPLOYMENTS, {"metadata": {"annotations": {"keda-py.dev/exclude": "true"}}}, "web")
    written = world.writes_of(REPLICA_SETS, world.all(REPLICA_SETS, "default")[0]["metadata"]["name"])
    await until(world, 20, "12:08")
    assert (world.replicas("web"), len(written)) == (3, 0)
