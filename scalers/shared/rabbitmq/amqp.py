"""Lengths of queues by AMQP 0-9-1: a passive declaration tells how many messages are ready.

One connection with one channel for all triggers of a namespace on one vhost as one user; each is opened again when it
was lost. The library aiormq is the extra `rabbitmq`, imported when the first connection is opened.
"""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr
from yarl import URL

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.extras import needs_extra
from scalers.shared.protocols.tcp import open_stream, reason_of
from scalers.shared.rabbitmq.address import RabbitAddress

if TYPE_CHECKING:
    from aiormq import Connection

_LONGEST_FRAME = 16 * 1024
"""Bytes; frames that we ask for hold a number or a line of text, and the first one what the server can do."""
_LONGEST_TEXT = 200
_LONGEST_NAME = 255
_PORTS = {"amqp": 5672, "amqps": 5671}


@dataclass(frozen=True, slots=True, kw_only=True)
class AmqpServer:
    """A vhost as one user; without a user, a client certificate logs in (`external`), or guest does."""

    address: RabbitAddress
    username: SecretStr
    password: SecretStr
    tls: TlsSettings
    timeout: float

    @property
    def port(self) -> int:
        """The one of the address, or AMQP's."""
        return self.address.port or _PORTS[self.address.scheme]

    def key(self, tenant: str) -> SharingKey:
        """Key under which the connection is shared."""
        place = (self.address.scheme, self.address.host, self.port, self.address.vhost, self.timeout)
        what = ("amqp", *place, self.tls.ca, self.tls.unsafe)
        return sharing_key(tenant, what, self.username, self.password, *self.tls.credential)

    def url(self) -> SecretStr:
        external = {"auth": "external"} if self.tls.cert and not self.username.get_secret_value() else {}
        return SecretStr(
            str(
                URL.build(
                    scheme=self.address.scheme,
                    host=self.address.host,
                    port=self.port,
                    user=self.username.get_secret_value() or None,
                    password=self.password.get_secret_value() or None,
                    path=f"/{self.address.vhost}",
                    query=external,
                )
            )
        )


class AmqpQueues:
    """The connection, and one question at a time through it."""

    def __init__(self, server: AmqpServer, context: ScalerContext) -> None:
        self._server, self._context = server, context
        self._tls: ssl.SSLContext | None = None
        if server.address.scheme == "amqps":
            self._tls = context.tls_context(server.tls)
        self._lock, self._held = asyncio.Lock(), AsyncExitStack()
        self._connection: Connection | None = None
        self._kept: Any = None

    async def lengths(self, names: Sequence[str]) -> Sequence[int | ScalerError]:
        """Ready messages of each queue; a missing one is an error of its own. Raises ScalerError, and ConfigError."""
        failures = _failures()
        async with self._lock:
            try:
                async with asyncio.timeout(self._server.timeout):
                    return await self._ask(names)
            except failures as error:
                await self.aclose()
                reason = reason_of(error)[:_LONGEST_TEXT]
                raise ScalerError(
                    f"error establishing rabbitmq connection to {self._server.address.server}: {reason}"
                ) from None
            except BaseException:
                await self.aclose()
                raise

    async def aclose(self) -> None:
        connection, self._connection, self._kept = self._connection, None, None
        try:
            if connection is not None:
                with suppress(*_failures()):
                    await connection.close(timeout=1)
        finally:
            await self._held.aclose()

    async def _ask(self, names: Sequence[str]) -> list[int | ScalerError]:
        return [await self._length(await self._channel(), name) for name in names]

    async def _length(self, channel: Any, name: str) -> int | ScalerError:
        from aiormq.exceptions import AMQPChannelError

        if len(name.encode()) > _LONGEST_NAME:
            return ScalerError(f"queueName: more than {_LONGEST_NAME} bytes, which AMQP does not allow")
        try:
            declared = await channel.rpc(_declaration_type()(queue=name, passive=True))
        except AMQPChannelError as error:
            self._kept = None  # the server has closed it with its refusal
            return ScalerError(f'queue "{name}": {str(error)[:_LONGEST_TEXT]}')
        return getattr(declared, "message_count", None) or 0

    async def _channel(self) -> Any:
        """Return the open channel, or open one on the kept connection."""
        if self._connection is None or not self._connection.is_opened:
            await self.aclose()
            await self._connect()
        assert self._connection is not None
        channel = self._kept
        if channel is None or channel.is_closed:
            channel = self._kept = await self._connection.channel()
        return channel

    async def _connect(self) -> None:
        from aiormq import Connection

        await self._held.enter_async_context(self._context.connection(self._server.address.server))
        name = f"keda-{self._context.namespace}-{self._context.scaled_object}"
        self._connection = Connection(
            self._server.url().get_secret_value(),
            transport_factory=_transport_factory(self._server, self._tls),
            client_properties={"connection_name": name},
        )
        await self._connection.connect()


async def amqp_queues(server: AmqpServer, context: ScalerContext) -> AmqpQueues:
    """The shared connection, which is opened by the first question. Raises ConfigError for TLS, or without aiormq."""
    _failures()

    async def make() -> AmqpQueues:
        return AmqpQueues(server, context)

    return await context.shared(server.key(context.namespace), make, AmqpQueues.aclose)


@cache
def _failures() -> tuple[type[Exception], ...]:
    """Exceptions of a connection. Raises ConfigError without the library."""
    with needs_extra("rabbitmq"):
        from aiormq.exceptions import AMQPError
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # what it logs is in the error of the poll
    return (AMQPError, OSError, asyncio.IncompleteReadError, RecursionError, ValueError)


@cache
def _declaration_type() -> Any:
    """A declaration of any name: to RabbitMQ any text is one, and not to the library."""
    from pamqp.commands import Queue

    class Declare(Queue.Declare):
        def validate(self) -> None:
            pass

    return Declare


def _transport_factory(server: AmqpServer, tls: ssl.SSLContext | None) -> Any:
    from aiormq.connection import TransportFactory

    class Bounded(TransportFactory):
        async def create(self, url: URL, **_: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await open_stream(server.address.host, server.port, _LONGEST_FRAME, tls)

    return Bounded()
