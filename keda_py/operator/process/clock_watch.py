"""Notices that the wall clock was set, so that schedules follow it at once instead of at the next poll."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from keda_py.clock import Clock

LOOK_SECONDS = 1.0
STEP_SECONDS = 0.5
log = logging.getLogger(__name__)


async def watch_clock(clock: Clock, listeners: Sequence[Callable[[], None]]) -> None:
    """Call all of `listeners` after each step of the wall clock, until cancelled."""
    offset = _offset(clock)
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        before, offset = offset, _offset(clock)
        if abs(offset - before) > STEP_SECONDS:
            log.warning("the wall clock was set", extra={"seconds": round(offset - before, 3)})
            for tell in listeners:
                tell()


def _offset(clock: Clock) -> float:
    return (clock.now() - datetime.fromtimestamp(0, clock.now().tzinfo)).total_seconds() - clock.monotonic()
