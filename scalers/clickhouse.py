"""Scale on the number that a query of ClickHouse answers."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, TlsSettings
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Target, sources
from scalers.shared.databases.clickhouse.address import ClickHouseAddress, parse_dsn
from scalers.shared.databases.clickhouse.server import ClickHouseServer
from scalers.shared.databases.queries.scaler import QueryMetadata, QueryScaler

_NONE = SecretStr("")


class ClickhouseMetadata(QueryMetadata):
    """Keys of `clickhouse`: a connection string, or a host."""

    connection_string: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    host: Annotated[str, sources(META, AUTH)] = ""
    port: Annotated[str, sources(META, AUTH)] = ""
    username: Annotated[str, sources(META, AUTH, ENV)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    database: Annotated[str, sources(META, AUTH)] = ""
    target_query_value: Annotated[float, Target()]
    activation_target_query_value: Annotated[float, Activation()] = 0.0
    max_idle_conns: Annotated[int, sources(META, AUTH)] = 0
    """Without effect: triggers of one database and user share their connections."""
    max_open_conns: Annotated[int, sources(META, AUTH)] = 0
    """Without effect, as `maxIdleConns`."""
    conn_max_lifetime: Annotated[timedelta, sources(META, AUTH)] = timedelta(0)
    """Without effect, as `maxIdleConns`."""
    tls: Annotated[bool, sources(AUTH)] = False
    """Whether TLS is spoken; a connection string may ask for it, too."""
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    unsafe_ssl: Annotated[bool, sources(AUTH)] = False

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if not self.connection_string.get_secret_value() and not self.host:
            raise ValueError("either connectionString or host must be set")
        if self.tls and bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("both cert and key must be provided when TLS is enabled")
        return self

    def at(self) -> ClickHouseAddress:
        """Raises ConfigError."""
        if text := self.connection_string.get_secret_value():
            return parse_dsn(text, secure=self.tls, unverified=self.tls and self.unsafe_ssl)
        host = f"[{self.host}]" if ":" in self.host else self.host
        place = parse_dsn(f"clickhouse://{host}:{self.port or 9000}", secure=self.tls, unverified=self.unsafe_ssl)
        return replace(
            place,
            database=self.database or "default",
            username=self.username or "default",
            password=self.password,
        )


class ClickhouseScaler(QueryScaler[ClickhouseMetadata]):
    """A few connections for all queries of a database and user."""

    metric_name = "clickhouse"

    def _no_row(self) -> Reading:
        return Reading(value=0.0, note="a query without a row counts as 0", empty=True)

    async def _find_server(self) -> ClickHouseServer:
        metadata, at = self.metadata, self.metadata.at()
        tls = TlsSettings(
            ca=metadata.ca if metadata.tls else "",
            cert=metadata.cert.get_secret_value() if metadata.tls else "",
            key=metadata.key.get_secret_value() if metadata.tls else "",
            key_password=metadata.key_password.get_secret_value() if metadata.tls else "",
            unsafe=at.unverified,
        )
        return ClickHouseServer(at=at, tls=tls if at.secure else None, timeout=self.timeout)
