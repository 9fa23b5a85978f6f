from typing import Any

import pytest

from keda_py.localkube.patch import field_sets
from keda_py.localkube.patch.server_apply import Writer, note_update, server_side_apply
from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.status import StatusError

SCHEMA = schema_of("apps", "v1", "Deployment") or {}
HEAD = {"apiVersion": "apps/v1", "kind": "Deployment"}


def writer(manager: str, now: str = "2026-01-01T00:00:00Z") -> Writer:
    return Writer(manager=manager, api_version="apps/v1", now=now)


def web(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "web", **({"labels": parts.pop("labels")} if "labels" in parts else {})}
    return {**HEAD, "metadata": metadata, **({"spec": parts} if parts else {})}


def apply(live: dict[str, Any] | None, wanted: dict[str, Any], manager: str, *, force: bool = False) -> dict[str, Any]:
    return server_side_apply(live, wanted, writer=writer(manager), force=force, schema=SCHEMA)


def template(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(containers)}}


def owned(obj: dict[str, Any]) -> dict[str, list[str]]:
    return {
        entry["manager"]: sorted(field_sets.format_path(path) for path in field_sets.decode(entry["fieldsV1"]))
        for entry in obj["metadata"].get("managedFields", [])
    }


def test_two_managers_own_different_fields_without_conflict() -> None:
    obj = apply(apply(None, web(labels={"a": "1"}), "one"), web(labels={"b": "2"}), "two")
    assert obj["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert owned(obj) == {"one": [".metadata.labels.a"], "two": [".metadata.labels.b"]}


def test_the_same_value_is_shared_and_outlives_one_of_its_owners() -> None:
    both = apply(apply(None, web(replicas=2), "one"), web(replicas=2), "two")
    assert owned(both) == {"one": [".spec.replicas"], "two": [".spec.replicas"]}
    left = apply(both, web(), "one")
    assert left["spec"] == {"replicas": 2}
    assert owned(left) == {"two": [".spec.replicas"]}


def test_a_field_that_its_only_owner_no_longer_states_is_removed() -> None:
    obj = apply(apply(None, web(labels={"a": "1", "b": "2"}), "one"), web(labels={"b": "2"}), "one")
    assert obj["metadata"]["labels"] == {"b": "2"}
    assert "labels" not in apply(obj, web(), "one")["metadata"]


def test_a_list_item_without_owners_is_removed_with_its_defaults() -> None:
    containers = [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]
    live = apply(None, web(template=template(*containers)), "one")
    live["spec"]["template"]["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    obj = apply(live, web(template=template(containers[0])), "one")
    assert obj["spec"]["template"]["spec"]["containers"] == [containers[0]]


def test_list_items_are_identified_by_all_their_keys_with_defaults() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    obj = apply(None, web(template=template({"name": "a", "ports": ports})), "one")
    assert '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]' in owned(obj)["one"]
    assert '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="UDP"]' in owned(obj)["one"]


def test_several_conflicts_are_listed_by_manager() -> None:
    live = apply(apply(None, web(replicas=1, paused=True), "one"), web(minReadySeconds=3), "two")
    with pytest.raises(StatusError) as refusal:
        apply(live, web(replicas=2, paused=False, minReadySeconds=4), "three")
    assert refusal.value.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .spec.paused\n- .spec.replicas\n'
        'conflicts with "two":\n- .spec.minReadySeconds'
    )
    assert refusal.value.code == 409


def test_an_apply_that_changes_nothing_keeps_the_entry_and_its_time() -> None:
    first = apply(None, web(replicas=1), "one")
    later = Writer(manager="one", api_version="apps/v1", now="2027-01-01T00:00:00Z")
    again = server_side_apply(first, web(replicas=1), writer=later, force=False, schema=SCHEMA)
    assert again == first


def test_an_update_takes_the_fields_it_changes_away_from_the_applier() -> None:
    live = apply(None, web(replicas=1), "one")
    scaled = {**live, "spec": {"replicas": 5}}
    noted = note_update(live, scaled, writer=writer("kubectl"), schema=SCHEMA)
    assert owned(noted) == {"kubectl": [".spec.replicas"]}
    with pytest.raises(StatusError, match=r'conflict with "kubectl" using apps/v1: \.spec\.replicas'):
        apply(noted, web(replicas=1), "one")


def test_an_update_without_any_applier_records_no_managed_fields() -> None:
    live = {**HEAD, "metadata": {"name": "web"}, "spec": {"replicas": 1}}
    new = {**live, "spec": {"replicas": 2}}
    assert note_update(live, new, writer=writer("kubectl"), schema=SCHEMA) is new


def test_a_client_that_leaves_managed_fields_out_keeps_them_and_one_that_empties_them_resets() -> None:
    live = apply(None, web(replicas=1), "one")
    bare = {**live, "metadata": {"name": "web"}}
    assert note_update(live, bare, writer=writer("x"), schema=SCHEMA) == live
    reset = {**live, "metadata": {"name": "web", "managedFields": []}}
    assert note_update(live, reset, writer=writer("x"), schema=SCHEMA)["metadata"] == {"name": "web"}


def test_a_field_that_the_kind_does_not_have_cannot_be_applied() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(None, web(replcas=1), "one")
    assert refusal.value.message == (
        "failed to create typed patch object (/web; apps/v1, Kind=Deployment): "
        ".spec.replcas: field not declared in schema"
    )


def test_custom_resources_have_granular_maps_and_atomic_lists() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    wanted = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": {"b": 1}, "c": [{"d": 1}]}}
    obj = server_side_apply(None, wanted, writer=writer("one"), force=False, schema=schema)
    assert obj["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:c": {}}
    }


def test_field_sets_survive_the_wire() -> None:
    wire = {"f:a": {".": {}, "f:b": {}}, "f:c": {'k:{"name":"x"}': {".": {}, "f:d": {}}, 'v:"y"': {}}}
    assert field_sets.encode(field_sets.decode(wire)) == wire
