"""The checks of admission for ScaledJobs, authentications and event sources."""

from typing import Any

import pytest

from keda_py.apis.cloud_event_source import CloudEventSource
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.trigger_authentication import TriggerAuthentication
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.admission.other_kinds import check_authentication, check_cloud_event_source, check_scaled_job

REDIS = {"type": "redis", "metadata": {"listName": "jobs"}}


def test_a_scaled_job_with_wrong_annotations_of_ours_is_denied_with_each_of_them() -> None:
    annotations = {
        "keda-py.dev/namespace-max-jobs": "0",
        "keda-py.dev/active-when": "both",
        "keda-py.dev/cooldown": "x",
    }
    meta = {"name": "job", "annotations": annotations}
    spec = {"jobTargetRef": {}, "triggers": [REDIS]}
    found = list(check_scaled_job(ScaledJob.model_validate({"metadata": meta, "spec": spec})))
    assert [one.reason for one in found] == ["incorrect-annotation"] * 3
    assert {one.field for one in found} == {f"metadata.annotations[{name}]" for name in annotations}


def test_a_scaled_job_is_checked_for_its_triggers_and_not_for_its_bounds() -> None:
    twice = [{**REDIS, "name": "x"}, {**REDIS, "name": "x"}]
    spec = {"jobTargetRef": {}, "minReplicaCount": 9, "maxReplicaCount": 3}
    meta = {"name": "job"}
    assert (
        list(check_scaled_job(ScaledJob.model_validate({"metadata": meta, "spec": {**spec, "triggers": [REDIS]}})))
        == []
    )
    [found] = check_scaled_job(ScaledJob.model_validate({"metadata": meta, "spec": {**spec, "triggers": twice}}))
    assert found.reason == "incorrect-triggers"


def authentication_denials(**spec: Any) -> list[str]:
    obj = TriggerAuthentication.model_validate({"metadata": {"name": "auth"}, "spec": spec})
    return [found.message for found in check_authentication(obj)]


NO_ID = 'identityId of PodIdentity should not be empty. If it\'s set, identityId has to be different than ""'
NO_TENANT = (
    'identityTenantId of PodIdentity should not be empty. If it\'s set, identityTenantId has to be different than ""'
)
HOST_WITHOUT_TENANT = (
    "identityTenantID of PodIdentity should not be nil or empty when identityAuthorityHost of PodIdentity is set"
)
ROLE_OF_ANOTHER = "roleArn of PodIdentity can't be set if KEDA isn't identityOwner"
OAUTH2 = {"type": "clientCredentials", "clientId": "me", "tokenUrl": "https://id.example.com/token"}


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        pytest.param({"provider": "azure-workload"}, [], id="azure"),
        pytest.param({"provider": "azure-workload", "identityId": ""}, [NO_ID], id="azure empty id"),
        pytest.param({"provider": "azure-workload", "identityTenantId": ""}, [NO_TENANT], id="azure empty tenant"),
        pytest.param({"provider": "azure-workload", "identityAuthorityHost": "h"}, [HOST_WITHOUT_TENANT], id="azure host"),
        pytest.param({"provider": "azure-workload", "identityAuthorityHost": "h", "identityTenantId": "t"}, [], id="azure host and tenant"),
        pytest.param({"provider": "aws", "roleArn": "r"}, [], id="aws role"),
        pytest.param({"provider": "aws", "roleArn": "r", "identityOwner": "workload"}, [ROLE_OF_ANOTHER], id="aws role of another"),
        pytest.param({"provider": "aws", "externalID": "e"}, ["externalID of PodIdentity requires roleArn to be set"], id="aws external id"),
        pytest.param({"provider": "aws", "externalID": "e", "roleArn": "r"}, [], id="aws external id and role"),
        pytest.param({"provider": "gcp", "identityId": ""}, [], id="gcp has no rules"),
    ],
)  # fmt: skip
def test_identities_are_checked_as_keda_does(identity: dict[str, str], expected: list[str]) -> None:
    assert authentication_denials(podIdentity=identity) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="good"),
        pytest.param({"clientId": ""}, ["oauth2.clientId is required when oauth2 is configured"], id="no client"),
        pytest.param({"tokenUrl": ""}, ["oauth2.tokenUrl is required when oauth2 is configured"], id="no URL"),
        pytest.param({"tokenUrl": "id.example.com"}, ["oauth2.tokenUrl must be a valid http or https URL"], id="relative"),
        pytest.param({"tokenUrl": "ftp://a/b"}, ["oauth2.tokenUrl must be a valid http or https URL"], id="ftp"),
        pytest.param({"tokenUrl": "http://[::1"}, ["oauth2.tokenUrl must be a valid http or https URL"], id="broken"),
    ],
)  # fmt: skip
def test_oauth2_needs_a_client_and_an_address(changes: dict[str, str], expected: list[str]) -> None:
    assert authentication_denials(oauth2=OAUTH2 | changes) == expected


def test_an_identity_without_rules_hides_oauth2_as_in_keda() -> None:
    assert authentication_denials(podIdentity={"provider": "gcp"}, oauth2=OAUTH2 | {"clientId": ""}) == []
    assert authentication_denials(podIdentity={"provider": "aws"}, oauth2=OAUTH2 | {"clientId": ""}) != []


READY, CREATED = "keda.scaledobject.ready.v1", "keda.authentication.triggerauthentication.created.v1"


@pytest.mark.parametrize(
    ("subscription", "expected"),
    [
        pytest.param({"includedEventTypes": [READY]}, [], id="included"),
        pytest.param(
            {"includedEventTypes": [READY], "excludedEventTypes": [READY]},
            ["setting included types and excluded types at the same time is not supported"],
            id="both",
        ),
        pytest.param(
            {"excludedEventTypes": [CREATED]},
            [f"excludedEventType: {CREATED} in cloudeventsource/clustercloudeventsource spec is not supported"],
            id="a type that the CRD lists and KEDA does not",
        ),
    ],
)
def test_event_sources_are_checked_as_keda_does(subscription: dict[str, Any], expected: list[str]) -> None:
    spec = {"destination": {"http": {"uri": "http://sink"}}, "eventSubscription": subscription}
    obj = CloudEventSource.model_validate({"metadata": {"name": "events"}, "spec": spec})
    assert [found.message for found in check_cloud_event_source(obj)] == expected


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"destination": {}}, "spec.destination"),
        ({"destination": {"http": {"uri": "sink:8080"}}}, "spec.destination.http.uri"),
        ({"destination": {"http": {"uri": "http://[::1"}}}, "spec.destination.http.uri"),
        (
            {"destination": {"azureEventGridTopic": {"endpoint": ""}}},
            "spec.destination.azureEventGridTopic.endpoint",
        ),
        (
            {"destination": {"http": {"uri": "http://sink"}}, "authenticationRef": {"name": "key"}},
            "spec.authenticationRef",
        ),
    ],
)
def test_a_destination_that_does_not_do_what_it_says_is_warned_of(spec: dict[str, Any], field: str) -> None:
    obj = CloudEventSource.model_validate({"metadata": {"name": "events"}, "spec": spec})
    (found,) = check_cloud_event_source(obj)
    assert isinstance(found, AdmissionWarning)
    assert found.field == field
    assert found.message.startswith(f"{field}: ")
