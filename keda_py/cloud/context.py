"""What an exchange of credentials is lent by those who want one: a scaler's context has all of it.

For an authentication it is `auth/lookup/cloud_context.py`.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import httpx

from keda_py.clock import Clock
from keda_py.net.credential_keys import SharingKey
from keda_py.net.operator_identity import Destination

T = TypeVar("T")


class CloudContext(Protocol):
    """Who asks, and with what."""

    @property
    def namespace(self) -> str:
        """The tenant: what is obtained is kept for it alone."""
        ...

    @property
    def http(self) -> httpx.AsyncClient:
        """The client that all share."""
        ...

    @property
    def http_timeout(self) -> float:
        """Seconds that one question may take; the client's own limit."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock of decisions; signed claims bear its time."""
        ...

    def check_identity(self, identity: str, to: Destination) -> None:
        """To be asked before the operator's own identity goes anywhere. Raises ConfigError where it may not."""
        ...

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """What is there under this key, else what `factory` makes."""
        ...


async def nothing_to_close(_: object) -> None:
    """For what is shared and holds nothing open."""
