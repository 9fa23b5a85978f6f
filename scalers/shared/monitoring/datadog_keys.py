"""The keys of `datadog`: those of Datadog's API, and those of its cluster agent."""

from datetime import timedelta
from typing import Annotated, Literal, Self

import re2
from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import named
from keda_py.sdk.scaler import AUTH, TriggerMetadata, sources

_NONE = SecretStr("")
_SCOPE = re2.compile(r"\{.*\}")


class DatadogMetadata(TriggerMetadata):
    """Keys of `datadog`; which of them are required follows from `useClusterAgentProxy`."""

    use_cluster_agent_proxy: bool = False
    target_value: Annotated[float | None, named("targetValue", "queryValue")] = None
    type: str = ""
    metric_unavailable_value: float | None = None
    timeout: timedelta | None = None
    # The API
    api_key: Annotated[SecretStr, sources(AUTH)] = _NONE
    app_key: Annotated[SecretStr, sources(AUTH)] = _NONE
    datadog_site: Annotated[str, sources(AUTH)] = "datadoghq.com"
    query: str = ""
    query_aggregator: Literal["average", "max"] | None = None
    activation_query_value: float = 0.0
    age: Annotated[int, Field(ge=0)] = 90
    time_window_offset: Annotated[int, Field(ge=0)] = 0
    last_available_point_offset: Annotated[int, Field(ge=0)] = 0
    # The cluster agent
    datadog_namespace: Annotated[str, sources(AUTH)] = ""
    datadog_metrics_service: Annotated[str, sources(AUTH)] = ""
    datadog_metrics_service_port: Annotated[int, sources(AUTH)] = 8443
    unsafe_ssl: Annotated[bool, sources(AUTH)] = False
    auth_mode: Annotated[str, sources(AUTH)] = ""
    token: Annotated[SecretStr, sources(AUTH)] = _NONE
    datadog_metric_name: str = ""
    datadog_metric_namespace: str = ""
    activation_target_value: float = 0.0

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.type.lower() not in ("", "average", "global"):
            raise ValueError("type: has to be global or average; leave it out, and write metricType")
        for field, key in _AGENT_NEEDS if self.use_cluster_agent_proxy else _API_NEEDS:
            value = getattr(self, field)
            if not (value.get_secret_value() if isinstance(value, SecretStr) else value):
                raise ValueError(f"{key} is required: set it")
        if self.query and not _SCOPE.search(self.query):
            raise ValueError('query: malformed Datadog query, missing query scope: write it as in "avg:name{scope}"')
        self._check_proof()
        return self

    def _check_proof(self) -> None:
        if self.auth_mode not in ("", "bearer"):
            raise ValueError("authMode: is not known to the cluster agent: write bearer, or leave it out")
        if self.auth_mode and not self.token.get_secret_value():
            raise ValueError("authMode: bearer needs token: add it to the TriggerAuthentication")


_API_NEEDS = (("query", "query"), ("api_key", "apiKey"), ("app_key", "appKey"))
_AGENT_NEEDS = (
    ("datadog_namespace", "datadogNamespace"),
    ("datadog_metrics_service", "datadogMetricsService"),
    ("datadog_metric_name", "datadogMetricName"),
    ("datadog_metric_namespace", "datadogMetricNamespace"),
)
