"""What an exchange of credentials is lent where an authentication is resolved: `keda_py.cloud.context.CloudContext`.

A resolution is over soon, and the next comes with a rotated Secret or after a failed reading. So what is shared is kept
for a minute, as everything that is issued; it holds nothing open, and nothing is closed.
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
    """That of one look-up."""

    lookup: Lookup

    @property
    def namespace(self) -> str:
        """The trigger's, regardless of where the authentication is."""
        return self.lookup.spec.namespace

    @property
    def http(self) -> httpx.AsyncClient:
        """The client that all share."""
        return self.lookup.around.http

    @property
    def http_timeout(self) -> float:
        """Seconds."""
        return self.lookup.around.http_timeout

    @property
    def clock(self) -> Clock:
        """The clock of decisions."""
        return self.lookup.around.clock

    def check_identity(self, identity: str, to: Destination) -> None:
        """Raises ConfigError where the operator's own identity may not go."""
        self.lookup.check_identity(identity, to)

    async def shared(
        self, key: SharingKey, factory: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> T:
        """What was made for this credential within the last minute, else what `factory` makes."""
        assert isinstance(key, CredentialKey), "what is obtained by a credential has one"
        made: T = await self.lookup.around.credentials.get(key, factory)
        return made
