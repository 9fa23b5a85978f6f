"""Questions of the webhook process to the operator, each answered by number, or not in time."""

import asyncio
from datetime import datetime
from itertools import count

from keda_py.core.admission.findings import Neighbourhood
from keda_py.core.spec import ScalingSpec
from keda_py.errors import Unavailable
from keda_py.operator.admission.webhook.link import Link, Message
from keda_py.operator.admission.webhook.neighbourhood import question, read_neighbourhood

PATIENCE_SECONDS = 7.0
"""The operator's loop may be busy; the API server waits for 10 s."""


class Inquiries:
    """`settle` is told of each answer that comes."""

    def __init__(self, link: Link) -> None:
        self._link, self._numbers = link, count(1)
        self._open: dict[int, asyncio.Future[Message]] = {}

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        """The neighbours of a ScaledObject. Raises Unavailable when the operator does not know or does not say."""
        return read_neighbourhood(await self._ask(question(spec)))

    async def overrides_of(self, namespace: str) -> tuple[datetime, int]:
        """The operator's time, and how many Overrides of a namespace have not ended. Raises Unavailable."""
        told = await self._ask({"overridesOf": namespace})
        return datetime.fromisoformat(told["now"]), int(told["overrides"])

    async def _ask(self, what: Message) -> Message:
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            if not self._link.tell({"ask": number, **what}):
                raise Unavailable("the operator does not listen")
            async with asyncio.timeout(PATIENCE_SECONDS):
                told = await answer
        except TimeoutError:
            raise Unavailable(f"the operator has not answered within {PATIENCE_SECONDS:g} s") from None
        finally:
            del self._open[number]
        if error := told.get("error"):
            raise Unavailable(str(error))
        around: Message = told["around"]
        return around

    def settle(self, message: Message) -> None:
        """An answer has come; its caller may have stopped waiting."""
        waiting = self._open.get(message["answer"])
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
