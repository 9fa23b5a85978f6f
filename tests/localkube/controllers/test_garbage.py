from tests.localkube.controllers.world import Obj, World, workload

KINDS = (("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod"))


def config_map(name: str, *owners: Obj) -> Obj:
    references = [{key: o[key] for key in ("apiVersion", "kind")} | _named(o) for o in owners]
    metadata = {"name": name, "namespace": "default", "ownerReferences": references}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _named(owner: Obj) -> Obj:
    return {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}


def held(world: World) -> list[str]:
    return [kind for api_version, kind in KINDS for _ in world.all(api_version, kind)]


async def test_a_deployment_takes_everything_it_owns_along(world: World) -> None:
    deployment = world.create(workload(replicas=2))
    await world.seconds(2)
    world.delete(deployment)
    await world.seconds(0)
    assert held(world) == []


async def test_foreground_deletes_the_owner_last(world: World) -> None:
    deployment = world.create(workload(replicas=2))
    await world.seconds(2)
    (pod, _) = world.pods()
    world.edit(pod, lambda p: {**p, "metadata": {**p["metadata"], "finalizers": ["example.com/hold"]}})
    world.delete(deployment, "Foreground")
    await world.seconds(1)
    assert held(world) == ["Deployment", "ReplicaSet", "Pod"]
    world.edit(pod, lambda p: {**p, "metadata": {**p["metadata"], "finalizers": []}})
    await world.seconds(1)
    assert held(world) == []


async def test_orphaned_dependents_stay_without_their_owner(world: World) -> None:
    deployment = world.create(workload(replicas=1))
    await world.seconds(2)
    world.delete(deployment, "Orphan")
    await world.seconds(1)
    assert held(world) == ["ReplicaSet", "Pod"]
    (replicaset,) = world.all("apps/v1", "ReplicaSet")
    assert "ownerReferences" not in replicaset["metadata"]


async def test_an_object_with_two_owners_outlives_one_of_them(world: World) -> None:
    first, second = world.create(config_map("first")), world.create(config_map("second"))
    world.create(config_map("shared", first, second))
    world.delete(first)
    await world.seconds(0)
    shared = world.get("v1", "ConfigMap", "shared")
    assert [reference["name"] for reference in shared["metadata"]["ownerReferences"]] == ["second"]
    world.delete(second)
    await world.seconds(0)
    assert world.find("v1", "ConfigMap", "shared") is None


async def test_an_object_whose_owner_never_was_goes_too(world: World) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "0"}}
    world.create(config_map("left", ghost))
    await world.seconds(0)
    assert world.find("v1", "ConfigMap", "left") is None


async def test_a_new_deployment_takes_in_what_the_old_one_left(world: World) -> None:
    deployment = world.create(workload(replicas=2))
    await world.seconds(2)
    before = {pod["metadata"]["name"] for pod in world.pods()}
    world.delete(deployment, "Orphan")
    await world.seconds(1)
    world.create(workload(replicas=2))
    await world.seconds(2)
    assert {pod["metadata"]["name"] for pod in world.pods()} == before
    assert world.get("apps/v1", "Deployment", "web")["status"]["readyReplicas"] == 2


async def test_a_replicaset_takes_in_pods_that_fit_and_belong_to_nobody(world: World) -> None:
    replicaset = world.create(workload("ReplicaSet", replicas=2))
    await world.seconds(2)
    before = {pod["metadata"]["name"] for pod in world.pods()}
    world.delete(replicaset, "Orphan")
    await world.seconds(1)
    world.create(workload("ReplicaSet", replicas=2))
    await world.seconds(2)
    assert {pod["metadata"]["name"] for pod in world.pods()} == before
