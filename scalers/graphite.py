"""Scale on the last value of a series that a query of Graphite renders."""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.graphite_render import read_render
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, KeptQuestion


class GraphiteMetadata(TriggerMetadata):
    """Keys of `graphite`."""

    server_address: str
    query: str
    threshold: Annotated[float, Target()] = 100.0
    activation_threshold: Annotated[float, Activation()] = 0.0
    query_time: str
    auth_mode: Literal["basic"] | None = None
    username: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    password: Annotated[SecretStr, sources(AUTH)] = SecretStr("")

    @model_validator(mode="after")
    def _check_basic(self) -> Self:
        if self.auth_mode == "basic" and not self.username.get_secret_value():
            raise ValueError("authMode: basic needs username: add it to the TriggerAuthentication")
        return self


class GraphiteScaler(Scaler[GraphiteMetadata]):
    """Renders one series from `queryTime` until now; points without a value are passed over."""

    metric_name = "graphite"

    @cached_property
    def _headers(self) -> dict[str, str]:
        """As in KEDA, sent with and without a user."""
        return basic(self.metadata.username, self.metadata.password)

    @cached_property
    def _question(self) -> KeptQuestion:
        metadata = self.metadata
        question = HttpQuestion(
            url=f"{metadata.server_address.rstrip('/')}/render",
            parameters={"from": metadata.query_time, "target": metadata.query, "format": "json"},
            headers=self._headers,
        )
        return KeptQuestion(self.context, question)

    async def read(self) -> Reading:
        """Ask now; no series, and one without points, count as 0."""
        metadata = self.metadata
        answer = await self._question.ask()
        if not answer.is_success:
            raise ScalerError(f"graphite: the render API returned status {answer.status_code}")
        series, points, value = await self.context.parse(read_render, answer.content, inline_bytes=INLINE_BYTES)
        if series > 1:
            raise ScalerError(f"graphite query {metadata.query} returned multiple series: make it return one")
        if not points:
            return Reading(value=0.0, note="no series or no points count as 0", empty=True)
        if value is None:
            text = f"no valid non-null response in query {metadata.query}, try increasing your queryTime"
            raise ScalerError(f"graphite: {text} or check your query")
        return Reading(value=value)
