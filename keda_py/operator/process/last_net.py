"""The last net: ends a process whose event loop is in native code that never lets another thread run.

The watchdog is a thread, and needs the interpreter for each of its ticks. This net is a timer of the kernel on the
process' CPU time and a signal handler in C: it needs nothing. CPU time, because neither a suspended machine nor one
that is short of CPU uses any; what sleeps in native code is left to the kubelet's liveness probe. Not
`faulthandler.dump_traceback_later(exit=True)`: that counts real time, so that a process which was stopped for a while
is ended when it goes on, and it starts a thread each time it is set again.
"""

import ctypes
import faulthandler
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MARGIN = 2.0
"""Of the watchdog's time, which tells more; here the CPU of all threads counts."""


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
