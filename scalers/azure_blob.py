"""Scale on the blobs in a container of Azure Storage."""

from functools import cached_property
from typing import Annotated, Final

from pydantic import SecretStr

from keda_py.sdk.advanced import META, AnswerTooLong, ScalerContext, named
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, Target, sources
from scalers.shared.azure.storage import StorageAccount
from scalers.shared.azure.storage_keys import AzureStorageMetadata, NamedAccount
from scalers.shared.azure.storage_lists import INLINE_BYTES, count_blobs
from scalers.shared.glob import pattern_of_glob

# Blobs. Azure's own pages have 5 000, which take several megabytes.
_SHORT_PAGE: Final = "500"


class AzureBlobMetadata(AzureStorageMetadata):
    """Keys of `azure-blob`."""

    blob_count: Annotated[int, Target()] = 5
    activation_blob_count: Annotated[int, Activation()] = 0
    blob_container_name: str
    blob_delimiter: str = "/"
    blob_prefix: str = ""
    recursive: bool = False
    glob_pattern: str = ""
    connection: Annotated[SecretStr, sources(AUTH, ENV, META)] = SecretStr("")
    connection_of_authentication: Annotated[SecretStr, named("connectionFromEnv"), sources(AUTH)] = SecretStr("")


class AzureBlobScaler(Scaler[AzureBlobMetadata]):
    """Lists the container page by page and counts; there is no question for the count alone."""

    metric_name = "azure-blob-{blob_container_name}"
    _account: StorageAccount

    def __init__(self, metadata: AzureBlobMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        connection = metadata.connection
        if not connection.get_secret_value():
            connection = metadata.connection_of_authentication
        self._named = NamedAccount(metadata, connection, "blob", context)
        self._pattern = pattern_of_glob(metadata.glob_pattern.removeprefix("/"), "globPattern")
        self._pages_are_too_long = False

    async def open(self) -> None:
        """Prepare to prove who asks."""
        self._account = await self._named.open()

    async def read(self) -> Reading:
        """The count now, of all pages."""
        try:
            return await self._count()
        except AnswerTooLong:
            if self._pages_are_too_long:
                raise
            self._pages_are_too_long = True
            return await self._count()

    async def _count(self) -> Reading:
        found, marker, first = 0, "", True
        while first or marker:
            on_page, marker = await self._page(marker)
            found, first = found + on_page, False
        return Reading(value=float(found))

    async def _page(self, marker: str) -> tuple[int, str]:
        parameters = {**self._parameters, **({"marker": marker} if marker else {})}
        if self._pages_are_too_long:
            parameters["maxresults"] = _SHORT_PAGE
        answer = await self._account.ask(self.context, self.metadata.blob_container_name, parameters)
        count, following = await self.context.parse(
            count_blobs, answer.content, self._pattern, inline_bytes=INLINE_BYTES
        )
        return count, following

    @cached_property
    def _parameters(self) -> dict[str, str]:
        metadata, parameters = self.metadata, {"restype": "container", "comp": "list"}
        # A recursive list knows no folders, so that its prefix is the beginning of a name and not the name of a folder.
        delimiter = "" if metadata.recursive else metadata.blob_delimiter
        if not metadata.glob_pattern:
            parameters["delimiter"] = delimiter
        if metadata.blob_prefix:
            parameters["prefix"] = metadata.blob_prefix + delimiter
        return parameters
