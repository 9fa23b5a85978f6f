"""KEDA's protocol for external scalers: the messages of `externalscaler.proto`, and the paths of its methods.

Spoken by the trigger types `external` and `external-push`, and from the other side by `grpc_server.py`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from keda_py.sdk.messages import Fields, declare

SERVICE = "externalscaler.ExternalScaler"
IS_ACTIVE, STREAM_IS_ACTIVE = "IsActive", "StreamIsActive"
GET_METRIC_SPEC, GET_METRICS = "GetMetricSpec", "GetMetrics"
STREAM_METRIC_SPEC = "StreamMetricSpec"
"""Optional, from KEDA 2.21 on: metrics and targets, at once and whenever they change."""

_MESSAGES: Mapping[str, Fields] = {
    "ScaledObjectRef": {
        "name": (1, "string"),
        "namespace": (2, "string"),
        "scalerMetadata": (3, "map<string, string>"),
    },
    "IsActiveResponse": {"result": (1, "bool")},
    "GetMetricSpecResponse": {"metricSpecs": (1, "repeated MetricSpec")},
    "MetricSpec": {"metricName": (1, "string"), "targetSize": (2, "int64"), "targetSizeFloat": (3, "double")},
    "GetMetricsRequest": {"scaledObjectRef": (1, "ScaledObjectRef"), "metricName": (2, "string")},
    "GetMetricsResponse": {"metricValues": (1, "repeated MetricValue")},
    "MetricValue": {"metricName": (1, "string"), "metricValue": (2, "int64"), "metricValueFloat": (3, "double")},
}


@cache
def messages() -> Mapping[str, Any]:
    """The classes by name. Raises ConfigError where the library is not installed."""
    return declare("externalscaler", _MESSAGES)


def path(method: str) -> str:
    """Path of a gRPC method."""
    return f"/{SERVICE}/{method}"
