"""Turns for the evaluation of formulas: costly ones one at a time, with a share of CPU time per namespace.

A formula takes 10 ms at most (`core/formula/syntax/limits.py`), but 100 objects that are due at once would block the
loop for a second. `operator/scaled_objects/observing.py` and `external_metrics/query.py` take a turn around each
evaluation. Between two costly ones the loop runs everything else that is ready; a namespace that exceeds its share
delays only itself.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import thread_time

from keda_py.answers.fairness import TenantPlaces

SHARE = 0.1
# Seconds that a namespace may be ahead of its share before its formulas wait: 100 ms of CPU at once.
CREDIT_SECONDS = 1.0
COSTLY_SECONDS = 0.001
REMEMBERED, WARNING_SECONDS = 256, 600.0

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Tab:
    """Account of a namespace, on the loop's time; at `paid_at` its use falls back to its share."""

    paid_at: float = 0.0
    warned_at: float = float("-inf")


class FormulaTurns:
    """Turns of one process."""

    def __init__(self) -> None:
        self._lane, self._places = asyncio.Lock(), TenantPlaces()
        self._tabs: dict[str, _Tab] = {}

    def __len__(self) -> int:
        """Return the number of namespaces with an account."""
        return len(self._tabs)

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """Evaluate inside without awaiting anything; a namespace's turns are in order of arrival."""
        # Two locks: a namespace that waits for its share holds only its own, and the others go on.
        async with self._places.one(namespace):
            tab = self._tabs.get(namespace) or self._open(namespace)
            await self._wait(namespace, tab)
            async with self._lane:
                # CPU time of the thread, so that a formula is not charged for what other processes do.
                began = thread_time()
                try:
                    yield
                finally:
                    await _charge(tab, thread_time() - began)

    async def _wait(self, namespace: str, tab: _Tab) -> None:
        now = asyncio.get_running_loop().time()
        ahead = tab.paid_at - now - CREDIT_SECONDS
        if ahead <= 0:
            return
        if now - tab.warned_at > WARNING_SECONDS:
            tab.warned_at = now
            log.warning("formulas of a namespace wait, they take too much time", extra={"namespace": namespace})
        await asyncio.sleep(ahead)

    def _open(self, namespace: str) -> _Tab:
        if len(self._tabs) >= REMEMBERED:
            late = asyncio.get_running_loop().time() + CREDIT_SECONDS
            self._tabs = {
                name: tab for name, tab in self._tabs.items() if self._places.users(name) or tab.paid_at > late
            }
        tab = self._tabs[namespace] = _Tab()
        return tab


async def _charge(tab: _Tab, seconds: float) -> None:
    now = asyncio.get_running_loop().time()
    # A leaky bucket in one number: a use of s seconds is paid off after s / SHARE seconds, and unused time is not saved
    # up.
    tab.paid_at = max(tab.paid_at, now) + seconds / SHARE
    if seconds > COSTLY_SECONDS:
        await asyncio.sleep(0)  # the next one in the lane begins in the loop's next pass, after what is ready now
