"""Lists, pages, selectors and views that the recordings do not cover."""

import pytest

from keda_py.localkube.cluster import LocalCluster
from tests.builders import bare_scaled_object, config_map, deployment
from tests.localkube.client import CONFIGMAPS, DEPLOYMENTS, SCALED_OBJECTS, Client

EVENT = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}


async def filled(client: Client, *names: str) -> None:
    for name in names:
        await client.create(CONFIGMAPS, config_map(name))


async def test_all_pages_show_the_list_at_the_version_of_the_first(client: Client) -> None:
    await filled(client, "a", "b", "c")
    page = await client.get(CONFIGMAPS, limit="2")
    await client.ask("DELETE", f"{CONFIGMAPS}/b")
    await filled(client, "bb", "d")
    following = await client.get(CONFIGMAPS, limit="9", **{"continue": page["metadata"]["continue"]})
    names = [obj["metadata"]["name"] for obj in [*page["items"], *following["items"]]]
    assert names == ["a", "b", "c", "kube-root-ca.crt"]
    assert following["metadata"] == {"resourceVersion": page["metadata"]["resourceVersion"]}


async def test_a_page_of_a_forgotten_version_is_gone(client: Client, cluster: LocalCluster) -> None:
    await filled(client, "a", "b", "c")
    page = await client.get(CONFIGMAPS, limit="1")
    await filled(client, "d")
    cluster.store.forget(cluster.store.revision)
    answer = await client.ask("GET", CONFIGMAPS, **{"continue": page["metadata"]["continue"]})
    assert (answer.status, answer.body["reason"]) == (410, "Expired")


async def test_a_selected_page_does_not_guess_how_many_are_left(client: Client) -> None:
    await filled(client, "a", "b")
    page = await client.get(CONFIGMAPS, limit="1", fieldSelector="metadata.name!=a")
    assert "remainingItemCount" not in page["metadata"]


async def test_a_list_at_an_exact_version_shows_that_version(client: Client) -> None:
    await filled(client, "a")
    version = (await client.get(CONFIGMAPS))["metadata"]["resourceVersion"]
    await filled(client, "b")
    listed = await client.get(CONFIGMAPS, resourceVersion=version, resourceVersionMatch="Exact")
    assert [obj["metadata"]["name"] for obj in listed["items"]] == ["a", "kube-root-ca.crt"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (DEPLOYMENTS, '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (SCALED_OBJECTS, "field label not supported: spec.x"),
        ("/api/v1/namespaces/default/pods", "field label not supported: spec.x"),
    ],
)
async def test_a_field_that_cannot_select_is_named(client: Client, path: str, words: str) -> None:
    answer = await client.ask("GET", path, fieldSelector="spec.x=1")
    assert (answer.status, answer.body["message"]) == (400, words)


async def test_events_are_selected_in_the_words_of_either_api(client: Client) -> None:
    await client.create("/api/v1/namespaces/default/events", EVENT)
    core = await client.get("/api/v1/events", fieldSelector="involvedObject.kind=Pod")
    newer = await client.get("/apis/events.k8s.io/v1/events", fieldSelector="regarding.kind=Pod")
    assert [len(events["items"]) for events in (core, newer)] == [1, 1]
    assert newer["items"][0]["regarding"]["name"] == "p"


async def test_metadata_alone_can_be_asked_for(client: Client) -> None:
    await client.create(DEPLOYMENTS, deployment("web", 1))
    form = {"accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"}
    answer = await client.ask("GET", f"{DEPLOYMENTS}/web", headers=form)
    assert answer.body.keys() == {"kind", "apiVersion", "metadata"}
    forms = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    listed = (await client.ask("GET", DEPLOYMENTS, headers=forms)).body
    assert (listed["kind"], listed["items"][0]["kind"]) == ("PartialObjectMetadataList", "PartialObjectMetadata")


async def test_list_items_of_custom_kinds_have_a_kind_and_built_in_ones_do_not(client: Client) -> None:
    await client.create(DEPLOYMENTS, deployment("web", 1))
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    assert "kind" not in (await client.get(DEPLOYMENTS))["items"][0]
    assert (await client.get(SCALED_OBJECTS))["items"][0]["kind"] == "ScaledObject"


async def test_an_hpa_of_one_version_can_be_read_in_the_other(client: Client) -> None:
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    external = {"metric": {"name": "s0-x"}, "target": {"type": "Value", "value": "5"}}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [{"type": "External", "external": external}]}
    await client.create(path.format("v2"), {"metadata": {"name": "h"}, "spec": spec})
    old = await client.get(path.format("v1") + "/h")
    assert old["apiVersion"] == "autoscaling/v1"
    assert "metrics" not in old["spec"]
    old["spec"]["targetCPUUtilizationPercentage"] = 70
    assert (await client.ask("PUT", path.format("v1") + "/h", old)).status == 200
    new = await client.get(path.format("v2") + "/h")
    assert [metric["type"] for metric in new["spec"]["metrics"]] == ["External", "Resource"]
    assert "annotations" not in new["metadata"]


@pytest.mark.parametrize(
    "path", ["/apis/apps/v1/nothing", "/api/v1/namespaces/default/nodes", "/apis/apps/v1/pods/a/b/c"]
)
async def test_a_resource_that_is_not_served_is_not_found(client: Client, path: str) -> None:
    answer = await client.ask("GET", path)
    assert (answer.status, answer.body["message"]) == (404, "the server could not find the requested resource")


async def test_a_path_outside_of_every_api_is_a_plain_404(client: Client) -> None:
    assert (await client.ask("GET", "/nothing")).encode() == b"404 page not found\n"


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/apis/apps/v1/deployments"), ("DELETE", "/api/v1/namespaces"), ("PUT", DEPLOYMENTS)]
)
async def test_a_verb_the_resource_does_not_know_is_not_allowed(client: Client, method: str, path: str) -> None:
    assert (await client.ask(method, path, {})).status == 405


async def test_subresources_that_need_a_running_container_are_refused(client: Client) -> None:
    answer = await client.ask("GET", "/api/v1/namespaces/default/pods/p/log")
    assert (answer.status, answer.body["reason"]) == (501, "NotImplemented")
