"""Scale on how many documents of a CouchDB database a Mango query finds."""

from typing import Annotated, Self

import httpx
import orjson
from pydantic import SecretStr, model_validator

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META
from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    Activation,
    ConfigError,
    Reading,
    Scaler,
    ScalerError,
    Target,
    TriggerMetadata,
    sources,
)
from scalers.shared.answers import gjson
from scalers.shared.credentials.basic import basic
from scalers.shared.http_answer import HttpQuestion, ask

_NONE = SecretStr("")
_ADMIN = "admin"


class CouchdbMetadata(TriggerMetadata):
    """Keys of `couchdb`: a connection string, or host, port, username, password and dbName."""

    connection_string: Annotated[SecretStr, sources(AUTH, META, ENV)] = _NONE
    host: Annotated[str, sources(AUTH, META)] = ""
    port: Annotated[str, sources(AUTH, META)] = ""
    username: Annotated[str, sources(AUTH, META)] = ""
    password: Annotated[SecretStr, sources(AUTH, META, ENV)] = _NONE
    db_name: Annotated[str, sources(AUTH, META)] = ""
    query: str = ""
    query_value: Annotated[int, Target()] = 0
    activation_query_value: Annotated[int, Activation()] = 0

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if self.connection_string.get_secret_value():
            return self
        password = self.password.get_secret_value()
        fields = {"host": self.host, "port": self.port, "username": self.username, "password": password}
        for name, value in {**fields, "dbName": self.db_name}.items():
            if not value:
                raise ValueError(f"no {name} given: set connectionString, or host, port, username, password and dbName")
        return self

    def server(self) -> tuple[str, list[tuple[str, str]]]:
        """Base address, and as whom to ask: first as admin, as KEDA does whatever username says. Raises ConfigError."""
        text = self.connection_string.get_secret_value() or f"http://{self.host}:{self.port}"
        try:
            url = httpx.URL(text)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ConfigError("connectionString: is not an address: write http://host:5984", field="connectionString")
        base = str(url.copy_with(username=None, password=None, query=None)).rstrip("/")
        if url.userinfo:
            return base, [(url.username, url.password)]
        users = [_ADMIN, self.username] if self.username not in ("", _ADMIN) else [_ADMIN]
        return base, [(user, self.password.get_secret_value()) for user in users]


class CouchdbScaler(Scaler[CouchdbMetadata]):
    """The documents that one answer holds; CouchDB gives 25 unless the query says more."""

    metric_name = "coucdb-{db_name}"

    @property
    def target(self) -> int:
        """`queryValue`; under a formula 0, as in KEDA."""
        return 0 if self.context.as_metric_source else self.metadata.query_value

    async def open(self) -> None:
        """See whether the server is up, and as whom it may be asked."""
        self._base, self._users = self.metadata.server()
        answer = await self._ask("HEAD", "/_up")
        if not answer.is_success:
            raise ScalerError(f"failed to ping couchdb: status {answer.status_code}")

    async def read(self) -> Reading:
        """Search now; a refusal and an answer that is not JSON are errors."""
        path = f"/{path_segment('dbName', self.metadata.db_name)}/_find"
        answer = await self._ask("POST", path, orjson.dumps(self._query()))
        if not answer.is_success:
            raise ScalerError(f"failed to inspect couchdb: {path} returned status {answer.status_code}")
        (count,) = await self.context.parse(
            gjson.scalars_in, answer.content, ["docs.#"], inline_bytes=gjson.INLINE_BYTES
        )
        if not isinstance(count, int):
            raise ScalerError(f"couchdb: the answer of {path} has no docs to count")
        return Reading(value=float(count))

    def _query(self) -> dict[str, object]:
        """Keep the two parts of the query that KEDA sends."""
        try:
            query = orjson.loads(self.metadata.query)
        except orjson.JSONDecodeError:
            query = None
        if not isinstance(query, dict):
            raise ScalerError('query: is not a JSON object: write {"selector": {...}, "fields": [...]}')
        return {"selector": query.get("selector"), "fields": query.get("fields")}

    async def _ask(self, method: str, path: str, body: bytes = b"") -> httpx.Response:
        """Ask as the first user that is not refused, and keep to that one."""
        user, password = self._users[0]
        question = HttpQuestion(
            url=f"{self._base}{path}",
            method=method,
            content=body,
            headers={**basic(user, password), "Content-Type": "application/json", "Accept": "application/json"},
        )
        answer = await ask(self.context, question)
        if answer.status_code == httpx.codes.UNAUTHORIZED and len(self._users) > 1:
            self._users = self._users[1:]
            return await self._ask(method, path, body)
        return answer
