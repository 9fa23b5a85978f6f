"""Scale on the number that a KQL query in a Log Analytics workspace answers."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

import httpx
from pydantic import SecretStr

from keda_py.cloud.azure_clouds import scope_of
from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    META,
    Destination,
    Reading,
    Scaler,
    ScalerContext,
    ScalerError,
    TlsSettings,
    named,
    sources,
)
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.cloud_keys import PUBLIC, AzureCloudMetadata, authority_of, of_cloud
from scalers.shared.azure.measurements import INLINE_BYTES, cell_of_table
from scalers.shared.azure.principal import principal_of
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.http_answer import HttpQuestion, post
from scalers.shared.target import check_target

_ALL = sources(AUTH, META, ENV)


class AzureLogAnalyticsMetadata(AzureCloudMetadata):
    """Keys of `azure-log-analytics`."""

    tenant_id: Annotated[str, _ALL] = ""
    client_id: Annotated[str, _ALL] = ""
    client_secret: Annotated[SecretStr, _ALL] = SecretStr("")
    workspace_id: Annotated[str, _ALL]
    query: str
    threshold: float
    activation_threshold: float = 0.0
    log_analytics_resource_url: Annotated[str, named("logAnalyticsResourceURL")] = ""
    active_directory_endpoint: str = ""
    unsafe_ssl: bool = False
    timeout: timedelta | None = None


class AzureLogAnalyticsScaler(Scaler[AzureLogAnalyticsMetadata]):
    """The first column of the only row of the only table."""

    _signer: Signer

    def __init__(self, metadata: AzureLogAnalyticsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(metadata.threshold, "threshold", context)
        self._own = principal_of(
            context,
            "Log Analytics",
            tenantId=metadata.tenant_id,
            clientId=metadata.client_id,
            clientSecret=metadata.client_secret,
        )
        self._resource = of_cloud(
            metadata,
            lambda cloud: cloud.log_analytics,
            "logAnalyticsResourceURL",
            metadata.log_analytics_resource_url,
        )
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    @property
    def metric_name(self) -> str:
        """`azure-log-analytics-<workspaceId>`."""
        return f"azure-log-analytics-{self.metadata.workspace_id}"

    @property
    def target(self) -> float:
        """`threshold`."""
        return self.metadata.threshold

    @property
    def activation(self) -> float:
        """`activationThreshold`."""
        return self.metadata.activation_threshold

    async def open(self) -> None:
        """Prepare to prove who asks."""
        to = Destination(url=self._resource, field="logAnalyticsResourceURL", service="azure monitor")
        authority = authority_of(self.metadata, self.metadata.active_directory_endpoint or PUBLIC.authority)
        source = await azure_token(self.context, scope_of(self._resource), to, authority, self._own)
        self._signer = BearerToken(source)

    async def read(self, spec: object = None) -> Reading:
        """Ask now; a negative number is an error, as in KEDA."""
        url = f"{self._resource.rstrip('/')}/v1/workspaces/{quote(self.metadata.workspace_id, safe='')}/query"
        question = HttpQuestion(url=url, timeout=self.metadata.timeout, tls=self._tls)
        answer = await post(self.context, await self._signer.sign(question), {"query": self.metadata.query})
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"log analytics: workspace {self.metadata.workspace_id}: status {answer.status_code}")
        value = await self.context.parse(cell_of_table, answer.content, inline_bytes=INLINE_BYTES, timeout=self.timeout)
        if value < 0:
            raise ScalerError("log analytics: the query answers a negative number: let it answer 0 or more")
        return Reading(value=value)
