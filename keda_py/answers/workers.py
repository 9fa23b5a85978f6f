"""Large text is read by other processes: at most two, started when first needed, and shared between tenants.

One question of a tenant at a time; of the tenants that wait, the one that has used the least time lately is next. So a
tenant whose answers are hard to read waits behind those whose answers are not. Time-outs are the loop's own, as for
every other I/O.
"""

import asyncio
import math
import sys
from collections import deque

from keda_py.answers.process import Limits, Question, WorkerProcess
from keda_py.errors import ScalerError

AT_ONCE = 2
_HALF_LIFE = 30.0
"""Seconds after which half of the time that a tenant has used is forgotten."""
_FORGOTTEN = 0.001


class Workers:
    """Belongs to one event loop. Close it: processes do not end by themselves."""

    def __init__(self, limits: Limits, bytecode_folder: str | None = sys.pycache_prefix) -> None:
        """`bytecode_folder` has compiled modules; None where they are beside their sources."""
        self._limits, self._bytecode_folder = limits, bytecode_folder
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._working: dict[str, float] = {}
        self._used: dict[str, tuple[float, float]] = {}
        self._idle: list[WorkerProcess] = []
        self._processes: set[WorkerProcess] = set()
        self._closed = False

    @property
    def processes(self) -> int:
        """How many run."""
        return sum(process.running for process in self._processes)

    async def ask(self, tenant: str, question: Question, seconds: float) -> object:
        """The value that the question's function makes of its text, in time. Raises ScalerError."""
        begun = False
        try:
            async with asyncio.timeout(seconds):
                await self._take_turn(tenant)
                begun = True
                try:
                    return await self._ask(question)
                finally:
                    self._end_turn(tenant)
        except TimeoutError:
            text = "the answer is large and could not be read" if begun else "the answer is large and had to wait"
            raise ScalerError(f"{text} for more than {seconds:g} s") from None

    async def aclose(self) -> None:
        """End every process. No question may be on its way."""
        self._closed = True
        for process in self._processes:
            process.kill()
        await asyncio.gather(*(process.wait() for process in self._processes))
        self._processes.clear()
        self._idle.clear()

    async def _ask(self, question: Question) -> object:
        process = await self._ready_process()
        try:
            return await process.ask(question)
        finally:
            if process.usable:
                self._idle.append(process)
            else:
                process.kill()

    async def _ready_process(self) -> WorkerProcess:
        if self._closed:
            raise ScalerError("the answer is large and was not read: shutting down")
        while self._idle:
            process = self._idle.pop()
            if process.usable:
                return process
        self._processes = {process for process in self._processes if process.running}
        process = await WorkerProcess.start(self._limits, self._bytecode_folder)
        self._processes.add(process)
        return process

    async def _take_turn(self, tenant: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        self._give_turns()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # given at the very instant at which the caller gave up
                self._end_turn(tenant)
            raise

    def _end_turn(self, tenant: str) -> None:
        now = asyncio.get_running_loop().time()
        used = self._used_by(tenant, now) + now - self._working.pop(tenant)
        self._used = {one: use for one, use in self._used.items() if self._used_by(one, now) > _FORGOTTEN}
        self._used[tenant] = (used, now)
        self._give_turns()

    def _give_turns(self) -> None:
        now = asyncio.get_running_loop().time()
        while len(self._working) < AT_ONCE:
            ready = [tenant for tenant in self._waiting if tenant not in self._working]
            if not ready:
                return
            tenant = min(ready, key=lambda one: self._used_by(one, now))
            turn = self._waiting[tenant].popleft()
            if not self._waiting[tenant]:
                del self._waiting[tenant]
            if not turn.done():  # else the caller has given up
                self._working[tenant] = now
                turn.set_result(None)

    def _used_by(self, tenant: str, now: float) -> float:
        """Seconds that a tenant has used lately."""
        used, at = self._used.get(tenant, (0.0, now))
        return used * math.exp2((at - now) / _HALF_LIFE)
