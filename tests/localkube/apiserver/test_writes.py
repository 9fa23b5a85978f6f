"""Creations, updates, patches and deletions that the recordings do not cover."""

from typing import Any

import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import LocalCluster
from tests.builders import bare_scaled_object, box_definition, config_map, deployment
from tests.localkube.client import CONFIGMAPS, DEPLOYMENTS, MERGE, SCALED_OBJECTS, Client, done

NAMESPACES = "/api/v1/namespaces"


async def test_a_dry_run_answers_and_stores_nothing(client: Client) -> None:
    created = await client.create(CONFIGMAPS, config_map("a"), dryRun="All")
    assert created["metadata"]["uid"]
    assert (await client.ask("GET", f"{CONFIGMAPS}/a")).status == 404
    assert (await client.ask("POST", CONFIGMAPS, config_map("a"), dryRun="Some")).status == 400


async def test_nothing_is_created_in_a_missing_namespace(client: Client) -> None:
    answer = await client.ask("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert (answer.status, answer.body["message"]) == (404, 'namespaces "nowhere" not found')


async def test_nothing_is_created_in_a_namespace_on_its_way_out(client: Client, clock: FakeClock) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "going"}})
    path = "/api/v1/namespaces/going/configmaps"
    await client.create(path, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
    await client.ask("DELETE", f"{NAMESPACES}/going")
    await clock.settle()
    answer = await client.ask("POST", path, config_map("a"))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await client.merge(f"{path}/held", {"metadata": {"finalizers": None}})
    await clock.settle()
    assert (await client.ask("GET", f"{NAMESPACES}/going")).status == 404


async def test_an_unknown_field_is_dropped_with_a_warning(client: Client) -> None:
    manifest = bare_scaled_object(name="web")
    manifest["spec"]["noSuchField"] = 1
    answer = await client.ask("POST", SCALED_OBJECTS, manifest)
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.noSuchField\\""'
    assert "noSuchField" not in answer.body["spec"]
    silent = await client.ask("POST", SCALED_OBJECTS, {**manifest, "metadata": {"name": "b"}}, fieldValidation="Ignore")
    assert "Warning" not in silent.headers


async def test_a_custom_resource_is_replaced_by_version_only(client: Client) -> None:
    await client.create(SCALED_OBJECTS, bare_scaled_object(name="web"))
    answer = await client.ask("PUT", f"{SCALED_OBJECTS}/web", bare_scaled_object(name="web"))
    assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")
    current = await client.get(f"{SCALED_OBJECTS}/web")
    assert (await client.ask("PUT", f"{SCALED_OBJECTS}/web", current)).status == 200


async def test_an_object_cannot_be_renamed_or_moved(client: Client) -> None:
    await client.create(CONFIGMAPS, config_map("a"))
    renamed = await client.ask("PUT", f"{CONFIGMAPS}/a", config_map("b"))
    assert "the name of the object (b) does not match the name on the URL (a)" in renamed.body["message"]
    moved = await client.ask("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"namespace": "other"}}, MERGE)
    assert "the namespace of the provided object does not match" in moved.body["message"]


async def test_a_scale_is_written_only_at_the_version_it_names(client: Client) -> None:
    created = await client.create(DEPLOYMENTS, deployment("web", 1))
    scale = {"metadata": {"name": "web", "resourceVersion": "1"}, "spec": {"replicas": 2}}
    assert (await client.ask("PUT", f"{DEPLOYMENTS}/web/scale", scale)).status == 409
    scale["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    assert (await client.ask("PUT", f"{DEPLOYMENTS}/web/scale", scale)).status == 200
    assert (await client.get(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 2


async def test_a_custom_resource_scales_where_its_definition_says(client: Client) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.sel"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {"status": {}, "scale": paths},
    }
    names = {"plural": "pools", "kind": "Pool"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await client.create(crds, {"metadata": {"name": "pools.example.com"}, "spec": spec})
    pools = "/apis/example.com/v1/namespaces/default/pools"
    await client.create(pools, {"metadata": {"name": "p"}, "spec": {"size": 1}})
    await client.merge(f"{pools}/p/status", {"status": {"size": 1, "sel": "app=p"}})
    scale = await client.merge(f"{pools}/p/scale", {"spec": {"replicas": 3}})
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 1, "selector": "app=p"}
    assert (await client.get(f"{pools}/p"))["spec"] == {"size": 3}


async def test_a_custom_resource_without_a_count_has_no_scale_until_one_is_written(client: Client) -> None:
    await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", box_definition("example.com"))
    boxes = "/apis/example.com/v1/namespaces/default/boxen"
    await client.create(boxes, {"metadata": {"name": "b"}, "spec": {}})
    answer = await client.ask("GET", f"{boxes}/b/scale")
    assert answer.status == 500
    assert 'the spec replicas field ".spec.size" does not exist' in answer.body["message"]
    scale = {"metadata": {"name": "b"}, "spec": {"replicas": 2}}
    assert (await client.ask("PUT", f"{boxes}/b/scale", scale)).status == 200
    assert (await client.get(f"{boxes}/b/scale"))["spec"] == {"replicas": 2}


async def test_an_applier_loses_the_fields_that_another_manager_changes(client: Client) -> None:
    apply = {"content-type": "application/apply-patch+yaml"}
    body = config_map("a", x="1", y="1")
    assert (await client.ask("PATCH", f"{CONFIGMAPS}/a", body, apply, fieldManager="one")).status == 201
    await client.merge(f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, fieldManager="two")
    answer = await client.ask("PATCH", f"{CONFIGMAPS}/a", body, apply, fieldManager="one")
    assert answer.body["message"] == 'Apply failed with 1 conflict: conflict with "two" using v1: .data.x'
    unnamed = await client.ask("PATCH", f"{CONFIGMAPS}/a", body, apply)
    assert (unnamed.status, unnamed.body["details"]["causes"][0]["field"]) == (422, "fieldManager")


async def test_a_collection_is_deleted_as_selected(client: Client) -> None:
    for name, team in (("a", "core"), ("b", "infra"), ("c", "core")):
        await client.create(CONFIGMAPS, {"metadata": {"name": name, "labels": {"team": team}}})
    answer = await client.ask("DELETE", CONFIGMAPS, labelSelector="team=core")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "c"]
    left = await client.get(CONFIGMAPS)
    assert [item["metadata"]["name"] for item in left["items"]] == ["b", "kube-root-ca.crt"]


async def test_an_unknown_deletion_policy_is_refused(client: Client) -> None:
    await client.create(CONFIGMAPS, config_map("a"))
    answer = await client.ask("DELETE", f"{CONFIGMAPS}/a", {"propagationPolicy": "Perhaps"})
    assert answer.status == 400


@pytest.mark.parametrize("body", [[], "text", 7])
async def test_a_body_other_than_an_object_is_refused(client: Client, body: object) -> None:
    assert (await client.ask("POST", CONFIGMAPS, body)).status == 400
    assert (await client.ask("PATCH", f"{CONFIGMAPS}/kube-root-ca.crt", body, MERGE)).status == 400


async def test_yaml_is_read_too_and_its_dates_stay_text(client: Client, cluster: LocalCluster) -> None:
    body = {"metadata": {"name": "a"}, "data": {"day": "2026-01-01"}}
    answer = await client.ask("POST", CONFIGMAPS, body, {"content-type": "application/yaml"})
    assert answer.status == 201
    assert answer.body["data"] == {"day": "2026-01-01"}


async def test_requests_are_counted_by_verb_and_resource(client: Client) -> None:
    await client.create(DEPLOYMENTS, deployment("web", 1))
    await client.ask("GET", f"{DEPLOYMENTS}/nope/scale")
    text = (await client.ask("GET", "/metrics")).encode().decode()
    counted = [line for line in text.splitlines() if 'resource="deployments"' in line and "_created" not in line]
    assert any('verb="POST"' in line and 'code="201"' in line and line.endswith(" 1.0") for line in counted)
    assert any('verb="GET"' in line and 'subresource="scale"' in line and 'code="404"' in line for line in counted)


async def test_an_apply_that_differs_by_defaults_alone_writes_nothing(client: Client, clock: FakeClock) -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
    webhook = {"name": "a.b.c", "rules": [rule], "clientConfig": {"url": "https://localhost"}, "sideEffects": "None"}
    wanted = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "vet"},
        "webhooks": [{**webhook, "admissionReviewVersions": ["v1"]}],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/vet"

    async def apply() -> Any:
        headers = {"content-type": "application/apply-patch+yaml"}
        return done(await client.ask("PATCH", path, wanted, headers=headers, fieldManager="me"))

    first = await apply()
    await clock.advance(60)
    assert await apply() == first
