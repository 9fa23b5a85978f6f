"""Scale on how many documents of a MongoDB collection match a filter."""

from datetime import timedelta
from typing import Annotated, Literal, Self
from urllib.parse import quote

from pydantic import SecretStr, model_validator

from keda_py.sdk.advanced import META, TlsSettings
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, Target, TriggerMetadata, sources
from scalers.shared.databases.mongodb import MongoClient, MongoServer, connect, load_library
from scalers.shared.databases.mongodb_filter import filter_problem
from scalers.shared.databases.queries.pool import LONGEST_WAIT

_NONE = SecretStr("")


class MongodbMetadata(TriggerMetadata):
    """Keys of `mongodb`: a connection string, or scheme, host, port, username and password.

    `timeout` is ours alone, KEDA ignores it.
    """

    connection_string: Annotated[SecretStr, sources(AUTH, META, ENV)] = _NONE
    scheme: Annotated[str, sources(AUTH, META)] = "mongodb"
    host: Annotated[str, sources(AUTH, META)] = ""
    port: Annotated[str, sources(AUTH, META)] = ""
    username: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, META, ENV)] = _NONE
    db_name: Annotated[str, sources(AUTH, META)]
    collection: str
    query: str
    query_value: Annotated[float, Target()]
    activation_query_value: Annotated[float, Activation()] = 0.0
    tls: Annotated[Literal["enable", "disable"], sources(AUTH)] = "disable"
    cert: Annotated[SecretStr, sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""
    timeout: timedelta | None = None

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if not self.connection_string.get_secret_value():
            fields = {"host": self.host, "username": self.username, "password": self.password.get_secret_value()}
            port = {} if self.scheme == "mongodb+srv" else {"port": self.port}
            for name, value in {**fields, **port}.items():
                if not value:
                    raise ValueError(f"no {name} given: set connectionString, or host, port, username and password")
        cert, key = bool(self.cert.get_secret_value()), bool(self.key.get_secret_value())
        if self.tls == "enable" and cert != key:
            raise ValueError("both cert and key must be provided when using client certificates")
        if self.tls == "enable" and not (cert or self.ca):
            raise ValueError("tls: enable needs ca, or cert and key: add them to the TriggerAuthentication")
        return self

    def uri(self) -> SecretStr:
        """Connection string for the driver."""
        if self.connection_string.get_secret_value():
            return self.connection_string
        user, password = quote(self.username, safe=""), quote(self.password.get_secret_value(), safe="")
        place = self.host if self.scheme == "mongodb+srv" else f"{self.host}:{self.port}"
        return SecretStr(f"{self.scheme}://{user}:{password}@{place}/{quote(self.db_name, safe='')}")

    def tls_settings(self) -> TlsSettings | None:
        """Return None where the connection string decides about TLS."""
        if self.tls == "disable":
            return None
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
        )


class MongodbScaler(Scaler[MongodbMetadata]):
    """All triggers on one server and user share a client, which asks for a count and no documents."""

    metric_name = "mongodb-{collection}"
    _client: MongoClient

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, a filter that cannot be read fails each poll, not the ScaledObject."""
        problem = filter_problem(self.metadata.query)
        return (problem,) if problem else ()

    @property
    def longest_wait(self) -> float:
        """Seconds to wait for a turn among the counts of this server and user."""
        return LONGEST_WAIT

    async def open(self) -> None:
        """Join the client; its first user sends a ping."""
        load_library()
        server = MongoServer(
            uri=self.metadata.uri(),
            tls=self.metadata.tls_settings(),
            timeout=self.timeout,
        )
        self._client = await connect(server, self.context)

    async def read(self) -> Reading:
        """Count now; a collection that is not there has no documents."""
        metadata = self.metadata
        with self.context.clock.busy():
            count = await self._client.count(metadata.db_name, metadata.collection, metadata.query)
        return Reading(value=float(count))
