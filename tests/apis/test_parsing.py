from typing import Any

import pytest

from keda_py.apis.parsing import parse_object
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import TriggerAuthentication
from keda_py.errors import ConfigError

TRIGGER: dict[str, Any] = {"type": "cron", "metadata": {"timezone": "UTC"}}
SPEC: dict[str, Any] = {"scaleTargetRef": {"name": "web"}, "triggers": [TRIGGER]}


def stored(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "managedFields": []}, "spec": SPEC | spec, "status": {"unheardOf": 1}}


def test_what_the_wire_calls_camel_case_is_read_and_the_unknown_ignored() -> None:
    parsed = parse_object(ScaledObject, stored(maxReplicaCount=5, noSuchField=1))
    assert parsed.spec.max_replica_count == 5
    assert parsed.spec.min_replica_count is None
    assert parsed.spec.triggers[0].metadata == {"timezone": "UTC"}


@pytest.mark.parametrize(
    ("spec", "field", "sentence"),
    [
        ({"maxReplicaCount": "five"}, "spec.maxReplicaCount", "must be a whole number"),
        ({"maxReplicaCount": 0}, "spec.maxReplicaCount", "0 is too low; use 1 or more"),
        ({"maxReplicaCount": 2**31}, "spec.maxReplicaCount", "2147483648 is too high; use 2147483647 or less"),
        ({"maxReplicaCount": True}, "spec.maxReplicaCount", "must be a whole number"),
        ({"maxReplicaCount": 2.5}, "spec.maxReplicaCount", "2.5 must be a whole number"),
        ({"scaleTargetRef": {}}, "spec.scaleTargetRef.name", "is required; add it"),
        ({"scaleTargetRef": {"name": ""}}, "spec.scaleTargetRef.name", "must not be empty"),
        ({"scaleTargetRef": "web"}, "spec.scaleTargetRef", "must be a map of keys and values"),
        ({"triggers": []}, "spec.triggers", "must not be empty"),
        ({"triggers": {}}, "spec.triggers", "must be a list"),
        ({"triggers": [{"type": "cron"}]}, "spec.triggers[0].metadata", "is required; add it"),
        (
            {"triggers": [TRIGGER, {"type": "cron", "metadata": {"desiredReplicas": 10}}]},
            "spec.triggers[1].metadata.desiredReplicas",
            "10 must be text; put the value in quotes",
        ),
        (
            {"fallback": {"failureThreshold": 3, "replicas": 1, "behavior": "sometimes"}},
            "spec.fallback.behavior",
            '"sometimes" is unknown; use "static"',
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_remedy(spec: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_object(ScaledObject, stored(**spec))
    assert str(caught.value).startswith(f"{field}: {sentence}")
    assert caught.value.field == field


def test_every_wrong_field_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_object(ScaledObject, {"metadata": {}, "spec": {"triggers": []}})
    assert str(caught.value) == (
        "metadata.name: is required; add it; spec.scaleTargetRef: is required; add it; spec.triggers: must not be empty"
    )


def test_a_value_that_may_be_a_secret_is_in_no_error_and_in_no_repr() -> None:
    vault = {"address": "https://vault", "authentication": "token", "credential": {"token": "hunter2"}}
    body = {"metadata": {"name": "a"}, "spec": {"hashiCorpVault": vault}}
    with pytest.raises(ConfigError) as caught:
        parse_object(TriggerAuthentication, body)
    assert str(caught.value) == "spec.hashiCorpVault.secrets: is required; add it"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    secrets = [{"parameter": "p", "path": "a", "key": "k"}]
    body = {"metadata": {"name": "a"}, "spec": {"hashiCorpVault": vault | {"secrets": secrets}}}
    parsed = parse_object(TriggerAuthentication, body)
    assert "hunter2" not in repr(parsed)
    assert parsed.spec.hashi_corp_vault is not None
    assert parsed.spec.hashi_corp_vault.credential is not None
    token = parsed.spec.hashi_corp_vault.credential.token
    assert token is not None
    assert token.get_secret_value() == "hunter2"
