"""Rules of KEDA's metadata of which no case was recorded: what it refuses is refused, and what it takes is taken."""

from typing import Any

import pytest

from keda_py.errors import ConfigError
from tests.scalers.conftest import Bench

SEARCH = {"index": "orders", "query": "{}", "valueLocation": "hits.total.value", "targetValue": "6"}
_PLACE = "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=r;SharedAccessKey=c2VjcmV0"
_STORE = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net"
HUB = {"connection": f"{_PLACE};entitypath=clicks", "storageConnection": _STORE}
TOPIC = {"bootstrapServers": "kafka:9092", "consumerGroup": "g", "topic": "t"}
TABLE = {"username": "ann", "keyspace": "shop", "query": "SELECT COUNT(*) FROM t", "targetQueryValue": "3"}
METRIC = {
    "targetValue": "6",
    "tenantId": "ten",
    "subscriptionId": "sub",
    "resourceGroupName": "group",
    "metricName": "hits",
    "metricAggregationType": "Average",
    "activeDirectoryClientId": "client",
    "activeDirectoryClientPassword": "pw",
}
DOG = {"query": "sum:orders.open{env:x}", "queryValue": "7"}
AGENT = {"useClusterAgentProxy": "true", "datadogMetricName": "dm", "datadogMetricNamespace": "ns", "targetValue": "4"}
DOG_KEYS = {"apiKey": "a", "appKey": "b"}
AGENT_KEYS = {"datadogNamespace": "n", "datadogMetricsService": "s"}
FORECAST = {
    "prometheusAddress": "http://prom:9090",
    "query": "sum(x)",
    "predictHorizon": "2h",
    "queryStep": "2m",
    "historyTimeWindow": "7d",
    "threshold": "100",
}
FORECAST_KEY = {"apiKey": "a.b.c"}
PASSWORD = {"password": "pw"}


@pytest.mark.parametrize(
    ("trigger_type", "metadata", "auth", "message"),
    [
        ("elasticsearch", SEARCH, {}, "must provide either cloud config"),
        ("elasticsearch", {**SEARCH, "cloudID": "c:1", "apiKey": "k"}, PASSWORD, "can't provide both cloud config"),
        (
            "elasticsearch",
            {**SEARCH, "cloudID": "c:1", "apiKey": "k", "username": "ann"},
            {},
            "can't provide both cloud config",
        ),
        ("elasticsearch", {**SEARCH, "cloudID": "c:1", "username": "ann"}, {}, "can't provide both cloud config"),
        ("kafka", {**TOPIC, "partitionLimitation": "2147483648"}, {}, "partitionLimitation: is out of range"),
        ("kafka", {**TOPIC, "topic": "", "partitionLimitation": "99999999999"}, {}, "partitionLimitation"),
        ("azure-monitor", {**METRIC, "resourceURI": "a/b/c/d"}, {}, "namespace/resource_type/resource_name"),
        ("datadog", {**DOG, "age": "-1"}, DOG_KEYS, "age"),
        ("datadog", {**AGENT, "age": "-1"}, AGENT_KEYS, "age"),
        ("datadog", {**AGENT, "query": "no scope"}, AGENT_KEYS, "malformed Datadog query"),
        ("datadog", DOG, {**DOG_KEYS, "authMode": "basic"}, "authMode"),
        ("datadog", DOG, {**DOG_KEYS, "authMode": "bearer"}, "token"),
        (
            "kafka",
            {**TOPIC, "topic": "", "fullMetadata": "false"},
            {},
            "topic must be specified when using fullMetadata",
        ),
        ("cassandra", {**TABLE, "clusterIPAddress": "cas.shop:x"}, PASSWORD, "no port given"),
        ("cassandra", {**TABLE, "clusterIPAddress": "cas.shop:"}, PASSWORD, "no port given"),
        ("predictkube", {**FORECAST, "predictHorizon": "-"}, FORECAST_KEY, "predictHorizon"),
        ("predictkube", {**FORECAST, "predictHorizon": "300000d"}, FORECAST_KEY, "predictHorizon"),
    ],
)
def test_what_keda_refuses_is_refused(
    bench: Bench, trigger_type: str, metadata: dict[str, str], auth: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        bench.scaler(trigger_type, metadata, auth=auth)


@pytest.mark.parametrize(
    ("trigger_type", "metadata", "auth", "metric", "cautions"),
    [
        ("kafka", {**TOPIC, "partitionLimitation": "2147483647,3-1"}, {}, "kafka-t", 0),
        ("kafka", {**TOPIC, "topic": "", "partitionLimitation": "5-3"}, {}, "kafka-g-topics", 0),
        ("kafka", {**TOPIC, "fullMetadata": "false"}, {}, "kafka-t", 0),
        ("kafka", {**TOPIC, "topic": "", "fullMetadata": "true"}, {}, "kafka-g-topics", 0),
        ("azure-eventhub", {"eventHubName": "clicks"}, HUB, "azure-eventhub-$Default", 0),
        ("azure-eventhub", {"eventHubName": "other"}, HUB, "azure-eventhub-$Default", 1),
        ("apache-kafka", {**TOPIC, "partitionLimitation": "5-3"}, {}, "kafka-t", 1),
        ("apache-kafka", {**TOPIC, "partitionLimitation": "99999999999"}, {}, "kafka-t", 0),
        ("azure-monitor", {**METRIC, "resourceURI": "a//c"}, {}, "azure-monitor-hits", 0),
        ("datadog", {**DOG, "age": "0"}, DOG_KEYS, "datadog-sum:orders.open", 0),
        ("cassandra", {**TABLE, "clusterIPAddress": "cas.shop:x", "port": "9042"}, PASSWORD, "cassandra-shop", 0),
        *(
            ("predictkube", {**FORECAST, key: span}, FORECAST_KEY, "predictkube-predictkube_metric", span[0] == "-")
            for key in ("predictHorizon", "queryStep", "historyTimeWindow")
            for span in ("-1h", "+1.5h", ".5d", "0", "1w2d3h4m5s6ms7us8ns", "9000000ms")
        ),
    ],
)
def test_what_keda_takes_is_taken(
    bench: Bench, trigger_type: str, metadata: dict[str, str], auth: dict[str, str], metric: str, cautions: int
) -> None:
    scaler: Any = bench.scaler(trigger_type, metadata, auth=auth)
    assert (scaler.metric_name, len(scaler.cautions)) == (metric, cautions)
