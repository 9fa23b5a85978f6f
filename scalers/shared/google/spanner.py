"""Cloud Spanner over its REST API: a session that all queries of a database share, and the first cell of an answer."""

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final

import httpx
import orjson

from keda_py.sdk.advanced import NO_REDIRECTS, ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.answers.json_fields import INLINE_BYTES, child, json_object, string
from scalers.shared.bearer_token import Signer
from scalers.shared.google.monitoring import refusal
from scalers.shared.http_answer import HttpQuestion, ask

_READ_ONLY: Final = {"singleUse": {"readOnly": {"strong": True}}}
_GONE: Final = "Session not found"
_NUMBERS: Final = frozenset({"INT64", "FLOAT64", "FLOAT32", "NUMERIC"})


class SpannerRefusal(ScalerError):
    """An answer that is an error; `text` is Google's message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"Spanner: status {status}: {text}")
        self.text = text


@dataclass(slots=True, kw_only=True)
class SpannerDatabase:
    """A database as one identity asks it. `url` ends in its path.

    A multiplexed session takes any number of queries at once, and Google ends it after weeks; nothing deletes it.
    """

    url: str
    root: str
    session: str = ""
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def first(self, context: ScalerContext, signer: Signer | None, query: str) -> tuple[bool, float]:
        """Return whether there is a row, and its first cell. Raises ScalerError; a session that is gone is replaced."""
        session = await self._session(context, signer)
        try:
            return await self._execute(context, signer, session, query)
        except SpannerRefusal as error:
            if _GONE not in error.text:
                raise
        if self.session == session:
            self.session = ""
        return await self._execute(context, signer, await self._session(context, signer), query)

    async def _session(self, context: ScalerContext, signer: Signer | None) -> str:
        async with self.opening:
            if not self.session:
                made = await _post(context, signer, f"{self.url}/sessions", {"session": {"multiplexed": True}})
                self.session = await context.parse(session_name, made, inline_bytes=INLINE_BYTES)
            return self.session

    async def _execute(
        self, context: ScalerContext, signer: Signer | None, session: str, query: str
    ) -> tuple[bool, float]:
        url = httpx.URL(f"{self.root}/").copy_with(path=f"/v1/{session}:executeSql")
        answer = await _post(context, signer, str(url), {"sql": query, "transaction": _READ_ONLY})
        found, value = await context.parse(first_cell, answer, inline_bytes=INLINE_BYTES)
        return bool(found), float(value)


async def _post(context: ScalerContext, signer: Signer | None, url: str, body: object) -> bytes:
    question = HttpQuestion(
        method="POST",
        url=url,
        content=orjson.dumps(body),
        headers={"Content-Type": "application/json"},
        redirects=NO_REDIRECTS,
    )
    answer = await ask(context, await signer.sign(question) if signer else question)
    if not answer.is_success:
        why = await context.parse(refusal, answer.content, inline_bytes=INLINE_BYTES)
        raise SpannerRefusal(answer.status_code, why)
    return answer.content


def session_name(text: bytes) -> str:
    """Read the name of a session that was created. Raises ScalerError."""
    name = string(json_object(text), "name")
    parts = name.split("/")
    if parts[0::2] != ["projects", "instances", "databases", "sessions"] or not all(parts) or ".." in parts:
        raise ScalerError("Spanner: the answer names no session")
    return name


def first_cell(text: bytes) -> tuple[bool, float]:
    """Return whether a result has a row, and the first cell of the first one. Raises ScalerError."""
    result = json_object(text)
    rows = result.get("rows")
    if rows is None or rows == []:
        return False, 0.0
    row = rows[0] if isinstance(rows, list) else None
    fields = child(child(result, "metadata"), "rowType").get("fields")
    if not (isinstance(row, list) and row and isinstance(fields, list) and fields and isinstance(fields[0], dict)):
        raise ScalerError("Spanner: the answer has rows without a column")
    kind = child(fields[0], "type").get("code")
    if kind not in _NUMBERS:
        shown = kind[:50] if isinstance(kind, str) else "unknown"
        raise ScalerError(f"Spanner: the first column is of type {shown}: select a count, an INT64")
    return True, _number(row[0])


def _number(cell: object) -> float:
    """Whole numbers and NUMERIC come as texts."""
    try:
        if isinstance(cell, str):
            return float(Decimal(cell))
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            return float(cell)
    except (InvalidOperation, OverflowError, ValueError):
        pass
    what = "NULL" if cell is None else "something else"
    raise ScalerError(f"Spanner: the first column holds {what} where a number is due: select a count")
