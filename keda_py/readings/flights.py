"""Waiting for reads that are on their way without owning them: `readings.py` does, and shares each with all who ask."""

import asyncio
from collections.abc import Sequence
from typing import Any

from keda_py.core.reading import MetricReading


async def gather(flights: Sequence[asyncio.Future[MetricReading]]) -> tuple[MetricReading, ...]:
    """Wait without owning: cancelling the waiter leaves the reads alone."""
    if waiting := [flight for flight in flights if not flight.done()]:
        await asyncio.wait(waiting)
    return tuple(flight.result() for flight in flights)


async def all_done_before(changed: asyncio.Future[None], flights: Sequence[asyncio.Future[MetricReading]]) -> bool:
    """Wait for the flights, without owning them, or for `changed`; no task is made, since every poll comes here."""
    left = {flight for flight in flights if not flight.done()}
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def landed(flight: asyncio.Future[Any]) -> None:
        left.discard(flight)
        if not over.done() and (not left or changed.done()):
            over.set_result(None)

    awaited: list[asyncio.Future[Any]] = [*left, changed]
    for one in awaited:
        one.add_done_callback(landed)
    try:
        if left:
            await over
    finally:
        for one in awaited:
            one.remove_done_callback(landed)
    return not left


def done(reading: MetricReading) -> asyncio.Future[MetricReading]:
    """A flight that has landed."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(reading)
    return future
