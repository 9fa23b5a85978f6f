"""Reports by name who blocks the event loop: a plug-in that does so delays every object and every answer.

A thread watches the loop's heart beat. When a beat is late it looks at what the loop's thread is doing just then; the
loop itself reports it with its next beat, so that logging and counting stay on one thread. What never beats again is
for `process/hang.py`, and for the last net where not even the thread runs any more.
"""

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType

from keda_py.operator.process.hang import TICK_SECONDS
from keda_py.operator.process.own import OwnProcess
from keda_py.telemetry.process_metrics import ProcessMetrics

BEAT_SECONDS = 0.1
STALL_SECONDS = TICK_SECONDS
REARM_BEATS = 10
QUIET_SECONDS = 60.0
"""One culprit is named in the log this often at most; the metric counts each time."""

log = logging.getLogger(__name__)


class Watchdog:
    """`run` it in a task for the life of the process. `scalers` are trigger types by module."""

    def __init__(self, process: ProcessMetrics, scalers: Mapping[str, str], own: OwnProcess | None = None) -> None:
        self._process, self._scalers, self._own = process, scalers, own
        self._beats = 0
        self._caught = ""
        self._told: dict[str, float] = {}
        self._stopped = threading.Event()

    async def run(self) -> None:
        """Beat and report until cancelled."""
        loop = asyncio.get_running_loop()
        thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="keda-py-watchdog", daemon=True
        )
        thread.start()
        try:
            due = loop.time() + BEAT_SECONDS
            while True:
                if self._own is not None and self._beats % REARM_BEATS == 0:
                    self._own.rearm()
                await asyncio.sleep(BEAT_SECONDS)
                self._beats += 1
                self._report(loop.time(), max(loop.time() - due, 0.0))
                due = loop.time() + BEAT_SECONDS
        finally:
            self._stopped.set()
            thread.join()

    def _report(self, now: float, late: float) -> None:
        self._process.record_lag(late)
        culprit, self._caught = self._caught, ""
        if late < STALL_SECONDS or not culprit:
            return
        self._process.record_stall(culprit)
        if now - self._told.get(culprit, float("-inf")) >= QUIET_SECONDS:
            self._told[culprit] = now
            log.warning("the event loop was blocked", extra={"culprit": culprit, "seconds": round(late, 3)})

    def _watch(self, watched: int) -> None:
        """The thread: a beat that does not come in time is looked into, once."""
        seen = looked = -1
        hang = self._own.hang if self._own is not None else None
        while not self._stopped.wait(STALL_SECONDS):
            beats = self._beats
            if hang is not None:
                hang.tick(beats, lambda: sys._current_frames().get(watched))
            if beats == seen and beats != looked:
                looked, frame = beats, sys._current_frames().get(watched)
                self._caught = _name_culprit(frame, self._scalers) if frame is not None else ""
            seen = beats


def _name_culprit(frame: FrameType, scalers: Mapping[str, str]) -> str:
    """The trigger type whose scaler is running, else the place in this project that is; "elsewhere" where neither."""
    frames = list(_outwards(frame))  # once: the watched thread goes on, and a second walk may find another stack
    modules = [str(one.f_globals.get("__name__", "")) for one in frames]
    for module in modules:
        if module in scalers:
            return f"scaler {scalers[module]}"
    ours = (one for one, module in zip(frames, modules, strict=True) if module.startswith("keda_py."))
    found = next(ours, None)
    return f"{found.f_globals['__name__']}.{found.f_code.co_name}" if found is not None else "elsewhere"


def _outwards(frame: FrameType) -> Iterator[FrameType]:
    current: FrameType | None = frame
    while current is not None:
        yield current
        current = current.f_back
