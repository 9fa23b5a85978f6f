"""Scale on a query of Datadog's API, or on a DatadogMetric that its cluster agent serves."""

from functools import cached_property

import httpx

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ExternalMetric, ScalerContext, TlsSettings, check_target
from keda_py.sdk.scaler import ConfigError, Reading, Scaler, ScalerError
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.datadog_series import read_agent_value, read_message, read_series
from scalers.shared.http_answer import HttpQuestion, get
from scalers.shared.monitoring.datadog_keys import DatadogMetadata

_SITES = (
    *("datadoghq.com", "us3.datadoghq.com", "us5.datadoghq.com", "ap1.datadoghq.com", "ap2.datadoghq.com"),
    *("datadoghq.eu", "ddog-gov.com"),
)


class DatadogScaler(Scaler[DatadogMetadata]):
    """One question to the API or to the agent."""

    def __init__(self, metadata: DatadogMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if metadata.target_value in (None, -1) and not context.as_metric_source:
            raise ConfigError("no targetValue or queryValue given: set targetValue", field="targetValue")
        if metadata.type and context.metric_type:
            raise ConfigError("type: stands beside metricType: keep metricType", field="type")
        check_target(self.target, "targetValue", context)
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    @property
    def metric_name(self) -> str:
        """`datadog-<the query up to its scope>`, or the agent's own name of its metric."""
        metadata = self.metadata
        if metadata.use_cluster_agent_proxy:
            return f"datadogmetric@{metadata.datadog_metric_namespace}:{metadata.datadog_metric_name}"
        return f"datadog-{metadata.query.partition('{')[0]}"

    @property
    def target(self) -> float:
        """`targetValue`; 0 where a formula has its own."""
        return self.metadata.target_value if self.metadata.target_value not in (None, -1) else 0.0

    @property
    def activation(self) -> float:
        """`activationQueryValue`, and for the agent `activationTargetValue`."""
        own = self.metadata
        return own.activation_target_value if own.use_cluster_agent_proxy else own.activation_query_value

    async def specs(self) -> tuple[ExternalMetric, ...]:
        """The agent's metrics keep their names."""
        verbatim = self.metadata.use_cluster_agent_proxy
        return (ExternalMetric(name=self.metric_name, target=self.target, verbatim=verbatim),)

    async def open(self) -> None:
        """Raises ConfigError for a site that Datadog does not have."""
        if not self.metadata.use_cluster_agent_proxy and self.metadata.datadog_site not in _SITES:
            message = f"datadogSite: is not a site of Datadog: write one of {', '.join(_SITES)}"
            raise ConfigError(message, field="datadogSite")

    async def read(self) -> Reading:
        """Ask now."""
        return await (self._ask_agent() if self.metadata.use_cluster_agent_proxy else self._ask_api())

    async def _ask_api(self) -> Reading:
        metadata = self.metadata
        until = int(self.context.clock.now().timestamp()) - metadata.time_window_offset
        question = HttpQuestion(
            url=f"https://api.{metadata.datadog_site}/api/v1/query",
            parameters={"from": str(until - metadata.age), "to": str(until), "query": metadata.query},
            headers={
                "DD-API-KEY": metadata.api_key.get_secret_value(),
                "DD-APPLICATION-KEY": metadata.app_key.get_secret_value(),
            },
            timeout=metadata.timeout,
        )
        answer = await get(self.context, question)
        if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY and metadata.metric_unavailable_value is not None:
            return self._unavailable("Datadog cannot process the query")
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(_refusal(answer.status_code))
        offset = metadata.last_available_point_offset
        values = await self.context.parse(read_series, answer.content, offset, inline_bytes=INLINE_BYTES)
        return self._reading(values)

    def _reading(self, values: list[float | None]) -> Reading:
        if len(values) > 1 and self.metadata.query_aggregator is None:
            text = "query returned more than 1 series: make it return one, or add a queryAggregator"
            raise ScalerError(text)
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(values):
            return self._unavailable("no Datadog metrics returned for the given time window")
        return Reading(value=max(numbers) if self.metadata.query_aggregator == "max" else sum(numbers) / len(numbers))

    def _unavailable(self, what: str) -> Reading:
        if self.metadata.metric_unavailable_value is None:
            raise ScalerError(what)
        return Reading(
            value=self.metadata.metric_unavailable_value, note=f"{what} (metricUnavailableValue)", empty=True
        )

    @cached_property
    def _agent_question(self) -> HttpQuestion:
        metadata = self.metadata
        address = f"{metadata.datadog_metrics_service}.{metadata.datadog_namespace}"
        namespace = path_segment("datadogMetricNamespace", metadata.datadog_metric_namespace)
        path = f"namespaces/{namespace}/{path_segment('datadogMetricName', self.metric_name, safe='@:')}"
        token = {"Authorization": f"Bearer {metadata.token.get_secret_value()}"} if metadata.auth_mode else {}
        return HttpQuestion(
            url=f"https://{address}:{metadata.datadog_metrics_service_port}/apis/external.metrics.k8s.io/v1beta1/{path}",
            headers=token,
            timeout=metadata.timeout,
            tls=self._tls,
        )

    async def _ask_agent(self) -> Reading:
        answer = await get(self.context, self._agent_question)
        if (
            answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
            and self.metadata.metric_unavailable_value is not None
        ):
            return self._unavailable("the Datadog cluster agent has no value of the metric")
        if answer.status_code != httpx.codes.OK:
            reason = await self.context.parse(read_message, answer.content, inline_bytes=INLINE_BYTES)
            text = f"error getting metric value (status {answer.status_code}){': ' if reason else ''}{reason}"
            raise ScalerError(f"Datadog cluster agent: {text}")
        return Reading(value=await self.context.parse(read_agent_value, answer.content, inline_bytes=INLINE_BYTES))


def _refusal(status: int) -> str:
    match status:
        case httpx.codes.TOO_MANY_REQUESTS:
            return "your Datadog account reached the rate limit of its queries: poll less often, or raise the limit"
        case httpx.codes.FORBIDDEN:
            what = "your Datadog API and App keys are correct and your App key has the permission to read metrics"
            return f"unauthorized to connect to Datadog: check that {what}"
        case _:
            return f"error when retrieving Datadog metrics: status {status}"
