from tests.localkube.controllers.bare_cluster import BareCluster, behaving


async def test_pods_are_made_one_after_the_other(cluster: BareCluster) -> None:
    cluster.create(behaving("StatefulSet", name="db", replicas=3, startup_seconds="5"))
    await cluster.seconds(3)
    assert [pod["metadata"]["name"] for pod in cluster.pods()] == ["db-0"]
    await cluster.seconds(15)
    assert [pod["metadata"]["name"] for pod in cluster.pods()] == ["db-0", "db-1", "db-2"]
    status = cluster.get("apps/v1", "StatefulSet", "db")["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (3, 3, 3)


async def test_the_highest_number_goes_first(cluster: BareCluster) -> None:
    statefulset = cluster.create(behaving("StatefulSet", name="db", replicas=3))
    await cluster.seconds(5)
    cluster.scale(statefulset, 1)
    await cluster.seconds(5)
    assert [pod["metadata"]["name"] for pod in cluster.pods()] == ["db-0"]
    cluster.scale(statefulset, 0)
    await cluster.seconds(5)
    assert cluster.pods() == []
    assert cluster.get("apps/v1", "StatefulSet", "db")["status"]["replicas"] == 0


async def test_a_parallel_set_makes_all_pods_at_once(cluster: BareCluster) -> None:
    body = behaving("StatefulSet", name="db", replicas=3, startup_seconds="60")
    cluster.create({**body, "spec": {**body["spec"], "podManagementPolicy": "Parallel"}})
    await cluster.seconds(1)
    assert len(cluster.pods()) == 3


async def test_a_new_template_replaces_every_pod(cluster: BareCluster) -> None:
    statefulset = cluster.create(behaving("StatefulSet", name="db", replicas=2))
    await cluster.seconds(5)
    before = {pod["metadata"]["uid"] for pod in cluster.pods()}
    template = statefulset["spec"]["template"]
    labels = {**template["metadata"]["labels"], "release": "2"}
    changed = {**template, "metadata": {**template["metadata"], "labels": labels}}
    cluster.edit(statefulset, lambda s: {**s, "spec": {**s["spec"], "template": changed}})
    await cluster.seconds(10)
    assert [pod["metadata"]["labels"]["release"] for pod in cluster.pods()] == ["2", "2"]
    assert not before & {pod["metadata"]["uid"] for pod in cluster.pods()}
