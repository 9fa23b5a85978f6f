"""Scale on the one value that a PromQL query answers."""

import math
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Literal

from keda_py.cloud.azure_clouds import CLOUDS, scope_of
from keda_py.sdk.advanced import META, Destination, EmptyAnswer, RedirectRule, ScalerContext, named
from keda_py.sdk.scaler import AUTH, Activation, ConfigError, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.answers.monitoring.prometheus_vector import INLINE_BYTES, Sample, read_vector, sample_number
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_tls
from scalers.shared.aws.aws import AwsAuthMetadata
from scalers.shared.aws.aws_signature import AwsSigner
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.gcp import GcpAuthMetadata, gcp_token
from scalers.shared.http_answer import HttpQuestion, get

_GCP_SCOPE = "https://www.googleapis.com/auth/monitoring.read"
_PUBLIC_QUERY = RedirectRule(public=frozenset({"query"}))
_HONOURED: frozenset[AuthMode] = frozenset({"bearer", "basic", "tls", "custom"})


class PrometheusMetadata(AuthModesMetadata, AwsAuthMetadata, GcpAuthMetadata):
    """Keys of `prometheus`."""

    server_address: str
    query: str
    query_parameters: dict[str, str] = {}
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0
    namespace: str = ""
    custom_headers: dict[str, str] = {}
    ignore_null_values: bool = True
    unsafe_ssl: bool = False
    aws_region: Annotated[str, sources(META, AUTH)] = ""
    timeout: timedelta | None = None
    cloud: Literal["AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", "Private"] = "AzurePublicCloud"
    azure_managed_prometheus_resource_url: Annotated[str, named("azureManagedPrometheusResourceURL")] = ""


class PrometheusScaler(Scaler[PrometheusMetadata]):
    """An instant query at the moment of the clock; exactly one series is an answer."""

    metric_name = "prometheus"

    def __init__(self, metadata: PrometheusMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        provider = context.pod_identity.provider
        if metadata.auth_modes and provider != "none":
            raise ConfigError(
                f"authModes: cannot be combined with podIdentity {provider}: remove one", field="authModes"
            )
        # A certificate or authority of its own replaces the client in KEDA, and unsafeSsl with it.
        unsafe = metadata.unsafe_ssl and not (metadata.auth_modes and (metadata.ca or "tls" in metadata.auth_modes))
        self._tls = auth_tls(metadata, context, unsafe=unsafe)
        self._signer: Signer | None = None

    async def open(self) -> None:
        """Prepare to prove who asks, where a cloud's managed Prometheus is asked; the last that applies counts."""
        if self.metadata.auth_modes:
            return
        to = Destination(url=self.metadata.server_address, field="serverAddress")
        if self.context.pod_identity.provider == "azure-workload":
            azure = replace(to, service="azure prometheus")
            scope, authority = _azure_scope(self.metadata)
            self._signer = BearerToken(await azure_token(self.context, scope, azure, authority))
        if source := await gcp_token(self.context, self.metadata, _GCP_SCOPE, to):
            self._signer = BearerToken(source)
        if region := self.metadata.aws_region:
            amazon = replace(to, service="amazon prometheus")
            self._signer = await AwsSigner.open(self.context, self.metadata, ("aps", region), amazon)

    @cached_property
    def _headers(self) -> dict[str, str]:
        return {**self.metadata.custom_headers, **auth_headers(self.metadata, _HONOURED)}

    async def read(self) -> Reading:
        """Ask now; a server's refusal and an answer of another shape are errors."""
        question = self._question()
        if self._signer is not None:
            question = await self._signer.sign(question)
        answer = await get(self.context, question)
        if not answer.is_success:
            raise ScalerError(f"prometheus query api returned error. status: {answer.status_code}")
        count, sample = await self.context.parse(
            read_vector, answer.content, inline_bytes=INLINE_BYTES, timeout=self.timeout
        )
        return self._reading(count, sample)

    def _question(self) -> HttpQuestion:
        metadata = self.metadata
        parameters = {
            "query": metadata.query,
            "time": self.context.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"namespace": metadata.namespace} if metadata.namespace else {}),
            **metadata.query_parameters,
        }
        return HttpQuestion(
            url=f"{metadata.server_address.rstrip('/')}/api/v1/query",
            parameters=parameters,
            headers=self._headers,
            timeout=metadata.timeout,
            tls=self._tls,
            redirects=_redirects(metadata),
        )

    def _reading(self, series: int, sample: Sample) -> Reading:
        if series > 1:
            raise ScalerError(f"prometheus query {self.metadata.query} returned multiple elements: aggregate to one")
        if not sample:
            return self._empty()
        if len(sample) == 1:
            raise ScalerError(f"prometheus query {self.metadata.query} didn't return enough values")
        if sample[1] is None:
            return Reading(value=-1.0, note="null counts as -1")
        value = sample_number(sample[1])
        if not math.isfinite(value):
            return self._null(f"the result is {value}", "prometheus query returns a value that is not a number")
        return Reading(value=value)

    def _empty(self) -> Reading:
        lost = "prometheus metrics 'prometheus' target may be lost"
        try:
            return replace(self._null("the result is empty", lost), empty=True)
        except ScalerError as error:
            raise EmptyAnswer(str(error)) from None

    def _null(self, what: str, error: str) -> Reading:
        if not self.metadata.ignore_null_values:
            raise ScalerError(f"{error}, {what}; ignoreNullValues is false")
        return Reading(value=0.0, note=f"{what} and counts as 0 (ignoreNullValues)")


def _redirects(metadata: PrometheusMetadata) -> RedirectRule:
    """Let a redirect keep the query, which is no secret; further parameters may be secret and stay behind."""
    others = metadata.query_parameters or "?" in metadata.server_address
    return RedirectRule() if others else _PUBLIC_QUERY


def _azure_scope(metadata: PrometheusMetadata) -> tuple[str, str]:
    """Return the scope and the login of the cloud; "" where only the operator's environment tells it."""
    if metadata.cloud != "Private":
        cloud = CLOUDS[metadata.cloud]
        return scope_of(cloud.prometheus), cloud.authority
    if not metadata.azure_managed_prometheus_resource_url:
        key = "azureManagedPrometheusResourceURL"
        raise ConfigError(f"{key} must be provided for Private cloud type: write the resource's URL", field=key)
    return metadata.azure_managed_prometheus_resource_url, ""
