"""Open sockets of the HTTP client, counted by namespace, idle ones included.

A namespace with many open sockets keeps no more idle ones: `transport.py` checks `keeps` before each request.
"""

import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from keda_py.answers.work_context import current_work

AddressInfo = tuple[Any, ...]
"""Entry of getaddrinfo: family, type, protocol, canonical name, address."""


class Sockets:
    """Counts of open sockets. `share` is the number up to which a namespace may keep idle connections."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._open: Counter[str] = Counter()
        self._all = 0

    @property
    def keeps(self) -> bool:
        """Return whether the current namespace may keep another idle connection; all together keep two shares."""
        # Two shares for all together, so that many namespaces with a share each cannot exhaust the descriptors.
        return self._open[current_work().namespace] < self._share and self._all < 2 * self._share

    def make(self, address: AddressInfo) -> socket.socket:
        """Make a socket that is counted until it is closed."""
        family, kind, protocol, *_ = address
        namespace = current_work().namespace
        made = _Counted(family, kind, protocol)
        made.on_close = partial(self._count, namespace, -1)
        self._count(namespace, 1)
        return made

    def _count(self, namespace: str, more: int) -> None:
        self._all += more
        self._open[namespace] += more
        if not self._open[namespace]:
            del self._open[namespace]


class _Counted(socket.socket):
    """Socket that reports its end: asyncio closes it; uvloop closes the descriptor itself and detaches it."""

    on_close: Callable[[], None] | None = None

    def close(self) -> None:
        super().close()
        self._end()

    def detach(self) -> int:
        self._end()
        return super().detach()

    def _end(self) -> None:
        if (done := self.on_close) is not None:
            self.on_close = None
            done()
