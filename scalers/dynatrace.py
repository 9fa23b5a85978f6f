"""Scale on a metric of Dynatrace, or on the number that a query in its language DQL answers."""

import asyncio
from datetime import timedelta
from typing import Annotated, Self

import orjson
from pydantic import Field, SecretStr, model_validator

from keda_py.sdk.advanced import LONGEST_TIMEOUT, META, named
from keda_py.sdk.scaler import AUTH, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.dynatrace_results import read_metric, read_records, read_token
from scalers.shared.http_answer import HttpQuestion, ask

_METRICS = "/api/v2/metrics/query"
_EXECUTE = "/platform/storage/query/v1/query:execute"
_POLL = "/platform/storage/query/v1/query:poll"


class DynatraceMetadata(TriggerMetadata):
    """Keys of `dynatrace`."""

    host: Annotated[str, sources(META, AUTH)]
    token: Annotated[SecretStr, sources(AUTH)]
    metric_selector: str = ""
    query: str = ""
    query_timeout_seconds: Annotated[int, Field(gt=0)] = 10
    query_polling_wait: timedelta = timedelta(seconds=1)
    query_polling_tries: Annotated[int, Field(gt=0)] = 5
    from_timestamp: Annotated[str, named("from")] = ""
    threshold: Annotated[float, Target()]
    activation_threshold: Annotated[float, Activation()] = 0.0

    @model_validator(mode="after")
    def _check_question(self) -> Self:
        if not self.metric_selector and not self.query:
            raise ValueError("either metricSelector or query must be provided: set one")
        if self.metric_selector and self.query:
            raise ValueError("metricSelector and query are mutually exclusive: keep one")
        if self.query and self.from_timestamp:
            raise ValueError("from: cannot be used with query: set the time range in the query itself")
        return self


class DynatraceScaler(Scaler[DynatraceMetadata]):
    """One question for a metric; a query is started and asked for until it has ended."""

    metric_name = "dynatrace"

    @property
    def timeout(self) -> float:
        """Seconds; a query may also wait between the questions for its result."""
        own = self.metadata
        waits = own.query_polling_tries * own.query_polling_wait.total_seconds() if own.query else 0.0
        return min(self.context.http_timeout * (2 if own.query else 1) + waits, LONGEST_TIMEOUT)

    async def read(self) -> Reading:
        """Ask now. As in KEDA, null and a record without the field `r` count as 0."""
        if self.metadata.query:
            value, note = await self._run(), "no field r in the record counts as 0"
        else:
            value, note = await self._metric(), "null counts as 0"
        return Reading(value=0.0, note=note) if value is None else Reading(value=value)

    async def _metric(self) -> float | None:
        parameters = {"metricSelector": self.metadata.metric_selector, "from": self.metadata.from_timestamp or "now-2h"}
        token = f"Api-Token {self.metadata.token.get_secret_value()}"
        body = await self._ask(self._question("GET", _METRICS, token, parameters), 200)
        return await self.context.parse(read_metric, body, inline_bytes=INLINE_BYTES)

    async def _run(self) -> float | None:
        bearer = f"Bearer {self.metadata.token.get_secret_value()}"
        wanted = {"query": self.metadata.query, "fetchTimeoutSeconds": self.metadata.query_timeout_seconds}
        body = await self._ask(self._question("POST", _EXECUTE, bearer, {}, orjson.dumps(wanted)), 202)
        token = await self.context.parse(read_token, body, inline_bytes=INLINE_BYTES)
        poll = self._question("GET", _POLL, bearer, {"request-token": token})
        for _ in range(self.metadata.query_polling_tries):
            with self.context.clock.busy():
                await asyncio.sleep(self.metadata.query_polling_wait.total_seconds())
            ended, value = await self.context.parse(read_records, await self._ask(poll, 200), inline_bytes=INLINE_BYTES)
            if ended:
                return value
        raise ScalerError(f"DQL query did not complete within {self.metadata.query_polling_tries} attempts")

    def _question(
        self, method: str, path: str, authorization: str, parameters: dict[str, str], content: bytes = b""
    ) -> HttpQuestion:
        kind = {"Content-Type": "application/json"} if content else {}
        return HttpQuestion(
            method=method,
            url=f"{self.metadata.host.rstrip('/')}{path}",
            parameters=parameters,
            headers={"Authorization": authorization, **kind},
            content=content,
        )

    async def _ask(self, question: HttpQuestion, status: int) -> bytes:
        answer = await ask(self.context, question)
        if answer.status_code != status:
            raise ScalerError(f"{answer.url.path}: api returned {answer.status_code}")
        return answer.content
