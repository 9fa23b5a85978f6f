"""Following what a scaler's source tells."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from tests.waiting import eventually

SECONDS = 120.0


class Heard:
    """Counts the items of a scaler's stream, in a task of its own."""

    def __init__(self, stream: AsyncIterator[bool]) -> None:
        self.count, self._stream = 0, stream
        self._next: asyncio.Event = asyncio.Event()

    async def follow(self) -> None:
        async with aclosing(self._stream) as stream:  # type: ignore[type-var]
            async for active in stream:
                assert active
                self.count += 1
                self._next.set()

    async def next(self) -> None:
        """Return once there is one more."""
        async with asyncio.timeout(SECONDS):
            await self._next.wait()
        self._next.clear()


@asynccontextmanager
async def hearing(scaler: Any) -> AsyncIterator[Heard]:
    async with asyncio.TaskGroup() as tasks:
        heard = Heard(scaler.watch())
        following = tasks.create_task(heard.follow())
        yield heard
        following.cancel()


async def next_of(stream: AsyncIterator[bool]) -> bool:
    """The next item, for a task."""
    return await anext(stream)


async def until_told(heard: Heard, change: Callable[[], Awaitable[Any]]) -> None:
    """Change it again and again: a change before the source is listened to is not told."""
    before = heard.count

    async def one_more() -> bool:
        await change()
        return heard.count > before

    await eventually(one_more, SECONDS)
