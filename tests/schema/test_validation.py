from typing import Any

import pytest

from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.defaults import apply_defaults
from keda_py.schema.validation import validate

Problems = list[tuple[str, str]]


def problems(obj: dict[str, Any], schema: dict[str, Any], old: dict[str, Any] | None = None) -> Problems:
    return sorted((cause.field, cause.message) for cause in validate(obj, schema, old))


def custom(spec_schema: dict[str, Any], value: Any, old: Any = None) -> Problems:
    """Validate `value` as the spec of a custom resource."""
    head = {"apiVersion": "x.example/v1", "kind": "X", "metadata": {"name": "x"}}
    schema = {"type": "object", "properties": {"spec": spec_schema}}
    return problems({**head, "spec": value}, schema, None if old is None else {**head, "spec": old})


def builtin(api_version: str, kind: str, old: dict[str, Any] | None = None, **parts: Any) -> Problems:
    """Validate a built-in object, with its defaults."""
    group, _, version = api_version.rpartition("/")
    schema = schema_of(group, version, kind) or {}
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}}
    before = None if old is None else apply_defaults({**head, **old}, schema)
    return problems(apply_defaults({**head, **parts}, schema), schema, before)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (
            {"type": "integer", "minimum": 1},
            0,
            "Invalid value: 0: spec in body should be greater than or equal to 1",
        ),
        (
            {"type": "integer", "maximum": 3, "exclusiveMaximum": True},
            3,
            "Invalid value: 3: spec in body should be less than 3",
        ),
        ({"type": "integer"}, "5", 'Invalid value: "string": spec in body must be of type integer: "string"'),
        ({"type": "integer"}, True, 'Invalid value: "boolean": spec in body must be of type integer: "boolean"'),
        ({"type": "string"}, None, 'Invalid value: "null": spec in body must be of type string: "null"'),
        ({"type": "string", "minLength": 1}, "", 'Invalid value: "": spec in body should be at least 1 chars long'),
        ({"type": "string", "maxLength": 1}, "ab", "Too long: may not be more than 1 bytes"),
        ({"type": "string", "pattern": "^a+$"}, "b", "Invalid value: \"b\": spec in body should match '^a+$'"),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"'),
        ({"type": "array", "minItems": 1}, [], "Invalid value: 0: spec in body should have at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "Too many: 2: must have at most 1 items"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid value: 0: spec in body should have at least 1 properties",
        ),
        (
            {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 2},
            'Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            True,
            'Invalid value: "": "spec" must validate at least one schema (anyOf)',
        ),
    ],
    ids=lambda value: next(reversed(value)) if isinstance(value, dict) and "type" in value else None,
)
def test_a_custom_resource_is_refused_in_the_words_of_openapi(schema: Any, value: Any, expected: str) -> None:
    assert custom(schema, value) == [("spec", expected)]


@pytest.mark.parametrize("value", [3, "50%"])
def test_an_integer_or_string_is_either(value: Any) -> None:
    assert custom({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, value) == []


def test_a_whole_float_is_an_integer_as_it_is_in_json() -> None:
    assert custom({"type": "integer"}, 5.0) == []


def test_every_missing_field_and_every_item_is_named() -> None:
    item = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    schema = {"type": "object", "required": ["size"], "properties": {"items": {"type": "array", "items": item}}}
    assert custom(schema, {"items": [{}, {"name": 1}]}) == [
        ("spec.items[0].name", "Required value"),
        (
            "spec.items[1].name",
            'Invalid value: "integer": spec.items[1].name in body must be of type string: "integer"',
        ),
        ("spec.size", "Required value"),
    ]


def test_items_of_a_keyed_list_may_not_repeat_their_key() -> None:
    schema = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    items = [{"name": "a"}, {"name": "b"}, {"name": "a"}]
    assert custom(schema, items) == [("spec[2]", 'Duplicate value: {"name":"a"}')]


RULE = {"rule": "!has(self.min) || self.min <= (has(self.max) ? self.max : 100)", "message": "min must be <= max"}


@pytest.mark.parametrize(
    ("value", "refused"),
    [({"min": 5, "max": 4}, True), ({"min": 101}, True), ({"min": 5}, False), ({"max": 1}, False), ({}, False)],
)
def test_a_rule_in_cel_is_evaluated(value: dict[str, int], refused: bool) -> None:
    found = custom({"type": "object", "x-kubernetes-validations": [RULE]}, value)
    assert found == ([("spec", "Invalid value: min must be <= max")] if refused else [])


SKIPPED = (
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"min": "5"}, 'Invalid value: "string": spec.min in body must be of type integer: "string"'),
        ({"kind": "c"}, 'Unsupported value: "c": supported values: "a"'),
        ({"list": [1, 2]}, "Too many: 2: must have at most 1 items"),
    ],
    ids=["a wrong type", "an unsupported value", "too many items"],
)
def test_rules_that_were_not_asked_because_of_other_mistakes_are_named_as_such(wrong: Any, told: str) -> None:
    parts = {
        "min": {"type": "integer"},
        "kind": {"type": "string", "enum": ["a"]},
        "list": {"type": "array", "maxItems": 1, "items": {"type": "integer"}},
    }
    shape = {"type": "object", "properties": parts}
    field = f"spec.{next(iter(wrong))}"
    assert custom({**shape, "x-kubernetes-validations": [RULE]}, wrong) == [SKIPPED, (field, told)]
    assert custom(shape, wrong) == [(field, told)]  # without rules there is nothing to name


def test_rules_are_asked_beside_a_number_out_of_bounds() -> None:
    shape = {"type": "object", "properties": {"max": {"type": "integer", "minimum": 1}}}
    assert custom({**shape, "x-kubernetes-validations": [RULE]}, {"min": 5, "max": 0}) == [
        ("spec", "Invalid value: min must be <= max"),
        ("spec.max", "Invalid value: 0: spec.max in body should be greater than or equal to 1"),
    ]


def test_a_rule_about_the_old_object_is_not_asked_at_creation() -> None:
    frozen = {"rule": "self == oldSelf", "message": "Value is immutable"}
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [frozen]}}}
    assert custom(schema, {"a": "x"}) == []
    assert custom(schema, {"a": "x"}, {"a": "x"}) == []
    assert custom(schema, {"a": "y"}, {"a": "x"}) == [("spec.a", 'Invalid value: "y": Value is immutable')]


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "Bad_Name"}, "metadata.name"),
        ({"name": "x" * 254}, "metadata.name"),
        ({}, "metadata.name"),
        ({"name": "x", "labels": {"a b": "c"}}, "metadata.labels"),
        ({"name": "x", "labels": {"a": "b c"}}, "metadata.labels"),
        ({"name": "x", "labels": {"A.example/a": "b"}}, "metadata.labels"),
        ({"name": "x", "annotations": {"/a": "b"}}, "metadata.annotations"),
    ],
    ids=str,
)
def test_names_and_labels_have_a_form(metadata: dict[str, Any], field: str) -> None:
    obj = {"apiVersion": "x.example/v1", "kind": "X", "metadata": metadata}
    assert [cause.field for cause in validate(obj, {"type": "object"})] == [field]


def test_roles_may_have_colons_in_their_names_and_services_no_dots() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a:b"}}
    assert problems(role, schema_of("rbac.authorization.k8s.io", "v1", "ClusterRole") or {}) == []
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 1}]}}
    found = validate(service, schema_of("", "v1", "Service") or {})
    assert [cause.field for cause in found] == ["metadata.name"]


def template(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_a_selector_must_find_the_pods_of_its_template() -> None:
    spec = {"selector": {"matchLabels": {"a": "1"}}, "template": template(a="2")}
    text = 'Invalid value: {"a":"2"}: `selector` does not match template `labels`'
    assert builtin("apps/v1", "Deployment", spec=spec) == [("spec.template.metadata.labels", text)]


def test_an_empty_manifest_is_refused_with_every_missing_field() -> None:
    assert builtin("apps/v1", "Deployment") == [
        ("spec.selector", "Required value"),
        ("spec.template.metadata.labels", "Invalid value: null: `selector` does not match template `labels`"),
        ("spec.template.spec.containers", "Required value"),
    ]
    assert builtin("autoscaling/v2", "HorizontalPodAutoscaler") == [
        ("spec.maxReplicas", "Invalid value: 0: must be greater than 0"),
        ("spec.scaleTargetRef.kind", "Required value"),
        ("spec.scaleTargetRef.name", "Required value"),
    ]


def test_requests_stay_below_limits_and_mounts_name_volumes() -> None:
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    mounts = [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]
    container = {"name": "c", "image": "i", "resources": resources, "volumeMounts": mounts}
    assert builtin("v1", "Pod", spec={"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}) == [
        ("spec.containers[0].resources.requests", 'Invalid value: "2": must be less than or equal to cpu limit of 1'),
        ("spec.containers[0].volumeMounts[1].name", 'Not found: "w"'),
    ]


def test_a_selector_does_not_change() -> None:
    old = {"spec": {"selector": {"matchLabels": {"a": "1"}}, "template": template(a="1", b="1")}}
    spec = {"selector": {"matchLabels": {"b": "1"}}, "template": template(a="1", b="1")}
    text = 'Invalid value: {"matchLabels":{"b":"1"}}: field is immutable'
    assert builtin("apps/v1", "Deployment", old, spec=spec) == [("spec.selector", text)]


def test_containers_need_a_name_of_their_own_and_an_image() -> None:
    containers = [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}, {"name": "d"}, {"image": "i"}]
    assert builtin("v1", "Pod", spec={"containers": containers}) == [
        ("spec.containers[1].name", 'Duplicate value: "c"'),
        ("spec.containers[2].image", "Required value"),
        ("spec.containers[3].name", "Required value"),
    ]


def hpa_problems(**spec: Any) -> Problems:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    return builtin("autoscaling/v2", "HorizontalPodAutoscaler", spec={"scaleTargetRef": target, **spec})


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({}, "spec.maxReplicas", "Invalid value: 0: must be greater than 0"),
        ({"scaleTargetRef": {}, "maxReplicas": 1}, "spec.scaleTargetRef.kind", "Required value"),
        (
            {"maxReplicas": 2, "metrics": [{"type": "External", "external": {"metric": {"name": "m"}, "target": {}}}]},
            "spec.metrics[0].external.target.averageValue",
            "Required value: must set either a target value for metric or a per-pod target",
        ),
        (
            {
                "maxReplicas": 2,
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601}},
            },
            "spec.behavior.scaleDown.stabilizationWindowSeconds",
            "Invalid value: 3601: must be less than or equal to 3600",
        ),
        (
            {
                "maxReplicas": 2,
                "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 1}]}},
            },
            "spec.behavior.scaleUp.policies[0].value",
            "Invalid value: 0: must be greater than zero",
        ),
        (
            {"maxReplicas": 2, "metrics": [{"type": "External"}]},
            "spec.metrics[0].external",
            "Required value: must populate information for the given metric source",
        ),
        (
            {"maxReplicas": 2, "metrics": [{"type": "Pods", "pods": {"metric": {"name": "../m"}}}]},
            "spec.metrics[0].pods.metric.name",
            "Invalid value: \"../m\": may not contain '/'",
        ),
        (
            {
                "maxReplicas": 2,
                "metrics": [{"type": "Object", "object": {"describedObject": {"kind": "Pod", "name": ".."}}}],
            },
            "spec.metrics[0].object.describedObject.name",
            "Invalid value: \"..\": may not be '..'",
        ),
    ],
    ids=["no maximum", "no workload", "no target", "window", "policy", "no source", "metric", "object"],
)
def test_a_wrong_autoscaler_is_refused(spec: dict[str, Any], field: str, message: str) -> None:
    assert (field, message) in hpa_problems(**spec)


def test_an_event_lives_in_its_objects_namespace_and_says_who_did_what() -> None:
    parts: dict[str, Any] = {"eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "note": "n"}
    found = builtin("events.k8s.io/v1", "Event", regarding={"kind": "X", "name": "x", "namespace": "other"}, **parts)
    assert found == [
        ("action", "Required value"),
        ("involvedObject.namespace", 'Invalid value: "other": does not match event.namespace'),
        ("reportingController", "Required value"),
        ("reportingInstance", "Required value"),
    ]


def test_an_immutable_config_map_stays() -> None:
    old = {"data": {"a": "1"}, "immutable": True}
    assert builtin("v1", "ConfigMap", old, data={"a": "2"}, immutable=True) == [
        ("data", "Forbidden: field is immutable when `immutable` is set")
    ]


def test_a_role_binding_keeps_its_role() -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
    kind = ("rbac.authorization.k8s.io/v1", "RoleBinding")
    assert builtin(*kind, {"roleRef": role}, roleRef=role) == []
    assert [field for field, _ in builtin(*kind, {"roleRef": role}, roleRef={**role, "name": "b"})] == ["roleRef"]


def test_a_definition_is_named_after_its_resource_and_its_rules_compile() -> None:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": [{"rule": "self.a +"}]}}
    names = {"plural": "xs", "kind": "X"}
    spec = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [version]}
    found = builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec)
    assert [field for field, _ in found] == [
        "metadata.name",
        "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule",
    ]
