"""Scale on a metric of Application Insights."""

from typing import Annotated

import httpx
from pydantic import SecretStr, field_validator

from keda_py.core.values.urls import path_segment, path_segments
from keda_py.sdk.advanced import META, Destination, ScalerContext, named
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, ScalerError, Target, sources
from scalers.shared.azure.cloud_keys import of_cloud
from scalers.shared.azure.measurements import INLINE_BYTES, value_of_metric
from scalers.shared.azure.principal import PrincipalMetadata, PrincipalScaler
from scalers.shared.http_answer import HttpQuestion, get

_ALL = sources(META, AUTH, ENV)


class AzureAppInsightsMetadata(PrincipalMetadata):
    """Keys of `azure-app-insights`."""

    principal_fields = ("tenant_id", "active_directory_client_id", "active_directory_client_password")

    target_value: Annotated[float, Target()] = 0.0
    activation_target_value: Annotated[float, Activation()] = 0.0
    metric_id: str
    metric_aggregation_timespan: str
    metric_aggregation_type: str
    metric_filter: str = ""
    ignore_null_values: bool = False
    app_insights_resource_url: Annotated[str, named("appInsightsResourceURL")] = ""
    application_insights_id: Annotated[str, _ALL]
    tenant_id: Annotated[str, _ALL]
    active_directory_client_id: Annotated[str, _ALL] = ""
    active_directory_client_password: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")

    @field_validator("metric_aggregation_timespan")
    @classmethod
    def _check_timespan(cls, text: str) -> str:
        if text.count(":") != 1:
            raise ValueError("metricAggregationTimespan must be hh:mm")
        return text


class AzureAppInsightsScaler(PrincipalScaler[AzureAppInsightsMetadata]):
    """One aggregation of one metric over the newest timespan."""

    metric_name = "azure-app-insights-{metric_id}"
    service = "Application Insights"

    def __init__(self, metadata: AzureAppInsightsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._resource = of_cloud(
            metadata, lambda cloud: cloud.app_insights, "appInsightsResourceURL", metadata.app_insights_resource_url
        )
        self._login = metadata.login()

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, what is not a time fails each poll, not the ScaledObject."""
        try:
            self._timespan()
        except ScalerError as error:
            return (str(error),)
        return ()

    async def open(self) -> None:
        """Prepare to prove who asks."""
        to = Destination(url=self._resource, field="appInsightsResourceURL", service="azure monitor")
        await self._prove(to, self._resource, self._login)

    async def read(self) -> Reading:
        """Ask now; null is an error, or 0 with ignoreNullValues."""
        metadata = self.metadata
        answer = await get(self.context, await self._signer.sign(self._question()))
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"app insights request failed with status code {answer.status_code}")
        value = await self.context.parse(
            value_of_metric,
            answer.content,
            metadata.metric_id,
            metadata.metric_aggregation_type,
            inline_bytes=INLINE_BYTES,
        )
        if value is not None:
            return Reading(value=value)
        lack = f"metric {metadata.metric_id} has no {metadata.metric_aggregation_type}"
        if not metadata.ignore_null_values:
            raise ScalerError(f"app insights: {lack}; ignoreNullValues is false")
        return Reading(value=0.0, note=f"{lack} and counts as 0 (ignoreNullValues)")

    def _question(self) -> HttpQuestion:
        metadata = self.metadata
        app = path_segment("applicationInsightsId", metadata.application_insights_id)
        path = f"/v1/apps/{app}/metrics/{path_segments('metricId', metadata.metric_id)}"
        optional = {"filter": metadata.metric_filter} if metadata.metric_filter else {}
        parameters = {"aggregation": metadata.metric_aggregation_type, "timespan": self._timespan(), **optional}
        return HttpQuestion(url=f"{self._resource.rstrip('/')}{path}", parameters=parameters)

    def _timespan(self) -> str:
        text = self.metadata.metric_aggregation_timespan
        try:
            hours, minutes = map(parse_int, text.split(":"))
        except ValueError:
            raise ScalerError(f'metricAggregationTimespan: "{text}" is not a time: write hh:mm') from None
        return f"PT{hours:02d}H{minutes:02d}M"
