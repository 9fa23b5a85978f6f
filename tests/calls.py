"""Calls of functions, counted by the interpreter: nothing is patched, and every caller counts.

They are the same on every machine, however busy it is, and so a bound on them may be near, where one on seconds may not.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType


@dataclass
class Calls:
    """A count of calls, of those in `codes` or of all."""

    codes: frozenset[CodeType]
    count: int = 0

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Take an event of `sys.setprofile`."""
        if self.codes:
            self.count += event == "call" and frame.f_code in self.codes
        else:
            self.count += event in ("call", "c_call")


@contextmanager
def counted_calls(*functions: FunctionType) -> Iterator[Calls]:
    """The calls of this thread inside the block: of these functions, or of all, those written in C included.

    The collector of garbage rests meanwhile, since it may call what other tests have left behind.
    """
    calls = Calls(frozenset(function.__code__ for function in functions))
    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()


def calls_of(work: Callable[[], object], *functions: FunctionType) -> int:
    """How many calls `work` makes, counted as `counted_calls` does."""
    with counted_calls(*functions) as calls:
        work()
    return calls.count
