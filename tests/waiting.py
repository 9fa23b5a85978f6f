"""Waiting for what happens in real time, always with an end."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

PAUSE, LONGEST_PAUSE = 0.01, 0.05
"""Between two looks at something that has no event for its changes: a tenth of what was waited, in these bounds. What
takes seconds, as a Lease or a scrape, would be asked for hundreds of times."""
CLOSING_SECONDS = 0.05
"""TLS connections close in the background, some turns of the loop after their session; no event tells of it."""


async def eventually(look: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first truthy answer of `look`, which may be a coroutine function; AssertionError after `seconds`.

    A pause counts for twice its length at most. A machine that is busy with other programs takes longer for each, and the
    processes that are waited for get as little of it as this one.
    """
    loop = asyncio.get_running_loop()
    waited, pause = 0.0, PAUSE
    while True:
        found = look()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        assert waited <= seconds, f"nothing came within {seconds} s: {found!r}"
        began = loop.time()
        await asyncio.sleep(pause)
        waited += min(loop.time() - began, 2 * pause)
        pause = min(max(waited / 10, PAUSE), LONGEST_PAUSE)


async def turns(count: int = 5) -> None:
    """So many turns of the loop: what is ready gets on."""
    for _ in range(count):
        await asyncio.sleep(0)


async def forever() -> None:
    """Nothing more happens here."""
    await asyncio.get_running_loop().create_future()


async def connections_closed() -> None:
    """Return once the connections of closed sessions have gone too."""
    await asyncio.sleep(CLOSING_SECONDS)
