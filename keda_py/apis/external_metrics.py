"""`external.metrics.k8s.io/v1beta1`: what the HPA controller gets when it asks for a metric.

`external_metrics/server.py` answers with these.
"""

from typing import Literal

from keda_py.apis.wire import Wire


class ExternalMetricValue(Wire):
    """One value at one time; `value` is a Kubernetes quantity, `timestamp` RFC 3339."""

    metric_name: str
    metric_labels: dict[str, str] | None = None
    timestamp: str
    value: str


class ListMeta(Wire):
    """Metadata of a list that has none."""


class ExternalMetricValueList(Wire):
    """The answer to one question."""

    kind: Literal["ExternalMetricValueList"] = "ExternalMetricValueList"
    api_version: Literal["external.metrics.k8s.io/v1beta1"] = "external.metrics.k8s.io/v1beta1"
    metadata: ListMeta = ListMeta()
    items: list[ExternalMetricValue] = []
