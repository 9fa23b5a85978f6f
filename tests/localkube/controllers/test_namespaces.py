from tests.localkube.controllers.bare_cluster import BareCluster, Obj, behaving


def finalized(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}}


async def test_a_namespace_starts_with_an_account_and_the_root_certificate(cluster: BareCluster) -> None:
    cluster.create(finalized("shop"))
    await cluster.seconds(0)
    assert cluster.find("v1", "ServiceAccount", "default", "shop") is not None
    assert cluster.find("v1", "ConfigMap", "kube-root-ca.crt", "shop") is not None


async def test_a_deleted_namespace_is_emptied_and_goes(cluster: BareCluster) -> None:
    shop = cluster.create(finalized("shop"))
    body = behaving(replicas=3)
    cluster.create({**body, "metadata": {"name": "web", "namespace": "shop"}})
    await cluster.seconds(2)
    cluster.delete(shop)
    await cluster.seconds(1)
    assert cluster.find("v1", "Namespace", "shop", "") is None
    assert cluster.plane.index.in_namespace("shop") == []


async def test_a_finalizer_holds_its_namespace_and_the_conditions_say_so(cluster: BareCluster) -> None:
    shop = cluster.create(finalized("shop"))
    metadata = {"name": "held", "namespace": "shop", "finalizers": ["example.com/hold"]}
    held = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    cluster.delete(shop)
    await cluster.seconds(1)
    conditions = {c["type"]: c for c in cluster.get("v1", "Namespace", "shop", "")["status"]["conditions"]}
    remaining = conditions["NamespaceContentRemaining"]
    assert (remaining["status"], remaining["message"]) == (
        "True",
        "Some resources are remaining: configmaps has 1 resource instances",
    )
    assert "example.com/hold in 1 resource instances" in conditions["NamespaceFinalizersRemaining"]["message"]
    assert conditions["NamespaceDeletionContentFailure"]["status"] == "False"
    cluster.edit(held, lambda o: {**o, "metadata": {**o["metadata"], "finalizers": []}})
    await cluster.seconds(1)
    assert cluster.find("v1", "Namespace", "shop", "") is None
