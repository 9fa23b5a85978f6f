"""Watchdog of the event loop: names the plug-in that blocks it, and so delays every object and every answer.

A thread checks some times a second whether the loop works. A loop that works is asked for a sign of life; if that does
not come in time, the thread records what the loop's thread is doing at that moment. The loop itself reports it with its
next sign, so that logging and counting stay on one thread. An idle loop is woken once a second only, because waking it
each time would be most of the cost of an idle operator. A loop that never gives a sign again is ended by
`process/hang.py`, or by the last net if not even the thread runs any more.
"""

import asyncio
import ctypes
import faulthandler
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_COROUTINE
from types import FrameType

from keda_py.clock import Clock
from keda_py.operator.process.hang import TICK_SECONDS, Hang, times_of
from keda_py.operator.process.operator_process import OwnProcess, own_journal
from keda_py.settings.settings import Settings
from keda_py.telemetry.process_metrics import ELSEWHERE, ProcessMetrics

BEAT_SECONDS = 1.0
STALL_SECONDS = TICK_SECONDS
# Pause between two looks at a loop that was at rest at the last one. After so many without a sign, longer than a beat
# takes, it is not at rest: what blocks it has no frame of its own.
REST_SECONDS, RESTS = 0.25, 6
QUIET_SECONDS = 60.0
"""One culprit is named in the log this often at most; the metric counts each time."""

log = logging.getLogger(__name__)


class Watchdog:
    """`run` it in a task for the life of the process. `scalers` are trigger types by module."""

    def __init__(self, process: ProcessMetrics, scalers: Mapping[str, str], own: OwnProcess | None = None) -> None:
        self._process, self._scalers, self._own = process, scalers, own
        self._signs = 0
        self._asked: float | None = None
        """When a sign was asked for that has not come yet, by the thread's clock."""
        self._caught = ""
        self._reported: dict[str, float] = {}
        self._going = threading.Lock()

    async def run(self) -> None:
        """Beat and report until cancelled."""
        loop = asyncio.get_running_loop()
        watched = (loop, threading.get_ident(), _resting_frame(sys._getframe()))
        thread = threading.Thread(target=self._watch, args=watched, name="keda-py-watchdog", daemon=True)
        try:
            # The lock is the thread's signal to end, and its pause: it waits for the lock with a time-out, and gets it
            # when this block ends.
            with self._going:
                thread.start()
                await self._beat(loop)
        finally:
            thread.join()

    async def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            if self._own is not None:
                self._own.rearm()
            due = loop.time() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self._signs += 1
            self._report(max(loop.time() - due, 0.0))

    def _report(self, late: float) -> None:
        self._process.record_lag(late)
        if late < STALL_SECONDS or not self._caught:
            return
        culprit, self._caught = self._caught, ""
        self._process.record_stall(culprit)
        now = time.monotonic()
        if now - self._reported.get(culprit, float("-inf")) >= QUIET_SECONDS:
            self._reported[culprit] = now
            log.warning("the event loop was blocked", extra={"culprit": culprit, "seconds": round(late, 3)})

    def _answer(self) -> None:
        """On the loop: the sign that was asked for."""
        asked, self._asked = self._asked, None
        self._signs += 1
        if asked is not None:
            self._report(time.monotonic() - asked)

    def _watch(self, loop: asyncio.AbstractEventLoop, watched: int, resting: FrameType | None) -> None:
        """The thread, until the lock is free: a sign that does not come in time is looked into, once."""
        hang = self._own.hang if self._own is not None else None
        rests, rested, quiet, signs, looked = 0, False, 0, -1, False
        while not self._going.acquire(timeout=REST_SECONDS if rested else STALL_SECONDS):
            frame = sys._current_frames().get(watched)
            quiet, signs = 0 if self._signs != signs else quiet + 1, self._signs
            if hang is not None:
                hang.tick(signs + rests, lambda: sys._current_frames().get(watched))
            if rested := self._asked is None and frame is resting and quiet < RESTS:
                rests += 1
            elif self._asked is None:
                self._caught, self._asked, looked = "", time.monotonic(), False
                # The one safe call from another thread. It also wakes the loop, which is why a loop at rest is not
                # asked at each look.
                loop.call_soon_threadsafe(self._answer)
            elif not looked:
                looked = True
                self._caught = _name_culprit(frame, self._scalers) if frame is not None else ""
        self._going.release()


@contextmanager
def watched_process(settings: Settings, clock: Clock) -> Iterator[OwnProcess]:
    """Yield a process of our own, which is ended when its loop hangs for as long as the Lease is valid."""
    limit = settings.leadership.lease_duration.total_seconds()
    with own_journal(settings, clock) as journal, last_net(limit) as rearm:
        yield OwnProcess(journal=journal, hang=Hang(journal, limit, times_of(threading.main_thread())), rearm=rearm)


def _resting_frame(frame: FrameType | None) -> FrameType | None:
    """Where the thread of a loop in C is while nothing runs: the innermost frame that is no coroutine's.

    A loop in Python rests in frames of its own, and is always asked.
    """
    while frame is not None and frame.f_code.co_flags & CO_COROUTINE:
        frame = frame.f_back
    return frame


def _name_culprit(frame: FrameType, scalers: Mapping[str, str]) -> str:
    """The trigger type whose scaler is running, else the place in this project that is; "elsewhere" where neither."""
    frames = list(_outwards(frame))  # once: the watched thread goes on, and a second walk may find another stack
    modules = [str(one.f_globals.get("__name__", "")) for one in frames]
    for module in modules:
        if module in scalers:
            return f"scaler {scalers[module]}"
    own = (one for one, module in zip(frames, modules, strict=True) if module.startswith("keda_py."))
    found = next(own, None)
    return f"{found.f_globals['__name__']}.{found.f_code.co_name}" if found is not None else ELSEWHERE


def _outwards(frame: FrameType) -> Iterator[FrameType]:
    current: FrameType | None = frame
    while current is not None:
        yield current
        current = current.f_back


# The last net: ends a process whose event loop is in native code that never lets another thread run.
#
# The watchdog is a thread, and needs the interpreter for each of its ticks. This net is a timer of the kernel on the
# process' CPU time and a signal handler in C: it needs nothing. CPU time, because neither a suspended machine nor one
# that is short of CPU uses any; what sleeps in native code is left to the kubelet's liveness probe. Not
# `faulthandler.dump_traceback_later(exit=True)`: that counts real time, so that a process which was stopped for a while
# is ended when it goes on, and it starts a thread each time it is set again.

# Multiple of the watchdog's time: the watchdog comes first, because it tells more, and here the CPU of all threads
# counts.
MARGIN = 2.0


@contextmanager
def last_net(seconds: float) -> Iterator[Callable[[], None]]:
    """Yield a function to call from time to time; without a call for so many seconds of CPU the process ends.

    Its exit code is the signal's number, 27; the stack of the thread is on stderr, as file and line. So it is for
    faults in native code. For the main thread.
    """
    faulthandler.enable(all_threads=False)
    if sys.platform == "win32":
        yield lambda: None
        return
    _end_by(signal.SIGPROF)
    faulthandler.register(signal.SIGPROF, all_threads=False, chain=True)
    try:
        yield lambda: _set_timer(seconds * MARGIN)
    finally:
        _set_timer(0)
        faulthandler.unregister(signal.SIGPROF)


def _set_timer(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _end_by(number: int) -> None:
    """Let the C library's `_exit` handle a signal: what ends any other process by default is ignored by the first of a
    container."""
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    library.signal(number, ctypes.cast(library._exit, ctypes.c_void_p))
