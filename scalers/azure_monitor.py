"""Scale on a metric of Azure Monitor."""

from datetime import timedelta
from typing import Annotated, Final, Literal

import httpx
from pydantic import SecretStr, field_validator

from keda_py.core.values.urls import path_segment, path_segments
from keda_py.sdk.advanced import META, Destination, ScalerContext, named
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, ScalerError, Target, sources
from scalers.shared.azure.cloud_keys import PUBLIC, of_cloud
from scalers.shared.azure.measurements import INLINE_BYTES, last_of_metric
from scalers.shared.azure.principal import PrincipalMetadata, PrincipalScaler
from scalers.shared.http_answer import HttpQuestion, get

_UNTIL_NOW: Final = "%Y-%m-%dT%H:%M:%SZ"
_USUAL: Final = timedelta(minutes=5)


class AzureMonitorMetadata(PrincipalMetadata):
    """Keys of `azure-monitor`."""

    principal_fields = ("tenant_id", "active_directory_client_id", "active_directory_client_password")

    target_value: Annotated[float, Target()]
    activation_target_value: Annotated[float, Activation()] = 0.0
    resource_uri: Annotated[str, named("resourceURI")]
    tenant_id: str
    subscription_id: str
    resource_group_name: str
    metric_name: str
    metric_namespace: str = ""
    metric_filter: str = ""
    metric_aggregation_interval: str = ""
    metric_aggregation_type: Literal["Average", "Total", "Maximum", "Minimum", "Count", "None"]
    active_directory_client_id: Annotated[str, sources(META, ENV, AUTH)] = ""
    active_directory_client_password: Annotated[SecretStr, sources(META, ENV, AUTH)] = SecretStr("")
    azure_resource_manager_endpoint: str = ""

    @field_validator("resource_uri")
    @classmethod
    def _check_resource(cls, text: str) -> str:
        if text.count("/") != 2:
            raise ValueError("resourceURI must be namespace/resource_type/resource_name")
        return text

    @field_validator("metric_aggregation_interval")
    @classmethod
    def _check_interval(cls, text: str) -> str:
        if text and text.count(":") != 2:
            raise ValueError("metricAggregationInterval must be hh:mm:ss")
        return text


class AzureMonitorScaler(PrincipalScaler[AzureMonitorMetadata]):
    """The newest point within the interval."""

    metric_name = "azure-monitor-{metric_name}"
    service = "Azure Monitor"

    def __init__(self, metadata: AzureMonitorMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._resource = of_cloud(
            metadata,
            lambda cloud: cloud.management,
            "azureResourceManagerEndpoint",
            metadata.azure_resource_manager_endpoint,
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, what is not a time fails each poll, not the ScaledObject."""
        try:
            self._interval()
        except ScalerError as error:
            return (str(error),)
        return ()

    async def open(self) -> None:
        """Prepare to prove who asks."""
        to = Destination(url=self._resource, field="azureResourceManagerEndpoint", service="azure monitor")
        await self._prove(to, self._resource, self.metadata.login(PUBLIC.authority))

    async def read(self) -> Reading:
        """Ask now; a metric that Azure does not list is an error."""
        answer = await get(self.context, await self._signer.sign(self._question()))
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"azure monitor: metric {self.metadata.metric_name}: status {answer.status_code}")
        aggregation = self.metadata.metric_aggregation_type.lower()
        value = await self.context.parse(last_of_metric, answer.content, aggregation, inline_bytes=INLINE_BYTES)
        if value is None:
            raise ScalerError(
                f"azure monitor does not list exactly one metric {self.metadata.metric_name}: check its name"
            )
        return Reading(value=value)

    def _question(self) -> HttpQuestion:
        metadata, now = self.metadata, self.context.clock.now()
        resource = (
            f"/subscriptions/{path_segment('subscriptionId', metadata.subscription_id)}"
            f"/resourceGroups/{path_segment('resourceGroupName', metadata.resource_group_name)}"
            f"/providers/{path_segments('resourceURI', metadata.resource_uri)}/providers/Microsoft.Insights/metrics"
        )
        optional = {"$filter": metadata.metric_filter, "metricnamespace": metadata.metric_namespace}
        parameters = {
            "api-version": "2024-02-01",
            "aggregation": metadata.metric_aggregation_type,
            "metricnames": metadata.metric_name,
            "timespan": f"{(now - self._interval()).strftime(_UNTIL_NOW)}/{now.strftime(_UNTIL_NOW)}",
            **{name: value for name, value in optional.items() if value},
        }
        return HttpQuestion(url=f"{self._resource.rstrip('/')}{resource}", parameters=parameters)

    def _interval(self) -> timedelta:
        text = self.metadata.metric_aggregation_interval
        try:
            hours, minutes, seconds = map(parse_int, text.split(":")) if text else (0, 0, 0)
            return timedelta(hours=hours, minutes=minutes, seconds=seconds) or _USUAL
        except (ValueError, OverflowError):
            raise ScalerError(f'metricAggregationInterval: "{text}" is not a time: write hh:mm:ss') from None
