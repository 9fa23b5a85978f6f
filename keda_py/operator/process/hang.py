"""An event loop that hangs is shown, and ended when another replica has the Lease by now.

`watchdog.py` ticks here, from its thread. Counted are ticks, not seconds: while a machine is suspended or a debugger
holds the process, nothing ticks either. Not counted is the time that the loop's thread could have run but had no CPU;
what it did use counts in any case, since the ticks are late as well on such a machine. And a loop that still gets from
one step to the next, however late its timers are, is busy: ending it would only add its start to the load.

A hang at one object is written into the journal before the end, so that the next process holds that object back.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from keda_py.readings.journal import Journal, owners_of

TICK_SECONDS = 0.1
EXIT_CODE = 86
"""Of a process that the watchdog has ended; a fault or a kill have the codes of their signals."""
SHOWN_AT = 1 / 3
"""Of the Lease's duration."""
LOG_SECONDS = 1.0
NANO = 1e-9

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTimes:
    """Seconds for which a thread `ran`, and for which it could have but was `starved` of CPU."""

    ran: float
    starved: float


class Hang:
    """Counts the time without progress. `seconds` is the Lease's duration; `end` does not return.

    `times` are those of the loop's thread.
    """

    def __init__(
        self,
        journal: Journal,
        seconds: float,
        times: Callable[[], ThreadTimes],
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._journal, self._seconds, self._times, self._end = journal, seconds, times, end
        self._progress = (-1, -1)
        self._hung, self._shown = 0.0, False
        self._before: ThreadTimes | None = None

    def tick(self, beats: int, frame: Callable[[], FrameType | None]) -> None:
        """Another tick has passed. `beats` counts the loop's, `frame` is where its thread is."""
        progress = (beats, self._journal.steps)
        if progress != self._progress:
            self._progress, self._hung, self._shown, self._before = progress, 0.0, False, None
            return
        self._hung += self._hung_since()
        if self._hung > self._seconds:
            # Before the end: after it nothing of this process writes, and the next one reads whom to hold back.
            self._journal.accuse()
            self._log(logging.CRITICAL, "the event loop hangs for longer than the lease, the process ends")
            self._end(EXIT_CODE)
        elif self._hung >= self._seconds * SHOWN_AT and not self._shown:
            self._shown = True
            self._log(logging.ERROR, "the event loop hangs", stack=list(stack_of(frame())))

    def _hung_since(self) -> float:
        """Seconds since the tick before in which the loop's thread ran, or waited for something else than a CPU."""
        times = self._times()
        before, self._before = self._before or times, times
        return max(TICK_SECONDS - (times.starved - before.starved), times.ran - before.ran, 0.0)

    def _log(self, level: int, message: str, **more: object) -> None:
        """From a thread of its own: what hangs may hold the lock of the log, or wait for its reader."""
        fields = {"objects": owners_of(self._journal.on_cpu), "seconds": round(self._hung, 1), **more}
        teller = threading.Thread(target=log.log, args=(level, message), kwargs={"extra": fields}, daemon=True)
        with suppress(RuntimeError):  # there may be no thread to be had; ending matters more
            teller.start()
            teller.join(LOG_SECONDS)


def times_of(thread: threading.Thread) -> Callable[[], ThreadTimes]:
    """How to read the times of a thread that runs; what the system does not tell is 0.0."""
    path = f"/proc/self/task/{thread.native_id}/schedstat"
    clock = time.pthread_getcpuclockid(thread.ident) if thread.ident and sys.platform != "win32" else None

    def read() -> ThreadTimes:
        starved = 0.0
        with suppress(OSError, ValueError, IndexError), open(path, "rb") as file:
            starved = int(file.read().split()[1]) * NANO
        return ThreadTimes(ran=time.clock_gettime(clock) if clock is not None else 0.0, starved=starved)

    return read


def stack_of(frame: FrameType | None) -> Iterator[str]:
    """`file:line function` from the innermost call outwards; never a value."""
    while frame is not None:
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
