"""Questions of the webhook process to the operator, each answered by number, or not in time."""

import asyncio
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
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            if not self._link.tell({"ask": number, **question(spec)}):
                raise Unavailable("the operator does not listen")
            async with asyncio.timeout(PATIENCE_SECONDS):
                told = await answer
        except TimeoutError:
            raise Unavailable(f"the operator has not answered within {PATIENCE_SECONDS:g} s") from None
        finally:
            del self._open[number]
        if error := told.get("error"):
            raise Unavailable(str(error))
        return read_neighbourhood(told["around"])

    def settle(self, message: Message) -> None:
        """An answer has come; its caller may have stopped waiting."""
        waiting = self._open.get(message["answer"])
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
