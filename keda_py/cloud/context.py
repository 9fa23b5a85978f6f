"""Context of a credential exchange: what a scaler's context offers, as a protocol.

For an authentication it is implemented by `auth/lookup/cloud_context.py`.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from keda_py.clock import Clock
from keda_py.net.credential_keys import SharingKey
from keda_py.net.operator_identity import Destination

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class CloudContext(Protocol):
    """Tenant, HTTP client, clock and cache for a credential exchange."""

    @property
    def namespace(self) -> str:
        """Return the tenant; credentials are cached for it alone."""
        ...

    @property
    def http(self) -> "httpx.AsyncClient":
        """Return the HTTP client of the process."""
        ...

    @property
    def http_timeout(self) -> float:
        """Return the client's time-out for one request, in seconds."""
        ...

    @property
    def clock(self) -> Clock:
        """Return the clock of decisions, whose time signed claims carry."""
        ...

    def check_identity(self, identity: str, to: Destination) -> None:
        """Check a use of the operator's own identity, before it is sent. Raises ConfigError."""
        ...

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """Return the value cached under this key, or the result of `factory`."""
        ...


async def nothing_to_close(_: object) -> None:
    """Do nothing: the `close` of a shared value that holds nothing open."""
