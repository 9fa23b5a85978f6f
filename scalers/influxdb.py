"""Scale on the number that a query of InfluxDB answers: in Flux of version 2, or in InfluxQL or SQL of version 3."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import httpx
import orjson
from pydantic import SecretStr, field_validator, model_validator

from keda_py.sdk.advanced import META, RedirectRule, ScalerContext, TlsSettings, named, removed
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers import gjson
from scalers.shared.answers.flux_table import INLINE_BYTES, first_value
from scalers.shared.http_answer import HttpQuestion, ask
from scalers.shared.numbers import cell_number, float_of, reading_of

_NONE = SecretStr("")
_DIALECT = {"annotations": ["datatype", "group", "default"], "delimiter": ",", "header": True}
_NUMBERS = frozenset({"double", "long", "unsignedLong"})
_PUBLIC_QUERY = RedirectRule(public=frozenset({"query", "body"}))
_REMOVED = "The 'authToken' setting from triggerMetadata is removed: use authTokenFromEnv or a TriggerAuthentication"


class InfluxdbMetadata(TriggerMetadata):
    """Keys of `influxdb`."""

    removed_token: Annotated[str, named("authToken"), removed(_REMOVED)] = ""
    auth_token: Annotated[SecretStr, sources(ENV, AUTH)] = _NONE
    organization_name: Annotated[str, sources(META, ENV, AUTH)] = ""
    query: str
    influx_version: Literal["2", "3"] = "2"
    query_type: str = "influxql"
    database: Annotated[str, sources(META, AUTH)] = ""
    metric_key: str = ""
    server_url: Annotated[str, named("serverURL"), sources(META, AUTH)]
    unsafe_ssl: bool = False
    threshold_value: Annotated[float, Target()] = 0.0
    activation_threshold_value: Annotated[float, Activation()] = 0.0

    @field_validator("query_type")
    @classmethod
    def _small(cls, value: str) -> str:
        return value.lower()

    @model_validator(mode="after")
    def _check_version(self) -> Self:
        if self.influx_version == "2" and not self.organization_name:
            raise ValueError("organizationName is required if influxVersion is 2")
        if self.influx_version == "3":
            for key, value in {"database": self.database, "metricKey": self.metric_key}.items():
                if not value:
                    raise ValueError(f"{key} is required if influxVersion is 3")
            if self.query_type not in ("influxql", "flightsql"):
                raise ValueError("queryType: must be influxql or flightsql")
        return self


class InfluxdbScaler(Scaler[InfluxdbMetadata]):
    """One POST; KEDA asks version 3 by Arrow Flight, here its HTTP API answers the same rows."""

    def __init__(self, metadata: InfluxdbMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._tls = context.tls_context(TlsSettings(unsafe=True)) if metadata.unsafe_ssl else None

    @property
    def metric_name(self) -> str:
        """`influxdb-<organizationName>`, of version 3 `influxdb-<database>`."""
        return f"influxdb-{self.metadata.organization_name if self._is_2 else self.metadata.database}"

    @property
    def _is_2(self) -> bool:
        return self.metadata.influx_version == "2"

    async def read(self) -> Reading:
        """Ask now; version 2 must answer a row, no row of version 3 is 0 as in KEDA."""
        return await (self._read_2() if self._is_2 else self._read_3())

    async def _read_2(self) -> Reading:
        body = {"query": self.metadata.query, "type": "flux", "dialect": _DIALECT}
        answer = await self._ask("/api/v2/query", "Token", {"org": self.metadata.organization_name}, body)
        kind, text = await self.context.parse(first_value, answer.content, inline_bytes=INLINE_BYTES)
        if kind not in _NUMBERS or not text:
            raise ScalerError(f"a value of type {kind if text else 'null'} is not a number: end the query with one")
        try:
            return reading_of(float_of(text))
        except ValueError:
            raise ScalerError("influxdb answers a number that cannot be read") from None

    async def _read_3(self) -> Reading:
        name = "query_influxql" if self.metadata.query_type == "influxql" else "query_sql"
        body = {"db": self.metadata.database, "q": self.metadata.query, "format": "jsonl"}
        answer = await self._ask(f"/api/v3/{name}", "Bearer", {}, body)
        last = answer.content.rstrip().rpartition(b"\n")[2]
        if not last:
            return Reading(value=0.0, note="a query without a row counts as 0", empty=True)
        key = self.metadata.metric_key.replace("\\", "\\\\").replace(".", "\\.")
        (found,) = await self.context.parse(gjson.scalars_in, last, [key], inline_bytes=gjson.INLINE_BYTES)
        if isinstance(found, str):
            raise ScalerError(f'the column metricKey "{self.metadata.metric_key}" holds text, not a number')
        return reading_of(cell_number(found))

    async def _ask(
        self, path: str, scheme: str, parameters: dict[str, str], body: Mapping[str, object]
    ) -> httpx.Response:
        token = self.metadata.auth_token.get_secret_value()
        answer = await ask(
            self.context,
            HttpQuestion(
                url=f"{self.metadata.server_url.rstrip('/')}{path}",
                method="POST",
                parameters=parameters,
                content=orjson.dumps(body),
                headers={"Content-Type": "application/json", "Authorization": f"{scheme} {token}"},
                tls=self._tls,
                redirects=_PUBLIC_QUERY,
            ),
        )
        if not answer.is_success:
            raise ScalerError(
                f"influxdb answered with status {answer.status_code}: {await self._server_message(answer)}"
            )
        return answer

    async def _server_message(self, answer: httpx.Response) -> str:
        """Read the server's error message."""
        try:
            found = await self.context.parse(
                gjson.scalar_in, answer.content, "message", inline_bytes=gjson.INLINE_BYTES
            )
        except ScalerError:
            found = None
        return found if isinstance(found, str) else "it does not say why"
