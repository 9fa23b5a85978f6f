from keda_py.localkube.store.custom_resources import CustomResources
from tests.localkube.controllers.world import Obj, World


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


async def test_a_deleted_definition_waits_for_its_instances_finalizers(world: World) -> None:
    CustomResources(world.store)
    crd = world.create(definition())
    await world.seconds(0)
    metadata = {"name": "r2", "namespace": "default", "finalizers": ["example.com/hold"]}
    robot = world.create({"apiVersion": "example.com/v1", "kind": "Robot", "metadata": metadata})
    world.create({**robot, "metadata": {"name": "free", "namespace": "default"}})
    world.delete(crd)
    await world.seconds(1)
    assert [o["metadata"]["name"] for o in world.all("example.com/v1", "Robot")] == ["r2"]
    assert world.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "") is not None
    world.edit(robot, lambda o: {**o, "metadata": {**o["metadata"], "finalizers": []}})
    await world.seconds(1)
    assert world.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "") is None
    assert world.store.resources.find("example.com", "v1", "robots") is None


async def test_a_definition_is_established_and_says_what_is_stored(world: World) -> None:
    CustomResources(world.store)
    world.create(definition())
    await world.seconds(0)
    status = world.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "robots.example.com", "")["status"]
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert (status["acceptedNames"]["plural"], status["storedVersions"]) == ("robots", ["v1"])
