"""Several questions for one reading, some of them concurrently; the first failure ends the others."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from keda_py.sdk.scaler import ScalerError

K = TypeVar("K")
T = TypeVar("T")


async def each(keys: Collection[K], ask: Callable[[K], Awaitable[T]], *, at_once: int) -> list[T]:
    """Ask all, and return the answers in order. At the first ScalerError, end the others and raise it.

    An error is kept in no circle: with its frames it would keep what was asked through, connections too.
    """
    places, failures, asked = asyncio.Semaphore(at_once), list[ScalerError](), list[asyncio.Task[None]]()
    answers: dict[int, T] = {}

    async def one(index: int, key: K) -> None:
        async with places:
            if failures:  # a task that is to be cancelled may get its turn before that
                return
            try:
                answers[index] = await ask(key)
            except ScalerError as error:
                failures.append(error)
                _end(asked)

    async with asyncio.TaskGroup() as tasks:
        asked.extend(tasks.create_task(one(index, key)) for index, key in enumerate(keys))
    # The tasks hold the frames of the failed questions, and the error holds the tasks: cut both, or connections of the
    # failed questions live until the garbage collector runs.
    asked.clear()
    if failures:
        del failures[1:]
        raise failures.pop() from None
    return [answers[index] for index in range(len(keys))]


def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel all but the running task."""
    for task in tasks:
        if task is not asyncio.current_task():
            task.cancel()
