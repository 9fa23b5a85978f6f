"""Scale on the number that a query of SQL Server answers."""

from dataclasses import replace
from typing import Annotated, Self

from pydantic import SecretStr, model_validator

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import META, Destination, ScalerContext
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Reading, Target, sources
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.databases.mssql import MssqlServer
from scalers.shared.databases.mssql_address import MssqlAddress, address_of, parse_connection
from scalers.shared.databases.queries.scaler import QueryMetadata, QueryScaler

_SCOPE = "https://database.windows.net/.default"
_NONE = SecretStr("")


class MssqlMetadata(QueryMetadata):
    """Keys of `mssql`: a connection string, or a host."""

    target_value: Annotated[float, Target()]
    activation_target_value: Annotated[float, Activation()] = 0.0
    connection_string: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    username: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    host: Annotated[str, sources(AUTH, META)] = ""
    port: Annotated[int, sources(AUTH, META)] = 1433
    database: Annotated[str, sources(AUTH, META)] = ""

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if not self.connection_string.get_secret_value() and not self.host:
            raise ValueError("must provide either connectionString or host")
        return self

    def at(self) -> MssqlAddress:
        """Raises ConfigError."""
        if text := self.connection_string.get_secret_value():
            return parse_connection(text)
        given = {"server": self.host, "port": str(self.port), "user id": self.username, "database": self.database}
        return replace(address_of(given, "host"), password=self.password)


class MssqlScaler(QueryScaler[MssqlMetadata]):
    """A few connections for all queries of a database and user."""

    metric_name = "mssql"

    def __init__(self, metadata: MssqlMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        if (provider := context.pod_identity.provider) not in ("none", "azure-workload"):
            raise ConfigError(f"pod identity {provider} is not supported for mssql scaler", field="podIdentity")

    def _no_row(self) -> Reading:
        return Reading(value=0.0, note="a query without a row counts as 0", empty=True)

    async def _find_server(self) -> MssqlServer:
        at = self.metadata.at()
        return MssqlServer(at=at, timeout=self.timeout, token=await self._token(at))

    async def _token(self, at: MssqlAddress) -> TokenSource | None:
        """Return the token that podIdentity azure-workload gives in place of a password."""
        if self.context.pod_identity.provider != "azure-workload":
            return None
        field = "connectionString" if self.metadata.connection_string.get_secret_value() else "host"
        to = Destination(url=f"https://{at.host}", field=field, service="azure sql")
        return await azure_token(self.context, _SCOPE, to)
