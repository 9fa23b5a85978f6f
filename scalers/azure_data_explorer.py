"""Scale on the number that a KQL query in an Azure Data Explorer cluster answers."""

from typing import Annotated

import httpx
from pydantic import SecretStr, field_validator

from keda_py.core.values.urls import is_http_url
from keda_py.sdk.advanced import META, Destination, ScalerContext
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, ScalerError, Target, sources
from scalers.shared.azure.cloud_keys import cloud_of
from scalers.shared.azure.measurements import INLINE_BYTES, cell_of_frames
from scalers.shared.azure.principal import PrincipalMetadata, PrincipalScaler
from scalers.shared.http_answer import HttpQuestion, post


class AzureDataExplorerMetadata(PrincipalMetadata):
    """Keys of `azure-data-explorer`."""

    database_name: str
    endpoint: str
    query: str
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0
    tenant_id: Annotated[str, sources(META, AUTH, ENV)] = ""
    client_id: Annotated[str, sources(META, AUTH, ENV)] = ""
    client_secret: Annotated[SecretStr, sources(AUTH)] = SecretStr("")

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, text: str) -> str:
        if not is_http_url(text):
            raise ValueError("endpoint must be the https:// address of the cluster")
        return text


class AzureDataExplorerScaler(PrincipalScaler[AzureDataExplorerMetadata]):
    """The first column of the only row of the primary result."""

    metric_name = "azure-data-explorer-{database_name}"
    service = "Azure Data Explorer"

    def __init__(self, metadata: AzureDataExplorerMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._login = metadata.login()

    async def open(self) -> None:
        """Prepare to prove who asks. A cluster is not asked which tokens it wants: it could name another service's."""
        cloud, endpoint = cloud_of(self.metadata), self.metadata.endpoint
        resource = endpoint if cloud is None else cloud.data_explorer
        to = Destination(url=endpoint, field="endpoint", service="azure data explorer")
        await self._prove(to, resource, self._login)

    async def read(self) -> Reading:
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
