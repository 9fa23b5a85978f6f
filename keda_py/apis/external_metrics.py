"""Wire types of `external.metrics.k8s.io/v1beta1`: the HPA controller's metrics.

`external_metrics/server.py` answers with these.
"""

from typing import Literal

from keda_py.apis.wire import Wire


class ExternalMetricValue(Wire):
    """Value at one time; `value` is a Kubernetes quantity, `timestamp` RFC 3339."""

    metric_name: str
    metric_labels: dict[str, str] | None = None
    timestamp: str
    value: str


class ListMeta(Wire):
    """Empty metadata of a list."""


class ExternalMetricValueList(Wire):
    """Answer to a request for one metric."""

    kind: Literal["ExternalMetricValueList"] = "ExternalMetricValueList"
    api_version: Literal["external.metrics.k8s.io/v1beta1"] = "external.metrics.k8s.io/v1beta1"
    metadata: ListMeta = ListMeta()
    items: list[ExternalMetricValue] = []
