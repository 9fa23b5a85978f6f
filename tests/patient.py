"""An event loop that gives a busy machine time: what a turn of it takes counts for a millisecond at most.

Time-outs of I/O, Leases and back-offs go by the loop's time. On this loop they pass while it waits, as ever, and hardly
while it works: beside another program that takes most of the CPU, or while two hundred objects are served at once, no
answer is late that was only not got to yet. A time-out that a test waits for comes when it should, since then nothing
else is to do. Not for tests of other processes, whose time is the machine's.
"""

import selectors
import time
from typing import Any

from tests.programs.loop import ForkingLoop

TURN_SECONDS = 0.001


class TidyLoop(ForkingLoop):
    """Closes a connection that it accepted in the turn in which its server was closed.

    asyncio refuses to make a transport then, and forgets the socket: a later test is told of garbage that is open.
    """

    async def _accept_connection2(
        self,
        protocol_factory: Any,
        conn: Any,
        extra: Any,
        sslcontext: Any = None,
        server: Any = None,
        *rest: Any,
        **more: Any,
    ) -> None:
        if server is not None and server.sockets == ():
            conn.close()
            return
        await super()._accept_connection2(protocol_factory, conn, extra, sslcontext, server, *rest, **more)


class PatientLoop(TidyLoop):
    """`time` stands still in a turn that takes longer than `TURN_SECONDS`, until the loop waits again."""

    def __init__(self) -> None:
        self._at = self._began = time.monotonic()
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now()

    def rest(self, select, timeout: float | None):
        """Wait by `select`: that time passes in full, but for what the machine woke us late."""
        self._at, began = self._now(), time.monotonic()
        events = select(timeout)
        self._began = time.monotonic()
        waited = self._began - began
        self._at += waited if timeout is None else min(waited, max(timeout, 0.0))
        return events

    def _now(self) -> float:
        return self._at + min(time.monotonic() - self._began, TURN_SECONDS)


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: PatientLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None):
        return self._loop.rest(super().select, timeout)
