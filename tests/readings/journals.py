"""Work that a journal records, and work that has only begun."""

import types
from collections.abc import Coroutine, Generator
from typing import Any

from keda_py.core.quarantine import Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.journal import Journal

NOW = 1_800_000_000
APP, OTHER = Work(ObjectKey("ScaledObject", "shop", "app"), 7), Work(ObjectKey("ScaledJob", "bank", "other"), 8)


@types.coroutine
def pause() -> Generator[None, None, None]:
    """Wait for ever, without a loop."""
    yield


def begin(journal: Journal, work: Coroutine[Any, Any, None] | None = None) -> Coroutine[Any, Any, None]:
    """Start work on APP and run its first step; it waits until it is closed."""

    async def wait() -> None:
        await pause()

    async def run() -> None:
        await journal.run((APP,), work or wait())

    begun = run()
    begun.send(None)
    return begun
