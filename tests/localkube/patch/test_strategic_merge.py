from typing import Any

import pytest

from keda_py.localkube.patch.strategic_merge import strategic_merge
from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.status import StatusError

DEPLOYMENT = schema_of("apps", "v1", "Deployment") or {}
SERVICE = schema_of("", "v1", "Service") or {}


def pods(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(containers), **more}}}}


def merged_pods(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = strategic_merge(before, patch, DEPLOYMENT)["spec"]["template"]["spec"]
    return spec


A, B, C = ({"name": name, "image": name} for name in "abc")


def test_containers_merge_by_name_and_keep_their_other_fields() -> None:
    patch = pods({"name": "b", "env": [{"name": "E", "value": "1"}]})
    merged = merged_pods(pods(A, B), patch)
    assert merged["containers"] == [A, {**B, "env": [{"name": "E", "value": "1"}]}]


def test_a_new_item_comes_before_those_of_the_server_alone() -> None:
    assert merged_pods(pods(A, B), pods(C))["containers"] == [C, A, B]


def test_an_item_marked_for_deletion_goes() -> None:
    assert merged_pods(pods(A, B), pods({"$patch": "delete", "name": "a"}))["containers"] == [B]


def test_a_list_marked_for_replacement_is_replaced() -> None:
    assert merged_pods(pods(A, B), pods({"$patch": "replace"}, C))["containers"] == [C]


def test_set_element_order_orders_the_named_and_keeps_the_others_near() -> None:
    patch = {
        "spec": {
            "template": {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [C]}}
        }
    }
    assert [c["name"] for c in merged_pods(pods(A, B), patch)["containers"]] == ["c", "a", "b"]


def test_an_atomic_list_is_replaced() -> None:
    before, patch = pods({**A, "args": ["1", "2"]}), pods({"name": "a", "args": ["3"]})
    assert merged_pods(before, patch)["containers"][0]["args"] == ["3"]


def test_a_map_can_be_replaced_or_emptied() -> None:
    before = {"metadata": {"labels": {"x": "1"}, "annotations": {"y": "2"}}}
    patch = {"metadata": {"labels": {"$patch": "replace", "z": "3"}, "annotations": {"$patch": "delete"}}}
    assert strategic_merge(before, patch, DEPLOYMENT) == {"metadata": {"labels": {"z": "3"}, "annotations": {}}}


def test_retain_keys_drops_the_parameters_of_another_strategy() -> None:
    before = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge(before, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_finalizers_are_a_set_from_which_items_can_be_deleted() -> None:
    before = {"metadata": {"finalizers": ["a/1", "b/2"]}}
    added = strategic_merge(before, {"metadata": {"finalizers": ["c/3", "a/1"]}}, DEPLOYMENT)
    assert sorted(added["metadata"]["finalizers"]) == ["a/1", "b/2", "c/3"]
    deleted = strategic_merge(before, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/1"]}}, DEPLOYMENT)
    assert deleted["metadata"]["finalizers"] == ["b/2"]


def test_service_ports_merge_by_number() -> None:
    before = {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}
    patch = {"spec": {"ports": [{"port": 80, "name": "http"}, {"port": 443}]}}
    merged = strategic_merge(before, patch, SERVICE)
    assert merged["spec"]["ports"] == [{"port": 80, "targetPort": 8080, "name": "http"}, {"port": 443}]


def test_an_item_without_its_merge_key_is_refused() -> None:
    with pytest.raises(StatusError, match="does not contain declared merge key: name"):
        merged_pods(pods(A), pods({"image": "x"}))


def test_an_unknown_directive_is_a_bad_request() -> None:
    with pytest.raises(StatusError) as refusal:
        strategic_merge({}, {"$patch": "explode"}, DEPLOYMENT)
    assert refusal.value.code == 400
