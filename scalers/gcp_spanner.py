"""Scale on the number that a query of Google Cloud Spanner answers."""

import os
from typing import Annotated

from keda_py.cloud import gcp
from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext, sharing_key
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.bearer_token import BearerToken
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.google.spanner import SpannerDatabase
from scalers.shared.numbers import finite_reading

_ROOT = "https://spanner.googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/spanner.data"
_EMULATOR = "SPANNER_EMULATOR_HOST"
"""Of the operator's environment: the emulator's REST address, as in localhost:9020, which asks for no token."""


class GcpSpannerMetadata(GcpAuthMetadata):
    """Keys of `gcp-spanner`."""

    project_id: str
    instance_id: str
    database_id: str
    query: str
    target_value: Annotated[float, Target()] = 5.0
    activation_value: Annotated[float, Activation()] = 0.0


class GcpSpannerScaler(Scaler[GcpSpannerMetadata]):
    """One query, in a session that all triggers of a database and identity share."""

    metric_name = "gcp-spanner-{instance_id}-{database_id}-{project_id}"
    _token: BearerToken | None = None
    _database: SpannerDatabase

    def __init__(self, metadata: GcpSpannerMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        emulator = os.environ.get(_EMULATOR, "")
        self._root = f"http://{emulator.removeprefix('http://')}" if emulator else _ROOT
        self._identity = None if emulator else required_gcp_identity(metadata, context.pod_identity)
        names = {
            "projects": path_segment("projectId", metadata.project_id, safe=":"),
            "instances": path_segment("instanceId", metadata.instance_id),
            "databases": path_segment("databaseId", metadata.database_id),
        }
        self._path = "/".join(f"{kind}/{name}" for kind, name in names.items())

    async def open(self) -> None:
        """Share the tokens of this identity, and the session. Raises ConfigError."""
        context, metadata = self.context, self.metadata
        if self._identity is not None:
            self._token = BearerToken(await gcp.token_source(context, self._identity, _SCOPE))
        credentials = (metadata.google_application_credentials, metadata.credentials, metadata.credentials_file)
        what = ("gcp-spanner", self._root, self._path, context.pod_identity.provider)

        async def make() -> SpannerDatabase:
            return SpannerDatabase(root=self._root, url=f"{self._root}/v1/{self._path}")

        async def no_close(_: SpannerDatabase) -> None:
            """Do nothing at the end: a multiplexed session cannot be deleted."""

        self._database = await context.shared(sharing_key(context.namespace, what, *credentials), make, no_close)

    @property
    def timeout(self) -> float:
        """Twice that of one question: a session may have to be created first."""
        return 2 * self.context.http_timeout

    async def read(self) -> Reading:
        """Ask now; no row counts as 0, as in KEDA."""
        try:
            there, value = await self._database.first(self.context, self._token, self.metadata.query)
        except ScalerError as error:
            raise ScalerError(f"database {self.metadata.database_id}: {error}") from None
        return (
            finite_reading(value) if there else Reading(value=0.0, note="a query without a row counts as 0", empty=True)
        )
