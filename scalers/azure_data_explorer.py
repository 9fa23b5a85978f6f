"""Scale on the number that a KQL query in an Azure Data Explorer cluster answers."""

from typing import Annotated

import httpx
from pydantic import SecretStr, field_validator

from keda_py.cloud.azure_clouds import scope_of
from keda_py.core.values.urls import is_http_url
from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    META,
    Destination,
    Reading,
    Scaler,
    ScalerContext,
    ScalerError,
    sources,
)
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.azure.cloud_keys import AzureCloudMetadata, cloud_of, of_cloud
from scalers.shared.azure.measurements import INLINE_BYTES, cell_of_frames
from scalers.shared.azure.principal import principal_of
from scalers.shared.bearer_token import BearerToken, Signer
from scalers.shared.http_answer import HttpQuestion, post
from scalers.shared.target import check_target


class AzureDataExplorerMetadata(AzureCloudMetadata):
    """Keys of `azure-data-explorer`."""

    database_name: str
    endpoint: str
    query: str
    threshold: float
    activation_threshold: float = 0.0
    tenant_id: Annotated[str, sources(META, AUTH, ENV)] = ""
    client_id: Annotated[str, sources(META, AUTH, ENV)] = ""
    client_secret: Annotated[SecretStr, sources(AUTH)] = SecretStr("")
    active_directory_endpoint: str = ""

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, text: str) -> str:
        if not is_http_url(text):
            raise ValueError("endpoint must be the https:// address of the cluster")
        return text


class AzureDataExplorerScaler(Scaler[AzureDataExplorerMetadata]):
    """The first column of the only row of the primary result."""

    _signer: Signer

    def __init__(self, metadata: AzureDataExplorerMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(metadata.threshold, "threshold", context)
        self._own = principal_of(
            context,
            "Azure Data Explorer",
            tenantId=metadata.tenant_id,
            clientId=metadata.client_id,
            clientSecret=metadata.client_secret,
        )
        key = "activeDirectoryEndpoint"
        self._authority = of_cloud(metadata, lambda cloud: cloud.authority, key, metadata.active_directory_endpoint)

    @property
    def metric_name(self) -> str:
        """`azure-data-explorer-<databaseName>`."""
        return f"azure-data-explorer-{self.metadata.database_name}"

    @property
    def target(self) -> float:
        """`threshold`."""
        return self.metadata.threshold

    @property
    def activation(self) -> float:
        """`activationThreshold`."""
        return self.metadata.activation_threshold

    async def open(self) -> None:
        """Prepare to prove who asks. A cluster is not asked which tokens it wants: it could name another service's."""
        cloud, endpoint = cloud_of(self.metadata), self.metadata.endpoint
        resource = endpoint if cloud is None else cloud.data_explorer
        to = Destination(url=endpoint, field="endpoint", service="azure data explorer")
        source = await azure_token(self.context, scope_of(resource), to, self._authority, self._own)
        self._signer = BearerToken(source)

    async def read(self, spec: object = None) -> Reading:
        """Ask now."""
        question = HttpQuestion(url=f"{self.metadata.endpoint.rstrip('/')}/v2/rest/query")
        answer = await post(self.context, await self._signer.sign(question), self._body())
        if answer.status_code != httpx.codes.OK:
            raise ScalerError(f"data explorer: database {self.metadata.database_name}: status {answer.status_code}")
        return Reading(value=await self.context.parse(cell_of_frames, answer.content, inline_bytes=INLINE_BYTES))

    def _body(self) -> dict[str, object]:
        options = {
            "servertimeout": f"00:00:{min(self.context.http_timeout, 59.0):06.3f}",
            "results_v2_newlines_between_frames": True,
            "results_v2_fragment_primary_tables": True,
            "results_error_reporting_placement": "end_of_table",
        }
        properties = {"Options": options, "Parameters": None}
        return {"db": self.metadata.database_name, "csl": self.metadata.query, "properties": properties}
