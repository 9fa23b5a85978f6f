"""The JSON Schema that editors and CI take: right manifests pass, and a typing error does not."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from keda_py.cli import main
from keda_py.errors import ConfigError
from keda_py.sdk.json_schema import manifest_schema
from keda_py.sdk.registry import trigger_types
from keda_py.sdk.type_pages import page_of
from tests.builders import bare_scaled_object
from tests.places import ROOT

REDIS = {"type": "redis", "metadata": {"address": "redis:6379", "listName": "jobs"}}


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(manifest_schema("ScaledObject"))


@pytest.mark.parametrize("trigger_type", trigger_types())
def test_the_example_of_each_type_is_right(trigger_type: str) -> None:
    trigger = {"type": trigger_type, "metadata": dict(page_of(trigger_type).example)}
    assert [error.message for error in validator().iter_errors(bare_scaled_object(trigger))] == []


@pytest.mark.parametrize(("trigger_type", "key"), [("liiklus", "address"), ("temporal", "buildId")])
def test_a_key_that_will_be_taken_away_is_marked_for_editors(trigger_type: str, key: str) -> None:
    [schema] = [one for one in objects_in(validator().schema) if one.get("title") == trigger_type]
    keys = schema["properties"]["metadata"]["properties"]
    assert next(name for name, value in keys.items() if value.get("deprecated")) == key


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield each object of a schema, at any depth."""
    if isinstance(schema, dict):
        yield schema
    for inside in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects_in(inside)


def test_the_manifests_of_the_examples_are_right() -> None:
    folders = [folder for folder in (ROOT / "examples").iterdir() if not (folder / "pyproject.toml").exists()]
    texts = [file.read_text(encoding="utf-8") for folder in folders for file in folder.glob("*.yaml")]
    found = [one for text in texts for one in yaml.safe_load_all(text) if one and one["kind"] == "ScaledObject"]
    assert found
    assert [error.message for one in found for error in validator().iter_errors(one)] == []


@pytest.mark.parametrize(
    "trigger",
    [
        {**REDIS, "metadata": {**REDIS["metadata"], "listLenght": "5"}},
        {**REDIS, "metadata": {**REDIS["metadata"], "listLength": 5}},
        {**REDIS, "metadata": {"address": "redis:6379"}},
        {**REDIS, "type": "rediss"},
        {**REDIS, "autenticationRef": {"name": "a"}},
        {"type": "metrics-api", "metadata": {"url": "u", "valueLocation": "v", "format": "jsn"}},
    ],
    ids=[
        "a key is misspelt",
        "a number is no text",
        "a key is missing",
        "no such type",
        "no such field",
        "no such choice",
    ],
)
def test_what_is_wrong_is_found(trigger: dict[str, Any]) -> None:
    assert validator().is_valid(bare_scaled_object(REDIS))
    assert not validator().is_valid(bare_scaled_object(trigger))


def test_the_command_prints_it_for_each_kind_with_triggers(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["scalers", "schema", "ScaledJob"]) == 0
    schema = json.loads(capsysbinary.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["kind"] == {"const": "ScaledJob"}


def test_a_kind_without_triggers_has_the_schema_of_its_definition() -> None:
    validator = Draft202012Validator(manifest_schema("Environment"))
    given = {"apiVersion": "keda-py.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "dev"}}
    assert list(validator.iter_errors({**given, "spec": {"calendarRef": {"name": "office"}}})) == []
    assert list(validator.iter_errors({**given, "spec": {"waves": "data"}})) != []


def test_a_kind_of_others_has_none() -> None:
    with pytest.raises(ConfigError, match="'Deployment' is not a kind of ours; write one of ScaledObject, ScaledJob"):
        manifest_schema("Deployment")
