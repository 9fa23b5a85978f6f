"""Types that read Cloud Monitoring, which no server stands for: exchanges by its documented API."""

from typing import Any

import pytest

from tests.scalers.recorded.http_cases import HttpCase
from tests.scalers.recorded.stage import Stage

TOKEN = {"match": "POST /token", "body": {"access_token": "gtok", "expires_in": 3600}}
ASKS_TOKEN = {
    "m": "POST",
    "host": "oauth2.googleapis.com",
    "tls": True,
    "path": "/token",
    "form": {
        "assertion": '<jwt {"alg": "RS256", "kid": "kid1", "typ": "JWT"} {"aud": "https://oauth2.googleapis.com/token", '
        '"exp": <iat+3600>, "iat": "<now|unix>", "iss": "sa@proj-1.example", '
        '"scope": "https://www.googleapis.com/auth/monitoring.read"}>',
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    },
}
GOOGLE = {"host": "monitoring.googleapis.com", "tls": True, "headers": {"authorization": "Bearer gtok"}}


def points(*values: Any) -> dict[str, Any]:
    return {"timeSeries": [{"points": [{"value": value} for value in values]}]}


def data(*values: Any) -> dict[str, Any]:
    return {"timeSeriesData": [{"pointData": [{"values": [value]} for value in values]}]}


def case(trigger_type: str, metadata: Any, answer: Any, result: Any, *requests: Any, **more: Any) -> HttpCase:
    script = answer if "status" in answer else {"body": answer}
    spec = {"metric": more.pop("metric"), "targetType": "AverageValue", "targetMilli": more.pop("target")}
    return HttpCase(
        trigger_type,
        {
            "name": trigger_type,
            "metadata": metadata,
            "auth": {"GoogleApplicationCredentials": "{{GCPKEY}}"},
            "proxy": True,
            "answers": [TOKEN, {**script, "host": "monitoring"}],
            "specs": [spec],
            "results": [{"metric": spec["metric"], **result, "requests": [ASKS_TOKEN, *requests]}],
        },
    )


def stackdriver(answer: Any, result: Any, query: Any = None, **metadata: str) -> HttpCase:
    asked = {
        **GOOGLE,
        "m": "GET",
        "path": "/v3/projects/p-1/timeSeries",
        "query": {
            "filter": 'metric.type="x"',
            "interval.startTime": "<now-120s|rfc3339>",
            "interval.endTime": "<now|rfc3339>",
            **(query or {}),
        },
    }
    given = {"projectId": "p-1", "filter": 'metric.type="x"', "activationTargetValue": "2", **metadata}
    return case("gcp-stackdriver", given, answer, result, asked, metric="s0-gcp-stackdriver-p-1", target=5000)


ALIGNED = {
    "aggregation.alignmentPeriod": "60s",
    "aggregation.perSeriesAligner": "ALIGN_MAX",
    "aggregation.crossSeriesReducer": "REDUCE_NONE",
}


@pytest.mark.parametrize(
    "case",
    [
        stackdriver(points({"doubleValue": 2.5}, {"doubleValue": 9}), {"value": 2500, "active": True}),
        stackdriver(points({"int64Value": "2"}), {"value": 2000, "active": False}),
        stackdriver({}, {"error": "no series"}),
        stackdriver({}, {"value": 1500, "active": False}, valueIfNull="1.5"),
        stackdriver(points(), {"error": "no point"}, valueIfNull="1.5"),
        stackdriver(points({"boolValue": True}), {"error": "no number"}),
        stackdriver(points({"doubleValue": "NaN"}), {"error": "no number"}),
        stackdriver({"timeSeries": 5}, {"error": "no list"}),
        stackdriver({"status": 403, "body": {"error": {"message": "denied"}}}, {"error": "denied"}),
        stackdriver(
            points({"int64Value": "3"}),
            {"value": 3000, "active": True},
            ALIGNED,
            alignmentPeriodSeconds="60",
            alignmentAligner="max",
        ),
        stackdriver(
            points({"int64Value": "3"}),
            {"value": 3000, "active": True},
            {"interval.startTime": "<now-600s|rfc3339>"},
            filterDuration="10",
        ),
    ],
    ids=range(11),
)
async def test_a_time_series_is_asked_for_and_understood(stage: Stage, case: HttpCase) -> None:
    assert await case.difference(stage) == ""


async def test_the_depth_of_a_queue_of_tasks(stage: Stage) -> None:
    asked = {
        **GOOGLE,
        "m": "GET",
        "path": "/v3/projects/p-1/timeSeries",
        "query": {
            "filter": 'metric.type="cloudtasks.googleapis.com/queue/depth" AND resource.labels.queue_id="a\\"b"',
            "interval.startTime": "<now-120s|rfc3339>",
            "interval.endTime": "<now|rfc3339>",
        },
    }
    metadata = {"projectID": "p-1", "queueName": 'a"b'}
    result = {"value": 7000, "active": True}
    more = {"metric": 's0-gcp-ct-a"b', "target": 100_000}
    played = case("gcp-cloudtasks", metadata, points({"int64Value": "7"}), result, asked, **more)
    assert await played.difference(stage) == ""


SUBSCRIPTION = "filter (resource.project_id == 'proj-1' && resource.subscription_id == 's-1')"


@pytest.mark.parametrize(
    ("metadata", "project", "query"),
    [
        (
            {"subscriptionName": "s-1"},
            "proj-1",
            "fetch pubsub_subscription | metric 'pubsub.googleapis.com/subscription/num_undelivered_messages'"
            f" | {SUBSCRIPTION} | within 120s",
        ),
        (
            {"subscriptionName": "s-1", "mode": "OldestUnackedMessageAge", "aggregation": "percentile99"},
            "proj-1",
            "fetch pubsub_subscription | metric 'pubsub.googleapis.com/subscription/oldest_unacked_message_age'"
            f" | {SUBSCRIPTION} | within 300s | align delta(3m) | every 3m | group_by [], percentile(value, 99)",
        ),
        (
            {
                "topicName": "projects/p-2/topics/t'1",
                "mode": "MessageSizes",
                "aggregation": "sum",
                "timeHorizon": "1m",
            },
            "p-2",
            "fetch pubsub_topic | metric 'pubsub.googleapis.com/topic/message_sizes'"
            " | filter (resource.project_id == 'p-2' && resource.topic_id == 't\\'1')"
            " | within 60s | align delta(3m) | every 3m | group_by [], sum(value)",
        ),
    ],
)
async def test_what_is_asked_of_a_subscription_or_a_topic(
    stage: Stage, metadata: dict[str, str], project: str, query: str
) -> None:
    path = f"/v3/projects/{project}/timeSeries:query"
    asked = {**GOOGLE, "m": "POST", "path": path, "json": {"query": query}}
    name = (metadata.get("subscriptionName") or metadata["topicName"]).replace("/", "-")
    more = {"metric": f"s0-gcp-ps-{name}", "target": 10_000}
    result = {"value": 4000, "active": True}
    played = case("gcp-pubsub", metadata, data({"int64Value": "4"}), result, asked, **more)
    assert await played.difference(stage) == ""


async def test_an_aggregation_that_does_not_exist_is_told(bench: Any) -> None:
    auth = {"GoogleApplicationCredentials": "{}"}
    scaler = bench.scaler("gcp-pubsub", {"topicName": "t", "aggregation": "rate"}, auth=auth)
    told = " ".join(scaler.cautions)
    assert "aggregation: rate is not supported" in told
    assert "mode: a topic has no SubscriptionSize" in told
