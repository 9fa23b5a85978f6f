"""Scale on the number that a NRQL query of New Relic answers."""

from functools import cached_property
from typing import Annotated

import orjson
from pydantic import SecretStr

from keda_py.sdk.advanced import META, EmptyAnswer, ScalerContext
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.nrql_results import read_results
from scalers.shared.http_answer import HttpQuestion, ask

_SERVERS = {
    "US": "https://api.newrelic.com",
    "EU": "https://api.eu.newrelic.com",
    "STAGING": "https://staging-api.newrelic.com",
    "LOCAL": "http://localhost:3000",
}
_GRAPHQL = (
    "query($accountId: Int!, $query: Nrql!) { actor { account(id: $accountId) { nrql(query: $query) { results } } } }"
)


class NewRelicMetadata(TriggerMetadata):
    """Keys of `new-relic`."""

    account: Annotated[int, sources(AUTH, META)]
    region: Annotated[str, sources(AUTH, META)] = "US"
    query_key: Annotated[SecretStr, sources(AUTH, META)]
    no_data_error: bool = False
    nrql: str
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0


class NewRelicScaler(Scaler[NewRelicMetadata]):
    """One question to NerdGraph; the first number of the first row counts."""

    metric_name = "new-relic"

    def __init__(self, metadata: NewRelicMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._server = _SERVERS.get(metadata.region.upper(), _SERVERS["US"])

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, an unknown region means the one of the US."""
        if self.metadata.region.upper() in _SERVERS:
            return ()
        return ("region: is not a region of New Relic, so the one of the US is asked: write US or EU",)

    @cached_property
    def _question(self) -> HttpQuestion:
        variables = {"accountId": self.metadata.account, "query": self.metadata.nrql}
        return HttpQuestion(
            method="POST",
            url=f"{self._server}/graphql",
            content=orjson.dumps({"query": _GRAPHQL, "variables": variables}),
            headers={"Api-Key": self.metadata.query_key.get_secret_value(), "Content-Type": "application/json"},
        )

    async def read(self) -> Reading:
        """Ask now; no number counts as 0, unless `noDataError`."""
        answer = await ask(self.context, self._question)
        if not answer.is_success:
            raise ScalerError(f"error running NRQL {self.metadata.nrql}: status {answer.status_code}")
        rows, value = await self.context.parse(read_results, answer.content, inline_bytes=INLINE_BYTES)
        if value is not None:
            return Reading(value=value)
        what = "no numeric results" if rows else "no results"
        if self.metadata.no_data_error:
            raise EmptyAnswer(f"query returned {what}: {self.metadata.nrql}; noDataError is true")
        return Reading(value=0.0, note=f"{what} count as 0 (noDataError is false)", empty=True)
