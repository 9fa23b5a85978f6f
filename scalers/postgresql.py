"""Scale on the number that a query of PostgreSQL answers."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Self

from pydantic import SecretStr, field_validator, model_validator

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import META, Destination
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Target, sources
from scalers.shared.azure.azure_workload import azure_token
from scalers.shared.databases.postgres import PostgresServer
from scalers.shared.databases.postgres_address import PostgresAddress, address_of, parse_connection
from scalers.shared.databases.postgres_notices import notices
from scalers.shared.databases.queries.scaler import QueryMetadata, QueryScaler
from scalers.shared.protocols.listening import Listening

_SCOPE = "https://ossrdbms-aad.database.windows.net/.default"
_NONE = SecretStr("")
_LONGEST_NAME = 63
"""Bytes of an identifier in PostgreSQL."""


class PostgresqlMetadata(QueryMetadata):
    """Keys of `postgresql`: a connection string, or host, port, userName, dbName and sslmode."""

    target_query_value: Annotated[float, Target()] = 0.0
    activation_target_query_value: Annotated[float, Activation()] = 0.0
    connection: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    host: Annotated[str, sources(AUTH, META)] = ""
    port: Annotated[str, sources(AUTH, META)] = ""
    user_name: Annotated[str, sources(AUTH, META)] = ""
    db_name: Annotated[str, sources(AUTH, META)] = ""
    sslmode: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    listen_channel: str = ""
    """Of keda-py alone, KEDA ignores it: at a NOTIFY on this channel the query is asked before the next poll is due."""

    @field_validator("listen_channel")
    @classmethod
    def _check_channel(cls, channel: str) -> str:
        if len(channel.encode()) > _LONGEST_NAME or not channel.isprintable():
            raise ValueError(f"a channel has at most {_LONGEST_NAME} bytes, all of them printable")
        return channel

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if self.connection.get_secret_value():
            return self
        fields = {"host": self.host, "port": self.port, "userName": self.user_name, "dbName": self.db_name}
        for name, value in {**fields, "sslmode": self.sslmode}.items():
            if not value:
                raise ValueError(f"no {name} given: set connection, or host, port, userName, dbName and sslmode")
        return self

    def at(self) -> PostgresAddress:
        """Raises ConfigError."""
        if text := self.connection.get_secret_value():
            return parse_connection(text)
        given = {"host": self.host, "port": self.port, "user": self.user_name, "database": self.db_name}
        address = address_of({**given, "sslmode": self.sslmode}, "host")
        return replace(address, password=self.password)


class PostgresqlScaler(QueryScaler[PostgresqlMetadata]):
    """A few connections for all queries of a database and user, and one for all channels."""

    metric_name = "postgresql"
    _server: PostgresServer
    _notices: Listening | None = None

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, this is accepted."""
        try:
            binds = self.metadata.at().binds
        except ConfigError:
            return ()
        what = "connection: channel_binding=require asks for TLS here, and binds nothing: write sslmode=verify-full"
        return (what,) if binds else ()

    async def open(self) -> None:
        """Join the pool, and the connection that listens."""
        await super().open()
        if self.metadata.listen_channel:
            self._notices = await notices(self._server, self.context)

    def watch(self) -> AsyncIterator[bool] | None:
        """Yield at each NOTIFY on `listenChannel`; None without one."""
        return self._notices.events(self.metadata.listen_channel) if self._notices else None

    async def _find_server(self) -> PostgresServer:
        at = self.metadata.at()
        return PostgresServer(at=at, timeout=self.timeout, token=await self._token(at))

    async def _token(self, at: PostgresAddress) -> TokenSource | None:
        """Return the token that podIdentity azure-workload gives in place of a password."""
        if self.context.pod_identity.provider != "azure-workload":
            return None
        if self.metadata.connection.get_secret_value():
            message = "connection: podIdentity azure-workload needs host, port, userName, dbName and sslmode instead"
            raise ConfigError(message, field="connection")
        if len(at.hosts) > 1:
            raise ConfigError("host: podIdentity azure-workload goes to one host: name one", field="host")
        to = Destination(url=f"https://{at.hosts[0][0]}", field="host", service="azure postgresql")
        return await azure_token(self.context, _SCOPE, to)
