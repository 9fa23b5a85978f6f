import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import jsonschema
import pytest
from pydantic import Field

from keda_py.apis.cloud_event_source import CloudEventType
from keda_py.apis.kinds.crds import build_crds, structural
from keda_py.apis.kinds.table import KINDS
from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.wire import Count, Wire
from tests.apis import crd_facts
from tests.definitions import DEFINITIONS
from tests.documents import read_file

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
CASES = {path.stem: read_file(path) for path in sorted(GOLDEN.glob("scaledobjects/*.yaml"))}
CRDS = {crd["spec"]["names"]["kind"]: crd for crd in DEFINITIONS}
ALLOWED = {
    "type", "properties", "required", "items", "additionalProperties", "description", "format", "minimum", "minLength",
    "minItems", "enum", "default", "pattern", "anyOf", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}  # fmt: skip


def schema_of(kind: str) -> dict[str, Any]:
    (version,) = CRDS[kind]["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def refusals(body: dict[str, Any]) -> list[str]:
    """Return the fields that structural validation refuses; CEL rules are not evaluated."""
    errors = jsonschema.Draft202012Validator(schema_of(body["kind"])).iter_errors(body)
    return sorted(error.json_path.removeprefix("$.") for error in errors)


def inputs() -> Iterator[Any]:
    for name, case in CASES.items():
        for number, body in enumerate([case["input"], *case.get("extra", ())]):
            if body["kind"] in CRDS:
                yield pytest.param(body, case["rejected"] or "", id=f"{name}-{number}")


@pytest.mark.parametrize(("body", "rejected"), list(inputs()))
def test_the_schema_refuses_what_a_real_api_server_refused_and_nothing_else(
    body: dict[str, Any], rejected: str
) -> None:
    by_schema = f'The {body["kind"]} "{body["metadata"]["name"]}" is invalid' in rejected
    by_rule = "minReplicaCount must be less than" in rejected
    found = refusals(body)
    assert bool(found) == (by_schema and not by_rule)
    if not found:
        model = next(kind.model for kind in KINDS if kind.model.__name__ == body["kind"])
        parse_object(model, body)


def test_minimum_over_maximum_is_refused_by_a_rule_in_kedas_words() -> None:
    (rule,) = schema_of("ScaledObject")["properties"]["spec"]["x-kubernetes-validations"]
    assert rule["message"] == "minReplicaCount must be less than or equal to maxReplicaCount"
    assert "self.maxReplicaCount : 100" in rule["rule"]


def exchange(note: str) -> dict[str, Any]:
    exchanges = json.loads((GOLDEN / "apiserver.json").read_text("utf-8"))["exchanges"]
    found: dict[str, Any] = next(entry for entry in exchanges if entry["note"] == note)
    return found


@pytest.mark.parametrize("note", ["custom resource: invalid types", "custom resource: missing required"])
def test_the_same_fields_are_wrong_as_on_a_real_api_server(note: str) -> None:
    recorded = exchange(note)
    wrong = {cause["field"] for cause in recorded["response"]["body"]["details"]["causes"]}
    assert wrong == set(named_fields(recorded["request"]["body"]))


def named_fields(body: dict[str, Any]) -> Iterator[str]:
    for error in jsonschema.Draft202012Validator(schema_of(body["kind"])).iter_errors(body):
        missing = error.validator == "required"
        yield error.json_path.removeprefix("$.") + (f".{error.message.split(chr(39))[1]}" if missing else "")


def test_nothing_is_defaulted_but_what_keda_defaults() -> None:
    defaults = {
        f"{kind} {path}": schema["default"]
        for kind in CRDS
        for path, schema, _ in crd_facts.fields(schema_of(kind), "")
        if "default" in schema
    }
    assert defaults == {
        "ScaledObject spec.fallback.behavior": "static",
        "KedaDefaults spec.fallback.behavior": "static",
        "ClusterKedaDefaults spec.fallback.behavior": "static",
        "TriggerAuthentication spec.oauth2.type": "clientCredentials",
        "ClusterTriggerAuthentication spec.oauth2.type": "clientCredentials",
    }


def test_the_table_has_the_recorded_columns_and_behind_them_ours() -> None:
    recorded = exchange("custom resource: Table with printer columns")["response"]["body"]["columnDefinitions"]
    columns = CRDS["ScaledObject"]["spec"]["versions"][0]["additionalPrinterColumns"]
    ours = [(column["name"], column["type"], column.get("priority", 0)) for column in columns]
    assert ours == [
        *((column["name"], column["type"], column["priority"]) for column in recorded[1:]),
        ("Next", "string", 0),
        ("Why", "string", 0),
    ]


def without_our_events(fact: str) -> str:
    """Drop our event types: CloudEvents about kinds that KEDA lacks may be subscribed to beside its own."""
    for kind in get_args(CloudEventType):
        if kind.startswith("keda-py."):
            fact = fact.replace(f", '{kind}'", "")
    return fact


def test_field_for_field_the_crds_say_what_kedas_say() -> None:
    keda = set((HERE / "keda-2.20.2-crds.txt").read_text("utf-8").splitlines())
    ours = {fact for crd in build_crds() for fact in crd_facts.facts(crd)}
    ours = {without_our_events(fact) for fact in ours if "status.kedaPy" not in fact and ".keda-py.dev " not in fact}
    assert sorted(keda - ours) == [
        "clustertriggerauthentications.keda.sh spec.oauth2.type: "
        "type=string enum=['clientCredentials'] default=clientCredentials required",
        "scaledjobs.keda.sh spec.jobTargetRef.template.spec: type=object",
        "scaledjobs.keda.sh spec: type=object",
        "scaledobjects.keda.sh status.scaleTargetGVKR.group: type=string required",
        "triggerauthentications.keda.sh spec.oauth2.type: "
        "type=string enum=['clientCredentials'] default=clientCredentials required",
    ]
    assert sorted(ours - keda) == [
        "clustertriggerauthentications.keda.sh spec.oauth2.type: "
        "type=string enum=['clientCredentials'] default=clientCredentials",
        "scaledjobs.keda.sh spec.jobTargetRef.template.spec: type=object x-kubernetes-preserve-unknown-fields=True",
        "scaledjobs.keda.sh spec: type=object required",
        "scaledobjects.keda.sh status.scaleTargetGVKR.group: type=string",
        "triggerauthentications.keda.sh spec.oauth2.type: "
        "type=string enum=['clientCredentials'] default=clientCredentials",
    ]


@pytest.mark.parametrize("kind", list(CRDS))
def test_a_schema_is_structural(kind: str) -> None:
    for path, schema, _ in [("", schema_of(kind), True), *crd_facts.fields(schema_of(kind), "")]:
        assert schema.keys() <= ALLOWED, path
        assert "type" in schema or schema.get("x-kubernetes-int-or-string"), path
        assert not ("properties" in schema and "additionalProperties" in schema), path
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            assert key in schema["items"]["required"], path


@pytest.mark.parametrize("kind", list(CRDS))
def test_every_object_in_a_spec_explains_itself(kind: str) -> None:
    for path, schema, _ in crd_facts.fields(schema_of(kind), ""):
        if path.startswith("spec") and "properties" in schema and not path.endswith("]"):
            assert schema.get("description"), path
            assert len(schema["description"]) < 120, path


def test_the_status_that_only_we_write_is_kept_by_the_api_server() -> None:
    ours = schema_of("ScaledObject")["properties"]["status"]["properties"]["kedaPy"]["properties"]
    assert sorted(ours) == ["heldBack", "nextChange", "notes", "reason", "ruledBy", "since", "values"]


def test_a_job_template_keeps_every_field_of_its_pod() -> None:
    pod = {"containers": [{"name": "work", "image": "busybox", "env": [], "newField": 1}], "restartPolicy": "Never"}
    body = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledJob",
        "metadata": {"name": "work"},
        "spec": {
            "jobTargetRef": {"template": {"spec": pod}, "backoffLimit": 3},
            "triggers": [{"type": "redis", "metadata": {}}],
        },
    }
    assert refusals(body) == []
    assert parse_object(ScaledJob, body).spec.job_target_ref["template"]["spec"] == pod
    del body["spec"]["jobTargetRef"]["template"]["spec"]["containers"]
    assert refusals(body) == ["spec.jobTargetRef.template.spec"]


def test_printing_twice_prints_the_same() -> None:
    assert json.dumps(build_crds()) == json.dumps(build_crds())


def test_hpa_behavior_is_handed_on_as_it_came() -> None:
    behavior = CASES["behavior"]["input"]["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    advanced = parse_object(ScaledObject, CASES["behavior"]["input"]).spec.advanced
    assert advanced is not None
    assert advanced.horizontal_pod_autoscaler_config is not None
    assert advanced.horizontal_pod_autoscaler_config.behavior == behavior


class Plain(Wire):
    """Base class of the others."""

    size: Count
    """How large it is."""
    given: Annotated[Count, Field(description="said in code")]
    """Not this."""


class Special(Plain):
    """Subclass with a field of its own."""

    max_age: Count = 0
    """In seconds,
    at most."""
    silent: Count = 0


def test_what_is_written_under_a_field_is_its_description_also_where_it_is_inherited() -> None:
    found = structural(Special)["properties"]
    assert {name: field.get("description") for name, field in found.items()} == {
        "given": "said in code",
        "maxAge": "In seconds,\nat most.",
        "silent": None,
        "size": "How large it is.",
    }
