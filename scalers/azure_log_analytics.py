"""Scale on the number that a KQL query in a Log Analytics workspace answers."""

from datetime import timedelta
from typing import Annotated

import httpx
from pydantic import SecretStr

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META, Destination, ScalerContext, TlsSettings, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, ScalerError, Target, sources
from scalers.shared.azure.cloud_keys import PUBLIC, of_cloud
from scalers.shared.azure.measurements import INLINE_BYTES, cell_of_table
from scalers.shared.azure.principal import PrincipalMetadata, PrincipalScaler
from scalers.shared.http_answer import HttpQuestion, post

_ALL = sources(AUTH, META, ENV)


class AzureLogAnalyticsMetadata(PrincipalMetadata):
    """Keys of `azure-log-analytics`."""

    tenant_id: Annotated[str, _ALL] = ""
    client_id: Annotated[str, _ALL] = ""
    client_secret: Annotated[SecretStr, _ALL] = SecretStr("")
    workspace_id: Annotated[str, _ALL]
    query: str
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0
    log_analytics_resource_url: Annotated[str, named("logAnalyticsResourceURL")] = ""
    unsafe_ssl: bool = False
    timeout: timedelta | None = None


class AzureLogAnalyticsScaler(PrincipalScaler[AzureLogAnalyticsMetadata]):
    """The first column of the only row of the only table."""

    metric_name = "azure-log-analytics-{workspace_id}"
    service = "Log Analytics"

    def __init__(self, metadata: AzureLogAnalyticsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._resource = of_cloud(
            metadata,
            lambda cloud: cloud.log_analytics,
            "logAnalyticsResourceURL",
            metadata.log_analytics_resource_url,
        )
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    async def open(self) -> None:
        """Prepare to prove who asks."""
        to = Destination(url=self._resource, field="logAnalyticsResourceURL", service="azure monitor")
        await self._prove(to, self._resource, self.metadata.login(PUBLIC.authority))

    async def read(self) -> Reading:
        """Ask now; a negative number is an error, as in KEDA."""
        workspace = path_segment("workspaceId", self.metadata.workspace_id)
        url = f"{self._resource.rstrip('/')}/v1/workspaces/{workspace}/query"
        question = HttpQuestion(url=url, timeout=self.metadata.timeout, tls=self._tls)
        answer = await post(self.context, await self._signer.sign(question), {"query": self.metadata.query})
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"log analytics: workspace {self.metadata.workspace_id}: status {answer.status_code}")
        value = await self.context.parse(cell_of_table, answer.content, inline_bytes=INLINE_BYTES, timeout=self.timeout)
        if value < 0:
            raise ScalerError("log analytics: the query answers a negative number: let it answer 0 or more")
        return Reading(value=value)
