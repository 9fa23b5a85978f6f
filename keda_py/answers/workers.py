"""Worker processes for large text: at most two, started on demand, shared between tenants.

A tenant has one job running at a time; of the waiting tenants the one with the least recent time is next. So a tenant
whose answers are slow to parse waits behind the others. Time-outs are the loop's own, as for every other I/O.
"""

import asyncio
import math
import sys

from keda_py.answers.fairness import FairLine
from keda_py.answers.process import ParseJob, ParseLimits, WorkerProcess
from keda_py.errors import ScalerError

AT_ONCE = 2
_HALF_LIFE = 30.0
"""Seconds in which a tenant's recorded time decays by half."""
_FORGOTTEN = 0.001


class Workers:
    """Pool of worker processes of one event loop. Close it, because the processes do not end by themselves."""

    def __init__(self, limits: ParseLimits, bytecode_folder: str | None = sys.pycache_prefix) -> None:
        """Make an empty pool; `bytecode_folder` has compiled modules, None if they are beside their sources."""
        self._limits, self._bytecode_folder = limits, bytecode_folder
        self._line = FairLine(self._begin_turn, self._end_turn, self._used_by)
        self._working: dict[str, float] = {}
        self._used: dict[str, tuple[float, float]] = {}
        self._idle: list[WorkerProcess] = []
        self._processes: set[WorkerProcess] = set()
        self._closed = False

    @property
    def processes(self) -> int:
        """Return how many are running."""
        return sum(process.running for process in self._processes)

    async def ask(self, tenant: str, question: ParseJob, seconds: float) -> object:
        """Return the value that the job's function makes of its text, in time. Raises ScalerError."""
        begun = False
        try:
            async with asyncio.timeout(seconds):
                await self._line.wait(tenant, None)
                begun = True
                try:
                    return await self._ask(question)
                finally:
                    self._end_turn(tenant)
        except TimeoutError:
            text = "the answer is large and could not be read" if begun else "the answer is large and had to wait"
            raise ScalerError(f"{text} for more than {seconds:g} s") from None

    async def aclose(self) -> None:
        """End every process. No job may be running."""
        # First of all, so that a caller whose turn comes during the shutdown starts no new process.
        self._closed = True
        for process in self._processes:
            process.kill()
        await asyncio.gather(*(process.wait() for process in self._processes))
        self._processes.clear()
        self._idle.clear()

    async def _ask(self, question: ParseJob) -> object:
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

    def _begin_turn(self, tenant: str, _: None = None) -> bool:
        if len(self._working) >= AT_ONCE or tenant in self._working:
            return False
        self._working[tenant] = _now()
        return True

    def _end_turn(self, tenant: str, _: None = None) -> None:
        used = self._used_by(tenant) + _now() - self._working.pop(tenant)
        self._used = {name: use for name, use in self._used.items() if self._used_by(name) > _FORGOTTEN}
        self._used[tenant] = (used, _now())
        self._line.serve()

    def _used_by(self, tenant: str) -> float:
        """Return the decayed sum of seconds that a tenant has used."""
        used, at = self._used.get(tenant, (0.0, 0.0))
        return used * math.exp2((at - _now()) / _HALF_LIFE) if used else 0.0


def _now() -> float:
    return asyncio.get_running_loop().time()
