"""Discovery, OpenAPI and the server's own pages that the recordings do not cover."""

from typing import Any

import pytest

from keda_py.clock import FakeClock
from tests.localkube.client import Client

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}


def definition(*versions: str) -> dict[str, Any]:
    rows = [
        {"name": name, "served": True, "storage": at == 0, "schema": {"openAPIV3Schema": {"type": "object"}}}
        for at, name in enumerate(versions)
    ]
    spec = {"group": "example.com", "scope": "Cluster", "names": {"plural": "pools", "kind": "Pool"}, "versions": rows}
    return {"metadata": {"name": "pools.example.com"}, "spec": spec}


async def test_a_definition_is_served_at_once_and_withdrawn_with_it(client: Client, clock: FakeClock) -> None:
    await client.create(CRDS, definition("v1", "v1beta1"))
    group = await client.get("/apis/example.com")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    assert (await client.get("/apis/example.com/v1beta1"))["resources"][0]["name"] == "pools"
    await client.create("/apis/example.com/v1/pools", {"metadata": {"name": "p"}})
    assert (await client.get("/apis/example.com/v1beta1/pools/p"))["apiVersion"] == "example.com/v1beta1"
    await client.ask("DELETE", f"{CRDS}/pools.example.com")
    await clock.settle()
    assert (await client.ask("GET", "/apis/example.com")).status == 404


async def test_a_version_that_is_served_no_longer_goes(client: Client) -> None:
    await client.create(CRDS, definition("v1", "v1beta1"))
    stored = await client.get(f"{CRDS}/pools.example.com")
    stored["spec"]["versions"][1]["served"] = False
    assert (await client.ask("PUT", f"{CRDS}/pools.example.com", stored)).status == 200
    group = await client.get("/apis/example.com")
    assert [version["version"] for version in group["versions"]] == ["v1"]


async def test_older_clients_get_the_older_form(client: Client) -> None:
    headers = {"accept": AGGREGATED["accept"].replace("v=v2;", "v=v2beta1;")}
    answer = await client.ask("GET", "/apis", headers=headers)
    assert answer.body["apiVersion"] == "apidiscovery.k8s.io/v2beta1"


async def test_kubectl_learns_that_the_server_validates(client: Client) -> None:
    index = await client.get("/openapi/v3")
    assert index["paths"]["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")
    document = await client.get("/openapi/v3/apis/apps/v1")
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    kinds = [schema["x-kubernetes-group-version-kind"] for schema in document["components"]["schemas"].values()]
    assert [{"group": "apps", "version": "v1", "kind": "Deployment"}] in kinds


async def test_an_openapi_document_of_nothing_is_not_found(client: Client) -> None:
    assert (await client.ask("GET", "/openapi/v3/apis/nope/v1")).status == 404


@pytest.mark.parametrize("accept", ["", "application/json", "*/*"])
async def test_the_older_openapi_document_is_json(client: Client, accept: str) -> None:
    answer = await client.ask("GET", "/openapi/v2", headers={"accept": accept} if accept else {})
    assert (answer.status, answer.content_type) == (200, "application/json")
    assert answer.body == {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": {}}


async def test_kubectl_gets_the_older_openapi_document_as_protobuf(client: Client) -> None:
    headers = {"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    answer = await client.ask("GET", "/openapi/v2", headers=headers)
    assert answer.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert answer.body == b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.2\x42\x00"


async def test_health_is_plain_text(client: Client) -> None:
    for page in ("/healthz", "/livez", "/readyz", "/readyz/ping"):
        assert (await client.ask("GET", page)).encode() == b"ok"
