"""Scale on the number that a query of Cassandra answers."""

from typing import Annotated, Literal, Self

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import TlsSettings, named
from keda_py.sdk.scaler import AUTH, Activation, ConfigError, Reading, Target, sources
from scalers.shared.databases.cql import CqlServer
from scalers.shared.databases.cql_frames import CONSISTENCIES
from scalers.shared.databases.queries.scaler import QueryMetadata, QueryScaler

_NONE = SecretStr("")
_VERSIONS = (3, 4)


class CassandraMetadata(QueryMetadata):
    """Keys of `cassandra`."""

    username: str
    password: Annotated[SecretStr, sources(AUTH)]
    tls: Annotated[Literal["enable", "disable"], sources(AUTH)] = "disable"
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    cluster_ip_address: Annotated[str, named("clusterIPAddress")]
    port: int = 0
    consistency: str = "one"
    protocol_version: int = 4
    keyspace: str
    target_query_value: Annotated[int, Target()]
    activation_target_query_value: Annotated[int, Activation()] = 0

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if not self.port and not all(_has_port(address) for address in self.cluster_ip_address.split(",")):
            raise ValueError("no port given: set port, or write clusterIPAddress as host:port")
        if self.tls == "enable" and not (self.cert.get_secret_value() and self.key.get_secret_value()):
            raise ValueError("both cert and key are required when TLS is enabled")
        return self

    def hosts(self) -> list[tuple[str, int]]:
        """Nodes with a port each; the one in an address goes before `port`. Raises ConfigError."""
        found = []
        for address in self.cluster_ip_address.split(","):
            host, colon, port = address.strip().partition(":")
            number = port if colon else str(self.port)
            if not host or not number.isascii() or not number.isdigit() or not 0 < int(number[:6]) <= 65535:
                message = f'clusterIPAddress: "{address}" is not host:port, such as cassandra:9042'
                raise ConfigError(message, field="clusterIPAddress")
            found.append((host, int(number)))
        return found

    def tls_settings(self) -> TlsSettings | None:
        """Return None without TLS."""
        if self.tls == "disable":
            return None
        return TlsSettings(ca=self.ca, cert=self.cert.get_secret_value(), key=self.key.get_secret_value())


def _has_port(address: str) -> bool:
    port = address.rpartition(":")[2].strip()
    return ":" in address and port.isascii() and port.isdigit()


class CassandraScaler(QueryScaler[CassandraMetadata]):
    """A few connections for all queries of a keyspace and user."""

    metric_name = "cassandra-{keyspace}"

    @property
    def target(self) -> int:
        """`targetQueryValue`; under a formula 0, as in KEDA."""
        return 0 if self.context.as_metric_source else self.metadata.target_query_value

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, these are accepted."""
        metadata = self.metadata
        found = []
        if metadata.consistency.lower() not in CONSISTENCIES:
            found.append(f'consistency: "{metadata.consistency}" is not one of {", ".join(CONSISTENCIES)}')
        if metadata.protocol_version not in _VERSIONS:
            found.append(f'protocolVersion: "{metadata.protocol_version}" is not spoken here: version 4 is')
        return tuple(found)

    def _no_row(self) -> Reading:
        return Reading(value=0.0, note="a query without a row counts as 0", empty=True)

    async def _find_server(self) -> CqlServer:
        metadata = self.metadata
        consistency = CONSISTENCIES.get(metadata.consistency.lower())
        if consistency is None:
            raise ConfigError(self.cautions[0], field="consistency")
        return CqlServer(
            hosts=metadata.hosts(),
            keyspace=metadata.keyspace,
            username=metadata.username,
            password=metadata.password,
            consistency=consistency,
            version=metadata.protocol_version if metadata.protocol_version in _VERSIONS else max(_VERSIONS),
            tls=metadata.tls_settings(),
            timeout=self.timeout,
        )
