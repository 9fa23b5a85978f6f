"""A loop whose threads are all taken, as by look-ups that are never answered."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager


@asynccontextmanager
async def no_thread_left() -> AsyncIterator[None]:
    """Every thread of the loop's default executor waits while the block lasts."""
    loop, free = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    taken = loop.run_in_executor(None, free.wait)
    try:
        yield
    finally:
        free.set()
        await taken
