"""Whose turn it is to reckon: of one namespace one at a time, and no more of it than its share of a CPU.

A namespace has as many Overrides and Environments due at once as its tenant likes. Each takes milliseconds; a thousand
in one pass of the loop would stop everything else for seconds, and one after the other without end would slow it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import thread_time

SHARE = 0.25
"""Of one CPU that a namespace may take for what is costly."""
COSTLY_SECONDS = 0.005
"""Of CPU: what takes less is not charged, as an Environment of some dozen members."""
REMEMBERED = 256


@dataclass(slots=True, eq=False)
class _Tab:
    """Of a namespace. Until `paid_at`, of the loop's time, it has had its share."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    paid_at: float = 0.0


class Turns:
    """One for each place where much is reckoned; a turn inside a turn of the same one would wait for ever."""

    def __init__(self) -> None:
        self._tabs: dict[str, _Tab] = {}

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """In the order of arrival. What else the loop does while the block waits is charged, too."""
        tab = self._tabs.get(namespace) or self._open(namespace)
        tab.users += 1
        try:
            async with tab.lock:
                await asyncio.sleep(max(tab.paid_at - _now(), 0.0))  # 0: what else is ready goes first
                began = thread_time()
                try:
                    yield
                finally:
                    if (seconds := thread_time() - began) > COSTLY_SECONDS:
                        tab.paid_at = _now() + seconds * (1 / SHARE - 1)
        finally:
            tab.users -= 1

    def _open(self, namespace: str) -> _Tab:
        if len(self._tabs) >= REMEMBERED:
            self._tabs = {name: tab for name, tab in self._tabs.items() if tab.users or tab.paid_at > _now()}
        tab = self._tabs[namespace] = _Tab()
        return tab


def _now() -> float:
    return asyncio.get_running_loop().time()
