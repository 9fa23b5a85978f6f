"""Sumo Logic's API: metrics queries, and search jobs that are made, waited for, read in pages and deleted."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import httpx
import orjson

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.answers.json_values import INLINE_BYTES
from scalers.shared.answers.monitoring.sumologic_results import read_job, read_points, read_records, read_state
from scalers.shared.http_answer import HttpQuestion, ask

PAGE = 10_000
MOST_RECORDS = 100_000
_ENDED, _DONE = ("CANCELLED", "FORCE PAUSED"), "DONE GATHERING RESULTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumoLogic:
    """A server as one user. `attempts`: how often a question is put that is answered by 429 or 5xx."""

    context: ScalerContext
    question: HttpQuestion = field(repr=False)
    attempts: int
    polling_seconds: float

    async def points(self, query: Mapping[str, object], row: str) -> list[float]:
        """The values of a metrics query's one series. Raises ScalerError."""
        answer = await self._ask("POST", "/api/v1/metricsQueries", query)
        return await self.context.parse(read_points, answer.content, row, inline_bytes=INLINE_BYTES)

    async def records(self, query: Mapping[str, object], result_field: str) -> list[float] | None:
        """The values of a field of a search's records, None where the search found nothing. Raises ScalerError."""
        made = await self._ask("POST", "/api/v1/search/jobs", query)
        path = f"/api/v1/search/jobs/{await self.context.parse(read_job, made.content, inline_bytes=INLINE_BYTES)}"
        job = replace(self, question=replace(self.question, headers={**self.question.headers, **_cookie(made)}))
        try:
            count = await job.finish(path)
            return await job.pages(path, count, result_field) if count else None
        finally:
            await job.delete(path)

    async def finish(self, path: str) -> int:
        """Wait for the end of a job; how many records it made."""
        while True:
            answer = await self._ask("GET", path)
            state, messages, records = await self.context.parse(read_state, answer.content, inline_bytes=INLINE_BYTES)
            if state in _ENDED:
                raise ScalerError(f"search job failed, state: {state}")
            if state == _DONE:
                break
            with self.context.clock.busy():
                await asyncio.sleep(self.polling_seconds)
        if messages and not records:
            raise ScalerError("only aggregating queries are supported: let the query count, sum or average")
        if records > MOST_RECORDS:
            raise ScalerError(f"the search made {records} records: aggregate to fewer than {MOST_RECORDS}")
        return records

    async def pages(self, path: str, count: int, result_field: str) -> list[float]:
        """The values of a field in all records."""
        values: list[float] = []
        for offset in range(0, count, PAGE):
            page = {"limit": str(min(PAGE, count - offset)), "offset": str(offset)}
            answer = await self._ask("GET", f"{path}/records", parameters=page)
            values += await self.context.parse(
                read_records, answer.content, result_field, inline_bytes=INLINE_BYTES, timeout=self.context.http_timeout
            )
        return values

    async def delete(self, path: str) -> None:
        """A job that cannot be deleted ends by itself: that is no reason to lose the reading."""
        try:
            await replace(self, attempts=1)._ask("DELETE", path)
        except ScalerError:
            return

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        kind = {"Content-Type": "application/json"} if body else {}
        question = replace(
            self.question,
            method=method,
            url=f"{self.question.url}{path}",
            parameters=parameters or {},
            content=orjson.dumps(body) if body else b"",
            headers={**self.question.headers, **kind},
        )
        for attempt in range(self.attempts):
            if attempt:
                with self.context.clock.busy():
                    await asyncio.sleep(2 ** (attempt - 1))
            answer = await ask(self.context, question)
            if answer.status_code != httpx.codes.TOO_MANY_REQUESTS and not answer.is_server_error:
                break
        if answer.is_error:
            raise ScalerError(f"request failed after {attempt + 1} attempts with status {answer.status_code}: {path}")
        return answer


def _cookie(made: httpx.Response) -> dict[str, str]:
    """Return the cookies that keep a job at one server, since the shared client keeps none."""
    cookies = [one.partition(";")[0] for one in made.headers.get_list("set-cookie")]
    return {"Cookie": "; ".join(cookies)} if cookies else {}
