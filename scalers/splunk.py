"""Scale on a field of the result of a saved search in Splunk."""

import math
from functools import cached_property
from typing import Annotated
from urllib.parse import urlencode

from pydantic import SecretStr

from keda_py.core.values.urls import is_http_url, path_segment
from keda_py.sdk.advanced import ScalerContext, TlsSettings
from keda_py.sdk.http_failures import shown
from keda_py.sdk.scaler import (
    AUTH,
    Activation,
    ConfigError,
    Reading,
    Scaler,
    ScalerError,
    Target,
    TriggerMetadata,
    sources,
)
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.splunk_export import read_field
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, ask


class SplunkMetadata(TriggerMetadata):
    """Keys of `splunk`."""

    api_token: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    password: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    username: Annotated[SecretStr, sources(AUTH)]
    host: str
    unsafe_ssl: bool = False
    target_value: Annotated[int, Target()]
    activation_value: Annotated[int, Activation()]
    saved_search_name: str
    value_field: str


class SplunkScaler(Scaler[SplunkMetadata]):
    """Runs the saved search as its user, and takes the first result."""

    metric_name = "splunk-{saved_search_name}"

    def __init__(self, metadata: SplunkMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if not is_http_url(metadata.host):
            raise ConfigError("host: is not a URL: write it as https://splunk.example.com:8089", field="host")
        if metadata.api_token.get_secret_value() and metadata.password.get_secret_value():
            message = "apiToken and password exclude each other: keep one in the TriggerAuthentication"
            raise ConfigError(message, field="apiToken")
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    @cached_property
    def _question(self) -> HttpQuestion:
        user = self.metadata.username.get_secret_value()
        host = self.metadata.host.rstrip("/")
        return HttpQuestion(
            method="POST",
            url=f"{host}/servicesNS/{path_segment('username', user)}/search/search/jobs/export",
            shown=f"{shown(host)}/servicesNS",
            parameters={"output_mode": "json"},
            content=urlencode({"search": f"savedsearch {self.metadata.saved_search_name}"}).encode(),
            headers={"Authorization": self._authorization(user), "Content-Type": "application/x-www-form-urlencoded"},
            tls=self._tls,
        )

    def _authorization(self, user: str) -> str:
        if token := self.metadata.api_token.get_secret_value():
            return f"Bearer {token}"
        return basic(user, self.metadata.password)["Authorization"]

    async def read(self) -> Reading:
        """Run it now; as in KEDA, the whole part of the value is compared with `activationValue`."""
        answer = await ask(self.context, self._question)
        if answer.is_error:
            raise ScalerError(f"splunk: the saved search was answered with status {answer.status_code}")
        field = self.metadata.value_field
        value = await self.context.parse(read_field, answer.content, field, inline_bytes=INLINE_BYTES)
        if not math.isfinite(value):
            return Reading(value=0.0, active=False, note=f"{value} counts as 0")
        return Reading(value=value, active=math.trunc(value) > self.metadata.activation_value)
