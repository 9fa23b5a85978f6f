"""Several questions for one reading, some of them at once; the first that fails ends the others."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from keda_py.sdk.scaler import ScalerError

K = TypeVar("K")
T = TypeVar("T")


async def each(keys: Collection[K], ask: Callable[[K], Awaitable[T]], *, at_once: int) -> list[T]:
    """The answers, in order. Raises the ScalerError of one; nothing is asked any more then."""
    places, failures = asyncio.Semaphore(at_once), list[ScalerError]()

    async def one(key: K) -> T:
        async with places:
            if failures:  # a task that is to be cancelled may get its turn before that
                raise failures[0]
            try:
                return await ask(key)
            except ScalerError as error:
                failures.append(error)
                raise

    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(one(key)) for key in keys]
    except* ScalerError:
        pass
    if failures:
        raise failures[0] from None
    return [task.result() for task in asked]
