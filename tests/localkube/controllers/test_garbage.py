from tests.localkube.controllers.bare_cluster import BareCluster, Obj, behaving

KINDS = (("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod"))


def owned_config_map(name: str, *owners: Obj) -> Obj:
    references = [{key: o[key] for key in ("apiVersion", "kind")} | _named(o) for o in owners]
    metadata = {"name": name, "namespace": "default", "ownerReferences": references}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _named(owner: Obj) -> Obj:
    return {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}


def held(cluster: BareCluster) -> list[str]:
    return [kind for api_version, kind in KINDS for _ in cluster.all(api_version, kind)]


async def test_a_deployment_takes_everything_it_owns_along(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    cluster.delete(deployment)
    await cluster.seconds(0)
    assert held(cluster) == []


async def test_foreground_deletes_the_owner_last(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    (pod, _) = cluster.pods()
    cluster.edit(pod, lambda p: {**p, "metadata": {**p["metadata"], "finalizers": ["example.com/hold"]}})
    cluster.delete(deployment, "Foreground")
    await cluster.seconds(1)
    assert held(cluster) == ["Deployment", "ReplicaSet", "Pod"]
    cluster.edit(pod, lambda p: {**p, "metadata": {**p["metadata"], "finalizers": []}})
    await cluster.seconds(1)
    assert held(cluster) == []


async def test_orphaned_dependents_stay_without_their_owner(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=1))
    await cluster.seconds(2)
    cluster.delete(deployment, "Orphan")
    await cluster.seconds(1)
    assert held(cluster) == ["ReplicaSet", "Pod"]
    (replicaset,) = cluster.all("apps/v1", "ReplicaSet")
    assert "ownerReferences" not in replicaset["metadata"]


async def test_an_object_with_two_owners_outlives_one_of_them(cluster: BareCluster) -> None:
    first, second = cluster.create(owned_config_map("first")), cluster.create(owned_config_map("second"))
    cluster.create(owned_config_map("shared", first, second))
    cluster.delete(first)
    await cluster.seconds(0)
    shared = cluster.get("v1", "ConfigMap", "shared")
    assert [reference["name"] for reference in shared["metadata"]["ownerReferences"]] == ["second"]
    cluster.delete(second)
    await cluster.seconds(0)
    assert cluster.find("v1", "ConfigMap", "shared") is None


async def test_an_object_whose_owner_never_existed_is_deleted(cluster: BareCluster) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "0"}}
    cluster.create(owned_config_map("left", ghost))
    await cluster.seconds(0)
    assert cluster.find("v1", "ConfigMap", "left") is None


async def test_a_new_deployment_adopts_the_replicasets_of_a_deleted_one(cluster: BareCluster) -> None:
    deployment = cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    before = {pod["metadata"]["name"] for pod in cluster.pods()}
    cluster.delete(deployment, "Orphan")
    await cluster.seconds(1)
    cluster.create(behaving(replicas=2))
    await cluster.seconds(2)
    assert {pod["metadata"]["name"] for pod in cluster.pods()} == before
    assert cluster.get("apps/v1", "Deployment", "web")["status"]["readyReplicas"] == 2


async def test_a_replicaset_adopts_matching_pods_without_a_controller(cluster: BareCluster) -> None:
    replicaset = cluster.create(behaving("ReplicaSet", replicas=2))
    await cluster.seconds(2)
    before = {pod["metadata"]["name"] for pod in cluster.pods()}
    cluster.delete(replicaset, "Orphan")
    await cluster.seconds(1)
    cluster.create(behaving("ReplicaSet", replicas=2))
    await cluster.seconds(2)
    assert {pod["metadata"]["name"] for pod in cluster.pods()} == before
