"""Scale on the `value` of the one document that an AQL query of ArangoDB answers."""

from collections.abc import Sequence
from typing import Annotated

import httpx
import orjson

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import META, ScalerContext
from keda_py.sdk.scaler import AUTH, Activation, ConfigError, Reading, Scaler, ScalerError, Target, sources
from scalers.shared.answers import gjson
from scalers.shared.auth_modes import AuthMode, AuthModesMetadata, auth_headers, auth_tls
from scalers.shared.http_answer import HttpQuestion, ask
from scalers.shared.numbers import reading_of

_HONOURED: frozenset[AuthMode] = frozenset({"basic", "bearer"})
_JSON = {"Content-Type": "application/json"}


class ArangodbMetadata(AuthModesMetadata):
    """Keys of `arangodb`."""

    endpoints: Annotated[list[str], sources(AUTH, META)]
    db_name: Annotated[str, sources(META, AUTH)]
    collection: str
    query: str
    query_value: Annotated[float, Target()] = 0.0
    activation_query_value: Annotated[float, Activation()] = 0.0
    unsafe_ssl: bool = False
    connection_limit: int = 0


class ArangodbScaler(Scaler[ArangodbMetadata]):
    """Asks whether database and collection are there, and then the query; the first endpoint that answers counts."""

    metric_name = "arangodb"

    def __init__(self, metadata: ArangodbMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        for endpoint in metadata.endpoints:
            _check_endpoint(endpoint)
        self._headers = auth_headers(metadata, _HONOURED)

    @property
    def cautions(self) -> Sequence[str]:
        """As in KEDA, the limit is accepted; connections are shared and bounded here in any case."""
        return ("connectionLimit: does nothing here: connections are shared",) if self.metadata.connection_limit else ()

    async def open(self) -> None:
        """Make ready for TLS. Raises ConfigError."""
        self._tls = auth_tls(self.metadata, self.context, unsafe=self.metadata.unsafe_ssl)

    async def read(self) -> Reading:
        """Ask now; more than one document is an error, one without `value` is 0 as in KEDA."""
        database = f"/_db/{path_segment('dbName', self.metadata.db_name)}/_api"
        try:
            await self._ask(f"{database}/database/current")
            await self._ask(f"{database}/collection/{path_segment('collection', self.metadata.collection)}")
            query = {"query": self.metadata.query, "count": True, "options": {"optimizer": {}}}
            answer = await self._ask(f"{database}/cursor", orjson.dumps(query))
            count, found = await self.context.parse(
                gjson.scalars_in, answer.content, ["count", "result.0.value"], inline_bytes=gjson.INLINE_BYTES
            )
        except ScalerError as error:
            raise ScalerError(f"failed to inspect arangoDB: {error}") from None
        return _reading(count, found)

    async def _ask(self, path: str, body: bytes = b"") -> httpx.Response:
        failure = ScalerError("no endpoint")
        for endpoint in self.metadata.endpoints:
            question = HttpQuestion(
                url=f"{endpoint.rstrip('/')}{path}",
                method="POST" if body else "GET",
                content=body,
                headers={**self._headers, **(_JSON if body else {})},
                tls=self._tls,
            )
            try:
                answer = await ask(self.context, question)
            except ScalerError as error:
                failure = error
                continue
            if not answer.is_success:
                raise ScalerError(f"{path} returned status {answer.status_code}: {await self._server_message(answer)}")
            return answer
        raise failure

    async def _server_message(self, answer: httpx.Response) -> str:
        """Read the server's error message."""
        try:
            found = await self.context.parse(
                gjson.scalar_in, answer.content, "errorMessage", inline_bytes=gjson.INLINE_BYTES
            )
        except ScalerError:
            found = None
        return found if isinstance(found, str) else "it does not say why"


def _reading(count: object, found: object) -> Reading:
    if count != 1:
        raise ScalerError("failed to inspect arangoDB: the query must answer one document: count or aggregate in it")
    match found:
        case bool():
            pass
        case int() | float():
            return reading_of(float(found))
        case None:
            return Reading(value=0.0, note='a document without "value" counts as 0')
    raise ScalerError('failed to inspect arangoDB: "value" of the document is not a number')


def _check_endpoint(endpoint: str) -> None:
    """Raises ConfigError for what no library could send to."""
    try:
        url = httpx.URL(endpoint)
    except httpx.InvalidURL:
        url = None
    if url is None or not endpoint.isprintable() or " " in endpoint:
        raise ConfigError(
            "endpoints: one is not an address: write http://host:8529, with commas between", field="endpoints"
        )
