"""Queues by RabbitMQ's management interface: one by its name, many by names, or all whose names match."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import httpx
import re2

from keda_py.core.values.urls import path_segment
from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.http_failures import shown
from keda_py.sdk.scaler import ScalerError
from scalers.shared.answers.json_fields import INLINE_BYTES
from scalers.shared.bearer_token import Signer
from scalers.shared.http_answer import HttpQuestion, get
from scalers.shared.rabbitmq.counts import Row, read_page, read_queue

# Characters; RabbitMQ takes 8 000 of a URL, and three of them may stand for one.
_LONGEST_PATTERN = 3_000
_LONGEST_PAGE = 500
"""Queues; RabbitMQ gives no more at once."""
_COLUMNS = "name,messages,messages_ready,message_stats.publish_details.rate,message_stats.deliver_get_details.rate"


class Management:
    """The API of one vhost, as one user."""

    def __init__(self, context: ScalerContext, question: HttpQuestion, signer: Signer | None, timeout: float) -> None:
        self._context, self._question, self._signer, self._timeout = context, question, signer, timeout

    async def queue(self, name: str) -> Row:
        """One queue. Raises ScalerError, also where it is missing."""
        body = await self._ask(replace(self._question, url=f"{self._question.url}/{path_segment('queueName', name)}"))
        return await self._context.parse(read_queue, body, inline_bytes=INLINE_BYTES, timeout=self._timeout)

    async def matching(self, pattern: str, page_size: int) -> Sequence[Row]:
        """All queues whose names match. Raises ScalerError where they are more than a page."""
        return await self._page({"name": pattern, "page_size": str(page_size), "pagination": "false"})

    async def named(self, names: Sequence[str]) -> Sequence[Row | ScalerError]:
        """Each of these, in order; as few questions as fit. Raises ScalerError where the server does not answer."""
        found: dict[str, Row] = {}
        for pattern in _patterns(names):
            rows = await self._page({"name": pattern, "page_size": str(_LONGEST_PAGE), "columns": _COLUMNS})
            found.update({row[0]: row for row in rows})
        missing = f"is not in the vhost that {shown(self._question.url)} tells"
        return [found.get(name) or ScalerError(f'queue "{name}" {missing}') for name in names]

    async def _page(self, parameters: dict[str, str]) -> list[Row]:
        asked = {"page": "1", "use_regex": "true", **parameters}
        body = await self._ask(replace(self._question, parameters=asked))
        return await self._context.parse(read_page, body, inline_bytes=INLINE_BYTES, timeout=self._timeout)

    async def _ask(self, question: HttpQuestion) -> bytes:
        signed = await self._signer.sign(question) if self._signer else question
        answer = await get(self._context, signed)
        if answer.status_code != httpx.codes.OK:
            what = f"error requesting RabbitMQ API status: {answer.status_code} {answer.reason_phrase}"
            raise ScalerError(f"{what}, from: {shown(question.url)}")
        return answer.content


def _patterns(names: Sequence[str]) -> Iterator[str]:
    """Regular expressions that match these names and no other, each short enough for a URL."""
    part: list[str] = []
    for name in dict.fromkeys(map(re2.escape, names)):
        if len(part) == _LONGEST_PAGE or (part and len("|".join([*part, name])) > _LONGEST_PATTERN):
            yield f"^({'|'.join(part)})$"
            part = []
        part.append(name)
    yield f"^({'|'.join(part)})$"
