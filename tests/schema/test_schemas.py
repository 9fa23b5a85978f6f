from typing import Any

import pytest

from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.decoding import check_types
from keda_py.schema.defaults import apply_defaults
from keda_py.schema.schemas import prune
from keda_py.schema.status import StatusError

CUSTOM = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"mode": {"type": "string", "default": "on"}}},
                },
                "maybe": {"type": "string", "nullable": True},
                "plain": {"type": "string"},
            },
        }
    },
}


def custom(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec}


def builtin(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    """Prune and complete an object as a create does."""
    group, _, version = api_version.rpartition("/")
    schema = schema_of(group, version, kind) or {}
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, **parts}
    return apply_defaults(prune(obj, schema)[0], schema)


def test_unknown_fields_are_dropped_and_named() -> None:
    obj = {**custom(size=1, typo=2, free={"any": {"thing": 1}}, items=[{"mode": "off", "odd": 1}]), "stray": 1}
    kept, dropped = prune({**obj, "metadata": {"name": "x", "weird": 1}}, CUSTOM)
    assert kept == custom(size=1, free={"any": {"thing": 1}}, items=[{"mode": "off"}])
    assert dropped == ["metadata.weird", "spec.typo", "spec.items[0].odd", "stray"]


def test_an_object_without_unknown_fields_is_returned_as_it_is() -> None:
    obj = custom(size=1)
    assert prune(obj, CUSTOM)[0] is obj


def test_defaults_fill_absent_fields_and_nulls_but_only_where_the_parent_is() -> None:
    assert apply_defaults(custom(size=None, items=[{}]), CUSTOM) == custom(size=3, items=[{"mode": "on"}])
    bare = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}}
    assert apply_defaults(bare, CUSTOM) == bare


def test_a_null_stays_where_the_schema_has_null_and_goes_where_it_has_not() -> None:
    assert apply_defaults(custom(size=1, maybe=None, plain=None), CUSTOM) == custom(size=1, maybe=None)


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("registry:5000/nginx", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:0123", "IfNotPresent"),
    ],
)
def test_an_image_that_can_move_is_always_pulled(image: str, policy: str) -> None:
    pod = builtin("v1", "Pod", spec={"containers": [{"name": "c", "image": image}]})
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_limits_stand_in_for_requests() -> None:
    resources = {"limits": {"cpu": "0.5", "memory": "1024Mi"}, "requests": {"cpu": "100m"}}
    pod = builtin("v1", "Pod", spec={"containers": [{"name": "c", "image": "x", "resources": resources}]})
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "1Gi"},
    }


def test_recreate_has_no_rolling_parameters() -> None:
    spec = builtin("apps/v1", "Deployment", spec={"strategy": {"type": "Recreate"}})["spec"]
    assert spec["strategy"] == {"type": "Recreate"}


def test_a_service_gets_an_address_and_ports_that_point_at_themselves() -> None:
    spec = builtin("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"a": "b"}})["spec"]
    assert spec["ports"] == [{"port": 80, "targetPort": 80, "protocol": "TCP"}]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert builtin("v1", "Service", spec={"clusterIP": "None"})["spec"]["clusterIP"] == "None"


def test_a_behavior_that_names_one_direction_gets_the_other() -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    spec = builtin("autoscaling/v2", "HorizontalPodAutoscaler", spec={"maxReplicas": 3, "behavior": behavior})["spec"]
    assert spec["behavior"] == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": 60,
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
    }
    assert spec["minReplicas"] == 1
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 80


def test_string_data_of_a_secret_is_encoded_and_not_read_back() -> None:
    secret = builtin("v1", "Secret", data={"a": "eA=="}, stringData={"b": "y"})
    assert secret["data"] == {"a": "eA==", "b": "eQ=="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_times_are_written_with_the_digits_of_their_kind() -> None:
    lease = builtin("coordination.k8s.io/v1", "Lease", spec={"renewTime": "2026-01-01T01:00:00+01:00"})
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(("written", "read"), [("0.5", "500m"), (5, "5"), ("1024Ki", "1Mi"), ("lots", "lots")])
def test_a_quantity_is_written_back_in_canonical_form(written: Any, read: str) -> None:
    spec = {"maxReplicas": 2, "metrics": [{"type": "External", "external": {"target": {"value": written}}}]}
    hpa = builtin("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)
    assert hpa["spec"]["metrics"][0]["external"]["target"]["value"] == read


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"replicas": "x"},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"replicas": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"template": {"spec": {"containers": [{"name": 5}]}}},
            "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name "
            "of type string",
        ),
        (
            {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
    ids=["text for a number", "fraction", "nested", "quantity"],
)
def test_a_mistyped_field_of_a_built_in_kind_is_a_bad_request(spec: dict[str, Any], problem: str) -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    with pytest.raises(StatusError) as refusal:
        check_types(obj, schema_of("apps", "v1", "Deployment") or {})
    assert refusal.value.code == 400
    assert refusal.value.message == f'Deployment in version "v1" cannot be handled as a Deployment: {problem}'


def test_decoding_checks_the_metadata_alone_of_a_custom_resource() -> None:
    check_types(custom(size="x"), CUSTOM)
    with pytest.raises(StatusError, match=r"ObjectMeta\.metadata\.labels of type string"):
        check_types({**custom(), "metadata": {"labels": {"a": 1}}}, CUSTOM)
