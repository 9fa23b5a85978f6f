"""The webhook process beats while clients are connected, is silent without them, and ends after long idleness.

A loop that hangs matters only to clients, so an idle minute has no timer and no message. Clients are counted every
BEAT_SECONDS: an API server keeps its connection open for 90 s after the last review, and a burst of short
connections is one period of work.

What reviews leave in memory is given back with the first beat before which there was none: an API server keeps up to 32
connections for 90 s, and until they end the process would take a fifth more. Under a flood that lasts it is given back
with the beats, and once more TIDY_SECONDS after the last client. After
`end_seconds` without clients the process ends by itself, and the operator starts another one for the next client
(`process.py`): between two deployments its memory costs nothing.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from keda_py.operator.admission.webhook.link import Message
from keda_py.operator.process.memory import HeapTrim

BEAT_SECONDS = 5.0
"""A quarter of the silence after which the operator kills a process that has clients (`process.py`)."""
TIDY_SECONDS = 10.0


class Idleness:
    """`tell` sends to the operator, `clients` counts connections, `answered` all requests since the start; `wake` is
    called when the first client comes.
    """

    def __init__(
        self,
        tell: Callable[[Message], object],
        clients: Callable[[], int],
        answered: Callable[[], int],
        end_seconds: float,
    ) -> None:
        self._send, self._clients, self._answered, self._end_seconds = tell, clients, answered, end_seconds
        self._awake = asyncio.Event()
        self._memory = HeapTrim()

    def wake(self) -> None:
        """A client has connected, or the operator asks for a sign of life."""
        self._awake.set()

    async def run(self) -> None:
        """Beat, tidy up and rest in turn; return once no client has come for `end_seconds`."""
        while True:
            await self._work()
            if await self._is_woken(min(TIDY_SECONDS, self._end_seconds)):
                continue
            self._memory.tidy()
            if not await self._is_woken(self._end_seconds - TIDY_SECONDS):
                return

    async def _work(self) -> None:
        """Beat at least once: a question of the operator is answered so, whether clients are there or not."""
        answered, rests = self._answered(), False
        while True:
            self._awake.clear()
            self._send({"beat": True})
            await asyncio.sleep(BEAT_SECONDS)
            if not self._clients() and not self._awake.is_set():
                break
            before, answered = answered, self._answered()
            if answered != before:
                self._memory.trim_growth()
            elif not rests:
                self._memory.rest()
            rests = answered == before
        self._send({"idle": True})

    async def _is_woken(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        return self._awake.is_set()
