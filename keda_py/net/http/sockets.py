"""Open sockets of the HTTP client, counted for the namespace that opened each, idle ones included.

Who has many open keeps no more of them: `transport.py` asks `keeps` before each request.
"""

import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from keda_py.answers.tenants import tenant

AddressInfo = tuple[Any, ...]
"""As getaddrinfo has it: family, type, protocol, name, address."""


class Sockets:
    """`share`: what one namespace may have open and still keep connections for its next request."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._open: Counter[str] = Counter()
        self._all = 0

    @property
    def keeps(self) -> bool:
        """Whether a connection of the namespace that is acted for may be kept; all together keep two shares."""
        return self._open[tenant()] < self._share and self._all < 2 * self._share

    def make(self, address: AddressInfo) -> socket.socket:
        """A socket that is counted until it is closed."""
        family, kind, protocol, *_ = address
        namespace = tenant()
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
    """asyncio closes it in the end; uvloop detaches it, since it has closed the descriptor itself."""

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
