"""`huawei-cloudeye`, which no server stands for and KEDA never asks: its documented API on the stage."""

import hmac
from hashlib import sha256
from typing import Any

import pytest

from keda_py.errors import ConfigError
from tests.scalers.recorded.conftest import papers, stage
from tests.scalers.recorded.http_cases import HttpCase
from tests.scalers.recorded.stage import Stage

__all__ = ["papers", "stage"]

KEYS = {"ProjectID": "p1", "Region": "r-4", "Cloud": "example.com", "AccessKey": "AK", "SecretKey": "SK"}
METADATA = {
    "namespace": "SYS.ELB",
    "metricName": "m1",
    "dimensionName": "id",
    "dimensionValue": "i-1",
    "targetMetricValue": "5",
}


def point(at: int, **values: Any) -> dict[str, Any]:
    return {"timestamp": at, **values}


def played(answer: Any, result: Any, **metadata: str) -> HttpCase:
    metric = {"namespace": "SYS.ELB", "metric_name": "m1", "dimensions": [{"name": "id", "value": "i-1"}]}
    body = {"metrics": [metric], "from": "<now-300s|unixms>", "to": "<now|unixms>", "period": "300"}
    asked = {
        "m": "POST",
        "tls": True,
        "host": "ces.r-4.example.com",
        "path": "/V1.0/p1/batch-query-metric-data",
        "json": {**body, "filter": metadata.get("metricFilter", "average")},
        "headers": {"x-project-id": "p1", "content-type": "application/json"},
        "info": {"authorization": "checked elsewhere"},
    }
    spec = {"metric": "s0-huawei-cloudeye-m1", "targetType": "AverageValue", "targetMilli": 5000}
    return HttpCase(
        "huawei-cloudeye",
        {
            "name": "scripted",
            "metadata": {**METADATA, **metadata},
            "auth": KEYS,
            "proxy": True,
            "answers": [answer],
            "specs": [spec],
            "results": [{"metric": spec["metric"], **result, "requests": [asked]}],
        },
    )


def points(*of: Any) -> dict[str, Any]:
    return {"body": {"metrics": [{"datapoints": list(of)}]}}


@pytest.mark.parametrize(
    "case",
    [
        played(
            points(point(1, average=9), point(3, average=2.5), point(2, average=8)), {"value": 2500, "active": True}
        ),
        played(points(point(1, sum=4)), {"value": 4000, "active": True}, metricFilter="sum"),
        played(points(point(1, max=4)), {"error": "no average"}),
        played(points(), {"error": "no point"}),
        played({"body": {"metrics": []}}, {"error": "no metric"}),
        played(points(point(1, average="4")), {"error": "no number"}),
        played({"status": 403, "body": {"error_msg": "denied"}}, {"error": "denied"}),
        played({"body": "<html>"}, {"error": "no JSON"}),
    ],
    ids=range(8),
)
async def test_a_metric_is_asked_for_and_understood(stage: Stage, case: HttpCase) -> None:
    assert await case.difference(stage) == ""


def test_the_question_is_signed_by_the_documented_rule() -> None:
    from datetime import UTC, datetime

    from pydantic import SecretStr

    from scalers.shared.credentials.huawei_signature import huawei_headers

    now = datetime(2026, 11, 21, 5, 56, tzinfo=UTC)
    headers = huawei_headers("https://ces.r.example.com/V1.0/p", b"{}", SecretStr("AK"), SecretStr("SK"), now)
    canonical = (
        "POST\n/V1.0/p/\n\ncontent-type:application/json\nhost:ces.r.example.com\nx-sdk-date:20261121T055600Z\n\n"
        f"content-type;host;x-sdk-date\n{sha256(b'{}').hexdigest()}"
    )
    text = f"SDK-HMAC-SHA256\n20261121T055600Z\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(b"SK", text.encode(), sha256).hexdigest()
    names = "SignedHeaders=content-type;host;x-sdk-date"
    assert headers["Authorization"] == f"SDK-HMAC-SHA256 Access=AK, {names}, Signature={signature}"


@pytest.mark.parametrize("key", ["ProjectID", "Region", "AccessKey", "SecretKey"])
async def test_a_key_that_is_missing_is_named(bench: Any, key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} not found"):
        bench.scaler("huawei-cloudeye", METADATA, auth={**KEYS, key: ""})
