"""CloudEvents as a receiver reads them, whatever names and messages hold."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args
from urllib.parse import unquote

import pytest
from cloudevents.http import from_dict, from_http
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.cloud_event_source import CloudEventType, EventSubscription
from keda_py.core.cloud_events import TYPES, CloudEvent, Origin, is_wanted, reaches, write_batch, write_http

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOME = Origin(cluster="test-cluster", namespace="keda")
EVENT = CloudEvent(
    id="7d9f",
    type="keda.scaledobject.failed.v1",
    time=NOON,
    kind="ScaledObject",
    namespace="shop",
    name="Orders",
    reason="ScaledObjectCheckFailed",
    message="Target resource doesn't exist",
)
text = st.text(st.characters(codec="utf-8"), max_size=30)
times = st.timedeltas(timedelta(days=-700_000), timedelta(days=700_000)).map(
    lambda passed: (NOON + passed).astimezone(timezone(timedelta(hours=9)))
)
events = st.builds(
    CloudEvent,
    id=st.uuids().map(str),
    type=st.sampled_from(get_args(CloudEventType)),
    time=times,
    kind=st.sampled_from(["ScaledObject", "ClusterTriggerAuthentication"]),
    namespace=text,
    name=text,
    reason=text,
    message=text,
)


def test_an_event_is_written_as_the_go_sdk_writes_it() -> None:
    headers, body = write_http(EVENT, HOME)
    assert headers == {
        "ce-specversion": "1.0",
        "ce-id": "7d9f",
        "ce-type": "keda.scaledobject.failed.v1",
        "ce-source": "/test-cluster/keda/keda",
        "ce-subject": "/test-cluster/shop/scaledobject/orders",
        "ce-time": "2026-11-20T12:00:00.000000Z",
        "content-type": "application/json",
    }
    assert body == b'{"reason":"ScaledObjectCheckFailed","message":"Target resource doesn\'t exist"}'


def test_the_sdk_of_cloudevents_reads_both_forms() -> None:
    headers, body = write_http(EVENT, HOME)
    batch_headers, batch = write_batch(EVENT, HOME)
    assert batch_headers == {"content-type": "application/cloudevents-batch+json; charset=utf-8"}
    (structured,) = json.loads(batch)
    for read in (from_http(headers, body), from_dict(structured)):
        assert read.get_attributes() == {
            "specversion": "1.0",
            "id": "7d9f",
            "source": "/test-cluster/keda/keda",
            "type": "keda.scaledobject.failed.v1",
            "subject": "/test-cluster/shop/scaledobject/orders",
            "time": "2026-11-20T12:00:00.000000Z",
            "datacontenttype": "application/json",
        }
        assert read.get_data() == {"reason": "ScaledObjectCheckFailed", "message": "Target resource doesn't exist"}


def test_every_type_of_the_definition_has_an_event_and_no_other() -> None:
    assert set(TYPES.values()) == set(get_args(CloudEventType))


@given(event=events, origin=st.builds(Origin, cluster=text, namespace=text))
def test_whatever_it_tells_of_can_be_sent_and_read_back(event: CloudEvent, origin: Origin) -> None:
    headers, body = write_http(event, origin)
    for value in headers.values():
        assert all("\x21" <= one <= "\x7e" for one in value)
    subject = f"/{origin.cluster}/{event.namespace}/{event.kind.lower()}/{event.name.lower()}"
    assert unquote(headers["ce-subject"]) == subject
    assert unquote(headers["ce-source"]) == f"/{origin.cluster}/{origin.namespace}/keda"
    assert datetime.fromisoformat(headers["ce-time"]) == event.time
    assert (unquote(headers["ce-id"]), unquote(headers["ce-type"])) == (event.id, event.type)
    assert json.loads(body) == {"reason": event.reason, "message": event.message}


@pytest.mark.parametrize(
    ("included", "excluded", "wanted"),
    [
        ([], [], True),
        (["keda.scaledobject.failed.v1"], [], True),
        (["keda.scaledobject.ready.v1"], [], False),
        ([], ["keda.scaledobject.failed.v1"], False),
        ([], ["keda.scaledobject.ready.v1"], True),
        (["keda.scaledobject.failed.v1"], ["keda.scaledobject.failed.v1"], True),
    ],
)
def test_included_types_count_before_excluded_ones(included: list[str], excluded: list[str], wanted: bool) -> None:
    subscription = EventSubscription.model_validate({"includedEventTypes": included, "excludedEventTypes": excluded})
    assert is_wanted(EVENT.type, subscription) is wanted


@pytest.mark.parametrize(("namespace", "told"), [(EVENT.namespace, True), ("", True), ("other", False)])
def test_a_source_of_the_cluster_is_told_of_all_and_one_of_a_namespace_of_its_own(namespace: str, told: bool) -> None:
    assert reaches(EVENT, namespace) is told


def test_without_a_subscription_everything_is_wanted() -> None:
    assert is_wanted(EVENT.type, None)


def test_each_phase_of_an_environment_is_told() -> None:
    phases = ("Waking", "Awake", "FallingAsleep", "Asleep")
    told = [TYPES["Environment", f"Environment{phase}"] for phase in phases]
    assert told == [f"keda-py.environment.{phase.lower()}.v1" for phase in phases]


def test_whatever_is_wrong_with_an_environment_is_told() -> None:
    wrong = ("Contested", "Invalid", "Conflict", "HeldUp")
    told = [TYPES.get(("Environment", f"Environment{one}")) for one in wrong]
    assert told == [f"keda-py.environment.{one.lower()}.v1" for one in wrong]
