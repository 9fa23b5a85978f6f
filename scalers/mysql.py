"""Scale on the number that a query of MySQL answers."""

from typing import Annotated

from pydantic import SecretStr

from keda_py.sdk.advanced import META
from keda_py.sdk.scaler import AUTH, ENV, Activation, ConfigError, Target, sources
from scalers.shared.databases.mysql import MysqlServer
from scalers.shared.databases.mysql_address import MysqlAddress, parse_dsn, port_of
from scalers.shared.databases.queries.scaler import QueryMetadata, QueryScaler

_NONE = SecretStr("")


class MysqlMetadata(QueryMetadata):
    """Keys of `mysql`: a connection string, or host, port, username and dbName. `metricName` does nothing."""

    query_value: Annotated[float, Target()]
    activation_query_value: Annotated[float, Activation()] = 0.0
    connection_string: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    username: Annotated[str, sources(META, AUTH, ENV)] = ""
    password: Annotated[SecretStr, sources(AUTH, ENV)] = _NONE
    host: Annotated[str, sources(META, AUTH)] = ""
    port: Annotated[str, sources(META, AUTH)] = ""
    db_name: Annotated[str, sources(META, AUTH)] = ""
    metric_name: str = ""

    def shown_database(self) -> str:
        """Name of the database for the metric: in a connection string, the text after its last slash, as in KEDA."""
        text = self.connection_string.get_secret_value()
        return text.rpartition("/")[2] if text else self.db_name

    def at(self) -> MysqlAddress:
        """Raises ConfigError."""
        if text := self.connection_string.get_secret_value():
            return parse_dsn(text)
        if not self.host:
            raise ConfigError("no host given: set connectionString, or host, port, username and dbName", field="host")
        port = port_of(self.port or "3306", "port")
        return MysqlAddress(
            host=self.host, port=port, user=self.username, password=self.password, database=self.db_name
        )


class MysqlScaler(QueryScaler[MysqlMetadata]):
    """A few connections for all queries of a database and user."""

    @property
    def metric_name(self) -> str:
        """`mysql-<dbName>`."""
        return f"mysql-{self.metadata.shown_database()}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warn of a trigger without a server, which KEDA accepts."""
        if self.metadata.host or self.metadata.connection_string.get_secret_value():
            return ()
        return ("host: none is given, and no connectionString: no server can be asked",)

    async def _find_server(self) -> MysqlServer:
        return MysqlServer(at=self.metadata.at(), timeout=self.timeout)
