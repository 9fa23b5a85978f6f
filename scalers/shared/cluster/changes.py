"""Activity of triggers on objects of the cluster: read from the operator's caches whenever these change."""

from collections.abc import AsyncIterator
from typing import Any

from keda_py.sdk.scaler import Scaler, ScalerError


async def activity_after(changes: AsyncIterator[None], scaler: Scaler[Any]) -> AsyncIterator[bool]:
    """Yield after each signal whether the trigger is active; a failed read is left to the polls, which report it."""
    async for _ in changes:
        try:
            value = (await scaler.read()).value
        except ScalerError:
            continue
        yield value > scaler.activation
