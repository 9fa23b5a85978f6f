from keda_py.localkube.store.custom_resources import CustomResources
from tests.localkube.controllers.bare_cluster import BareCluster, Obj


def definition() -> Obj:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Robot", "plural": "robots"},
        "versions": [version],
    }
    metadata = {"name": "robots.example.com"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


async def test_a_deleted_definition_waits_for_its_instances_finalizers(cluster: BareCluster) -> None:
    CustomResources(cluster.store)
    crd = cluster.create(definition())
    await cluster.seconds(0)
    metadata = {"name": "r2", "namespace": "default", "finalizers": ["example.com/hold"]}
    robot = cluster.create({"apiVersion": "example.com/v1", "kind": "Robot", "metadata": metadata})
    cluster.create({**robot, "metadata": {"name": "free", "namespace": "default"}})
    cluster.delete(crd)
    await cluster.seconds(1)
    assert [o["metadata"]["name"] for o in cluster.all("example.com/v1", "Robot")] == ["r2"]
    assert cluster.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "") is not None
    cluster.edit(robot, lambda o: {**o, "metadata": {**o["metadata"], "finalizers": []}})
    await cluster.seconds(1)
    assert cluster.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "") is None
    assert cluster.store.resources.find("example.com", "v1", "robots") is None


async def test_a_definition_is_established_and_lists_its_stored_versions(cluster: BareCluster) -> None:
    CustomResources(cluster.store)
    cluster.create(definition())
    await cluster.seconds(0)
    status = cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "")["status"]
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert (status["acceptedNames"]["plural"], status["storedVersions"]) == ("robots", ["v1"])
