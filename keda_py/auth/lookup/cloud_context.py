"""CloudContext of an authentication: implements `keda_py.cloud.context.CloudContext` for one resolution.

A resolution is short, and the next one comes with a rotated Secret or after a failed reading. So shared values are kept
for a minute, like everything issued; they hold nothing open, and nothing is closed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx

from keda_py.auth.lookup.lookup import Lookup
from keda_py.clock import Clock
from keda_py.net.credential_keys import CredentialKey, SharingKey
from keda_py.net.operator_identity import Destination

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResolvingContext:
    """Context of one lookup."""

    lookup: Lookup

    @property
    def namespace(self) -> str:
        """Return the trigger's namespace, wherever the authentication is."""
        return self.lookup.spec.namespace

    @property
    def http(self) -> httpx.AsyncClient:
        return self.lookup.around.http

    @property
    def http_timeout(self) -> float:
        return self.lookup.around.http_timeout

    @property
    def clock(self) -> Clock:
        return self.lookup.around.clock

    def check_identity(self, identity: str, to: Destination) -> None:
        """Raise ConfigError if the operator's own identity may not go there."""
        self.lookup.check_identity(identity, to)

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """Return the value made for this credential within the last minute, or call `factory`."""
        assert isinstance(key, CredentialKey), "values of a cloud are obtained with a credential"
        value: T = await self.lookup.around.credentials.get(key, factory)
        return value
