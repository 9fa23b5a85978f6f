"""Scale on a number inside an HTTP answer: JSON, YAML, XML, or the text format of Prometheus."""

from datetime import timedelta
from functools import cached_property, partial
from typing import Annotated, Literal

import httpx

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.http_failures import shown
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target
from scalers.shared.answers import exposition, gjson
from scalers.shared.answers.location import (
    XML_INLINE_BYTES,
    YAML_INLINE_BYTES,
    number_of,
    scalar_in_xml,
    scalar_in_yaml,
)
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_parameters, auth_tls
from scalers.shared.http_answer import HttpQuestion, KeptQuestion
from scalers.shared.service_endpoints import aggregate, endpoint_urls

_HONOURED: frozenset[AuthMode] = frozenset({"apiKey", "basic", "bearer", "tls"})


class MetricsApiMetadata(AuthModesMetadata):
    """Keys of `metrics-api`."""

    target_value: Annotated[float, Target()] = 0.0
    activation_target_value: Annotated[float, Activation()] = 0.0
    url: str
    format: Literal["prometheus", "json", "xml", "yaml"] = "json"
    value_location: str
    unsafe_ssl: bool = False
    aggregate_from_kube_service_endpoints: bool = False
    aggregation_type: Literal["average", "sum", "max", "min"] = "average"
    timeout: timedelta | None = None


class MetricsAPIScaler(Scaler[MetricsApiMetadata]):
    """One GET, or one for each endpoint of a Service; only status 200 is an answer."""

    metric_name = "metric-api-{value_location}"

    def __init__(self, metadata: MetricsApiMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        _check_url(metadata)
        self._tls = auth_tls(metadata, context, unsafe=metadata.unsafe_ssl)
        self._headers = auth_headers(metadata, _HONOURED)
        self._parameters = auth_parameters(metadata)

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, a path that cannot be followed fails each poll, not the ScaledObject."""
        path = self.metadata.value_location
        problems = {"json": gjson.path_problem, "prometheus": exposition.selector_problem}
        problem = problems[self.metadata.format](path) if self.metadata.format in problems else ""
        return (problem,) if problem else ()

    async def read(self) -> Reading:
        """Ask now; with several endpoints, those that fail are left out unless all fail."""
        try:
            if not self.metadata.aggregate_from_kube_service_endpoints:
                return Reading(value=await self._value(self._own_question))
            urls = await endpoint_urls(self.context.kube, self.metadata.url)
            return Reading(value=await aggregate(urls, self._ask, self.metadata.aggregation_type))
        except ScalerError as error:
            raise ScalerError(f"error requesting metrics endpoint: {error}") from None

    @cached_property
    def _own_question(self) -> KeptQuestion:
        return self._question(self.metadata.url)

    def _question(self, url: str) -> KeptQuestion:
        question = HttpQuestion(
            url=url,
            parameters=self._parameters,
            headers=self._headers,
            timeout=self.metadata.timeout,
            tls=self._tls,
        )
        return KeptQuestion(self.context, question)

    async def _ask(self, url: str) -> float:
        return await self._value(self._question(url))

    async def _value(self, question: KeptQuestion) -> float:
        answer = await question.ask()
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"{httpx.URL(shown(question.url)).path}: api returned {answer.status_code}")
        return await self._number(answer.content)

    async def _number(self, body: bytes) -> float:
        """Parse short answers here and long ones in another process."""
        path, parse = self.metadata.value_location, partial(self.context.parse, timeout=self.timeout)
        match self.metadata.format:
            case "json":
                return number_of(await parse(gjson.scalar_in, body, path, inline_bytes=gjson.INLINE_BYTES), path)
            case "yaml":
                return number_of(await parse(scalar_in_yaml, body, path, inline_bytes=YAML_INLINE_BYTES), path)
            case "xml":
                return number_of(await parse(scalar_in_xml, body, path, inline_bytes=XML_INLINE_BYTES), path)
            case "prometheus":
                lines = exposition.own_lines(body, path)
                return await parse(exposition.sample_in, lines, path, inline_bytes=exposition.INLINE_BYTES)


def _check_url(metadata: MetricsApiMetadata) -> None:
    """Refuse only what KEDA refuses: other addresses fail at the poll, and the HPA exists all the same."""
    if not metadata.aggregate_from_kube_service_endpoints:
        return
    try:
        host = httpx.URL(metadata.url).host
    except httpx.InvalidURL:
        host = ""
    if host.count(".") < 1:
        message = f'url: the host "{host}" must begin with <service>.<namespace> to aggregate from its endpoints'
        raise ConfigError(message, field="url")
