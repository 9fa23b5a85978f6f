from typing import Any

from tests.builders import obj
from tests.localkube.controllers.bare_cluster import BareCluster, behaving

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    body = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8000}], **spec}
    return obj("v1", "Service", name, "default", spec=body)


def slices(cluster: BareCluster) -> list[dict[str, Any]]:
    return cluster.all("discovery.k8s.io/v1", "EndpointSlice")


async def test_pods_are_endpoints_and_ready_once_they_are(cluster: BareCluster) -> None:
    cluster.create(service())
    web = cluster.create(behaving(name="web", replicas=2, startup_seconds="10"))
    await cluster.seconds(5)
    (found,) = slices(cluster)
    assert [one["conditions"]["ready"] for one in found["endpoints"]] == [False, False]
    await cluster.seconds(10)
    (found,) = slices(cluster)
    assert [one["conditions"]["ready"] for one in found["endpoints"]] == [True, True]
    assert found["ports"] == [{"name": "http", "port": 8000, "protocol": "TCP"}]
    assert found["metadata"]["labels"] == {
        "kubernetes.io/service-name": "web",
        MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    assert {one["targetRef"]["name"] for one in found["endpoints"]} == {p["metadata"]["name"] for p in cluster.pods()}
    cluster.scale(web, 0)
    await cluster.seconds(60)
    (found,) = slices(cluster)
    assert found["endpoints"] == []


async def test_a_slice_of_another_controller_is_left_alone(cluster: BareCluster) -> None:
    labels = {"kubernetes.io/service-name": "web", MANAGED_BY: "keda-py.dev"}
    foreign = obj("discovery.k8s.io/v1", "EndpointSlice", "web-foreign", "default")
    foreign["metadata"]["labels"] = labels
    ours = {"endpoints": [{"addresses": ["10.1.0.1"]}], "ports": [{"name": "http", "port": 20000}]}
    before = cluster.create({**foreign, "addressType": "IPv4", **ours})
    cluster.create(service())
    cluster.create(behaving(name="web", replicas=1))
    await cluster.seconds(30)
    assert len(slices(cluster)) == 2
    found = cluster.get("discovery.k8s.io/v1", "EndpointSlice", "web-foreign")
    assert found["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_slice_that_was_deleted_comes_back_and_goes_with_its_service(cluster: BareCluster) -> None:
    made = cluster.create(service())
    await cluster.seconds(1)
    (found,) = slices(cluster)
    cluster.delete(found)
    await cluster.seconds(1)
    assert len(slices(cluster)) == 1
    cluster.delete(made)
    await cluster.seconds(5)
    assert slices(cluster) == []


async def test_a_service_without_a_selector_has_none(cluster: BareCluster) -> None:
    cluster.create(service(selector={}))
    await cluster.seconds(1)
    assert slices(cluster) == []


async def test_a_named_port_is_looked_up_in_the_pods(cluster: BareCluster) -> None:
    body = behaving(name="web", replicas=1)
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"name": "main", "containerPort": 9000}]
    cluster.create(body)
    cluster.create(service(ports=[{"port": 80, "targetPort": "main", "appProtocol": "http"}]))
    await cluster.seconds(5)
    (found,) = slices(cluster)
    assert found["ports"] == [{"name": "", "port": 9000, "protocol": "TCP", "appProtocol": "http"}]
