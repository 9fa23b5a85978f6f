"""Changes of objects as signals, for scalers that are told instead of asking; the reader has the caches.

A signal says that something changed, never what: a thousand changes while its reader is busy are one.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeAlias

from keda_py.core.values.selectors import LabelSelector
from keda_py.kube.resources import Obj

PAUSE = 1.0
"""Seconds between two signals, on the loop's time: what happens meanwhile is in the second."""

Subscribe: TypeAlias = Callable[[asyncio.Event], Callable[[], None]]
"""Have an event set at each change; what is returned ends that."""


async def signals(subscribe: Subscribe) -> AsyncGenerator[None]:
    """One at first, and one after each change."""
    changed = asyncio.Event()
    end = subscribe(changed)
    try:
        while True:
            changed.clear()
            yield
            await asyncio.sleep(PAUSE)
            await changed.wait()
    finally:
        end()


def note_pods(selector: LabelSelector, changed: asyncio.Event) -> Callable[[Obj | None, Obj | None], None]:
    """For an informer: sets the event where a pod that matches came, went or changed in what triggers count."""

    def notify(old: Obj | None, new: Obj | None) -> None:
        if changed.is_set() or _counted(old) == _counted(new):
            return
        if any(selector.matches(pod) for pod in (old, new) if pod is not None):
            changed.set()

    return notify


def _counted(pod: Obj | None) -> tuple[Any, ...]:
    if pod is None:
        return ()
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    return (pod["metadata"].get("labels"), spec.get("nodeName"), status.get("phase"))
