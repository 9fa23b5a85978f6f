from tests.localkube.controllers.world import World, workload


async def test_pods_are_made_one_after_the_other(world: World) -> None:
    world.create(workload("StatefulSet", name="db", replicas=3, startup_seconds="5"))
    await world.seconds(3)
    assert [pod["metadata"]["name"] for pod in world.pods()] == ["db-0"]
    await world.seconds(15)
    assert [pod["metadata"]["name"] for pod in world.pods()] == ["db-0", "db-1", "db-2"]
    status = world.get("apps/v1", "StatefulSet", "db")["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (3, 3, 3)


async def test_the_highest_number_goes_first(world: World) -> None:
    statefulset = world.create(workload("StatefulSet", name="db", replicas=3))
    await world.seconds(5)
    world.scale(statefulset, 1)
    await world.seconds(5)
    assert [pod["metadata"]["name"] for pod in world.pods()] == ["db-0"]
    world.scale(statefulset, 0)
    await world.seconds(5)
    assert world.pods() == []
    assert world.get("apps/v1", "StatefulSet", "db")["status"]["replicas"] == 0


async def test_a_parallel_set_makes_all_pods_at_once(world: World) -> None:
    body = workload("StatefulSet", name="db", replicas=3, startup_seconds="60")
    world.create({**body, "spec": {**body["spec"], "podManagementPolicy": "Parallel"}})
    await world.seconds(1)
    assert len(world.pods()) == 3


async def test_a_new_template_replaces_every_pod(world: World) -> None:
    statefulset = world.create(workload("StatefulSet", name="db", replicas=2))
    await world.seconds(5)
    before = {pod["metadata"]["uid"] for pod in world.pods()}
    template = statefulset["spec"]["template"]
    labels = {**template["metadata"]["labels"], "release": "2"}
    changed = {**template, "metadata": {**template["metadata"], "labels": labels}}
    world.edit(statefulset, lambda s: {**s, "spec": {**s["spec"], "template": changed}})
    await world.seconds(10)
    assert [pod["metadata"]["labels"]["release"] for pod in world.pods()] == ["2", "2"]
    assert not before & {pod["metadata"]["uid"] for pod in world.pods()}
