from tests.localkube.controllers.world import Obj, World, workload


def namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}}


async def test_a_namespace_starts_with_an_account_and_the_root_certificate(world: World) -> None:
    world.create(namespace("shop"))
    await world.seconds(0)
    assert world.find("v1", "ServiceAccount", "default", "shop") is not None
    assert world.find("v1", "ConfigMap", "kube-root-ca.crt", "shop") is not None


async def test_a_deleted_namespace_is_emptied_and_goes(world: World) -> None:
    shop = world.create(namespace("shop"))
    body = workload(replicas=3)
    world.create({**body, "metadata": {"name": "web", "namespace": "shop"}})
    await world.seconds(2)
    world.delete(shop)
    await world.seconds(1)
    assert world.find("v1", "Namespace", "shop", "") is None
    assert world.plane.index.in_namespace("shop") == []


async def test_a_finalizer_holds_its_namespace_and_the_conditions_say_so(world: World) -> None:
    shop = world.create(namespace("shop"))
    metadata = {"name": "held", "namespace": "shop", "finalizers": ["example.com/hold"]}
    held = world.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    world.delete(shop)
    await world.seconds(1)
    conditions = {c["type"]: c for c in world.get("v1", "Namespace", "shop", "")["status"]["conditions"]}
    remaining = conditions["NamespaceContentRemaining"]
    assert (remaining["status"], remaining["message"]) == (
        "True",
        "Some resources are remaining: configmaps has 1 resource instances",
    )
    assert "example.com/hold in 1 resource instances" in conditions["NamespaceFinalizersRemaining"]["message"]
    assert conditions["NamespaceDeletionContentFailure"]["status"] == "False"
    world.edit(held, lambda o: {**o, "metadata": {**o["metadata"], "finalizers": []}})
    await world.seconds(1)
    assert world.find("v1", "Namespace", "shop", "") is None
