"""Scale on the one value that a LogQL query of Loki answers."""

import math
from functools import cached_property
from typing import Annotated
from urllib.parse import urlsplit

from keda_py.sdk.advanced import EmptyAnswer, RedirectRule, ScalerContext
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, ScalerError, Target
from scalers.shared.answers.monitoring.prometheus_vector import INLINE_BYTES, Sample, read_vector, sample_number
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_tls
from scalers.shared.http_answer import HttpQuestion, KeptQuestion

_PATH = "/loki/api/v1/query"
_BEGINNINGS = (_PATH, "/loki/api/v1", "/loki")
_HONOURED: frozenset[AuthMode] = frozenset({"bearer", "basic", "tls", "custom"})
_PUBLIC_QUERY = RedirectRule(public=frozenset({"query"}))


class LokiMetadata(AuthModesMetadata):
    """Keys of `loki`."""

    server_address: str
    query: str
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0
    tenant_name: str = ""
    ignore_null_values: bool = True
    unsafe_ssl: bool = False


class LokiScaler(Scaler[LokiMetadata]):
    """An instant query; exactly one series is an answer."""

    metric_name = "loki"

    def __init__(self, metadata: LokiMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._url = _query_url(metadata.server_address)
        self._tls = auth_tls(metadata, context, unsafe=metadata.unsafe_ssl)

    @cached_property
    def _headers(self) -> dict[str, str]:
        tenant = {"X-Scope-OrgID": self.metadata.tenant_name} if self.metadata.tenant_name else {}
        return {**tenant, **auth_headers(self.metadata, _HONOURED)}

    @cached_property
    def _question(self) -> KeptQuestion:
        question = HttpQuestion(
            url=self._url,
            parameters={"query": self.metadata.query},
            headers=self._headers,
            tls=self._tls,
            redirects=_PUBLIC_QUERY,
        )
        return KeptQuestion(self.context, question)

    async def read(self) -> Reading:
        """Ask now; a server's refusal and an answer of another shape are errors."""
        answer = await self._question.ask()
        if not answer.is_success:
            raise ScalerError(f"loki query api returned error. status: {answer.status_code}")
        count, sample = await self.context.parse(read_vector, answer.content, "loki", inline_bytes=INLINE_BYTES)
        return self._reading(count, sample)

    def _reading(self, series: int, sample: Sample) -> Reading:
        if series > 1:
            raise ScalerError(f"loki query {self.metadata.query} returned multiple elements: aggregate to one")
        if not sample:
            return self._empty()
        if len(sample) == 1:
            raise ScalerError(f"loki query {self.metadata.query} didn't return enough values")
        if sample[1] is None:
            return Reading(value=0.0, note="null counts as 0")
        value = sample_number(sample[1], "loki")
        return Reading(value=value, note="" if math.isfinite(value) else f"{value} counts as 0 in the metric")

    def _empty(self) -> Reading:
        if not self.metadata.ignore_null_values:
            raise EmptyAnswer("loki metrics may be lost, the result is empty; ignoreNullValues is false")
        return Reading(value=0.0, note="the result is empty and counts as 0 (ignoreNullValues)", empty=True)


def _query_url(address: str) -> str:
    """Add the path unless the address has it; the rest of the address stays, but for its query."""
    try:
        url = urlsplit(address)
    except ValueError:
        message = "serverAddress: is not the address of a server: write it as http://loki:3100"
        raise ConfigError(message, field="serverAddress") from None
    path = url.path.rstrip("/")
    beginning = next((path.removesuffix(known) for known in _BEGINNINGS if path.endswith(known)), path)
    return url._replace(path=beginning + _PATH, query="", fragment="").geturl()
