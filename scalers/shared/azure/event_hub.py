"""Event hubs over AMQP: which events their partitions hold. No other protocol tells that to who may only listen.

Each question is a connection of the library's own. In: a host and who asks. Out: partitions.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings
from keda_py.sdk.scaler import ScalerError
from scalers.shared.concurrent_reads import each
from scalers.shared.extras import needs_extra

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken
    from azure.eventhub.aio import EventHubConsumerClient

_AT_ONCE: Final = 4
"""Connections."""
# Azure gives a hub 1024 at most.
_MOST_PARTITIONS: Final = 2048
# Seconds that a signature lasts; a token is asked for again at each connection, its source keeps it.
_LIFE: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`last` -1: it has never had an event."""

    name: str
    first: int
    last: int

    @property
    def events(self) -> int:
        """Count its events. As in KEDA, one event that is both first and last counts only as number 0."""
        if self.last < 0 or (self.first == self.last and self.last):
            return 0
        return self.last - self.first + 1


class EventHub(Protocol):
    """An event hub as a scaler asks it."""

    async def partitions(self, context: ScalerContext) -> Sequence[Partition]:
        """List all partitions. Raises ScalerError."""
        ...


class Credential:
    """A credential for the library: signatures, or tokens of Microsoft Entra ID."""

    def __init__(self, kind: bytes, give: Callable[[str], Awaitable[str]], now: Callable[[], float]) -> None:
        self.token_type, self._give, self._now = kind, give, now

    async def get_token(self, *scopes: str, **_: object) -> "AccessToken":
        """Return a token for an address or a scope."""
        from azure.core.credentials import AccessToken

        return AccessToken(await self._give(scopes[0]), int(self._now()) + _LIFE)


def by_signature(token: Callable[[str], str], now: Callable[[], float]) -> Credential:
    """Make a credential that signs each address."""

    async def give(address: str) -> str:
        return token(address)

    return Credential(b"servicebus.windows.net:sastoken", give, now)


def by_identity(source: TokenSource, now: Callable[[], float]) -> Credential:
    """Make a credential from a source whose tokens are for Event Hubs, whatever scope is asked for."""

    async def give(_: str) -> str:
        return (await source.token()).get_secret_value()

    return Credential(b"jwt", give, now)


class AmqpEventHub:
    """An EventHub behind the library's client."""

    def __init__(self, client: "EventHubConsumerClient", host: str = "the hub") -> None:
        self._client, self._host = client, host

    async def partitions(self, context: ScalerContext) -> Sequence[Partition]:
        """List all partitions, a few at once: each costs a connection."""
        async with _question(context, self._host):
            properties = await self._client.get_eventhub_properties()
        names = properties["partition_ids"]
        if len(names) > _MOST_PARTITIONS:
            raise ScalerError(f"event hubs: {len(names)} partitions are more than {_MOST_PARTITIONS}")

        async def one(name: str) -> Partition:
            async with _question(context, self._host):
                return _partition(name, await self._client.get_partition_properties(name))

        return await each(names, one, at_once=_AT_ONCE)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


async def open_hub(
    context: ScalerContext, key: SharingKey, host: str, name: str, credential: Credential
) -> AmqpEventHub:
    """The shared hub. Raises ConfigError where the library is missing."""
    with needs_extra("azure-eventhub"):
        from azure.eventhub.aio import EventHubConsumerClient

    async def make() -> AmqpEventHub:
        client = EventHubConsumerClient(
            host,
            name,
            "$Default",
            credential,  # type: ignore[arg-type]  # it needs no more of one than this has
            retry_total=0,
            retry_backoff_factor=0,  # else it waits before it tells of the only try
            auth_timeout=context.http_timeout,
            ssl_context=context.tls_context(TlsSettings()),
        )
        return AmqpEventHub(client, host)

    return await context.shared(key, make, AmqpEventHub.aclose)


def _partition(name: str, found: dict[str, Any]) -> Partition:
    first, last = found.get("beginning_sequence_number"), found.get("last_enqueued_sequence_number")
    if not isinstance(first, int) or not isinstance(last, int):
        raise ScalerError(f"event hubs: partition {name[:100]} has no sequence numbers")
    return Partition(name=name, first=first, last=last)


@asynccontextmanager
async def _question(context: ScalerContext, host: str) -> AsyncIterator[None]:
    """One question, and the connection for it: a time-out each. The library has none for a handshake."""
    from azure.eventhub.exceptions import EventHubError

    from scalers.shared.azure.amqp_transport import bounded

    seconds = 2 * context.http_timeout
    try:
        async with context.connection(host), asyncio.timeout(seconds):
            with context.clock.busy(), bounded():
                yield
    except TimeoutError:
        raise ScalerError(f"event hubs: no answer of {host} in {seconds:g} s") from None
    except (EventHubError, OSError) as error:
        said, *_ = str(error).splitlines() or [""]  # the others say it again
        raise ScalerError(f"event hubs: {type(error).__name__}: {said[:300]} (at {host})") from None
