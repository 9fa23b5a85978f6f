"""Waiting for something that happens in real time, with an end."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.01


async def eventually(look: Callable[[], T | None], seconds: float = 5.0) -> T:
    """The first truthy answer of `look`; AssertionError after `seconds`."""
    for _ in range(int(seconds / PAUSE)):
        if found := look():
            return found
        await asyncio.sleep(PAUSE)
    raise AssertionError(f"nothing came within {seconds} s")
