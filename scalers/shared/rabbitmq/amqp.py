"""Lengths of queues by AMQP 0-9-1: a passive declaration tells how many messages are ready.

One connection with one channel (`amqp_link.py`) for all triggers of a namespace on one vhost as one user; each is
opened again when it was lost. The library pamqp is the extra `rabbitmq`, imported when the first connection is opened.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic import SecretStr

from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.extras import needs_extra
from scalers.shared.protocols.tcp import open_connection, reason_of
from scalers.shared.rabbitmq.address import RabbitAddress
from scalers.shared.rabbitmq.amqp_link import AmqpLink, AmqpLogin, AmqpRefusal

_MOST_DECLARATIONS = 1024
_GUEST = "guest"
"""User and password of an address without one, as in KEDA's client."""
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

    def login(self, name: str) -> AmqpLogin:
        """Who logs in, and as which connection the broker lists it."""
        user, password = self.username.get_secret_value(), self.password.get_secret_value()
        if not user and not self.tls.cert:
            user, password = _GUEST, password or _GUEST
        return AmqpLogin(user=user, password=password, vhost=self.address.vhost, name=name)


class AmqpQueues:
    """The connection, and one question at a time through it."""

    def __init__(self, server: AmqpServer, context: ScalerContext) -> None:
        self._server, self._context = server, context
        self._tls: ssl.SSLContext | None = None
        if server.address.scheme == "amqps":
            self._tls = context.tls_context(server.tls)
        self._lock, self._held = asyncio.Lock(), AsyncExitStack()
        self._link: AmqpLink | None = None

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
        link, self._link = self._link, None
        try:
            if link is not None:
                await link.aclose()
        finally:
            await self._held.aclose()

    async def _ask(self, names: Sequence[str]) -> list[int | ScalerError]:
        return [await self._length(await self._open_link(), name) for name in names]

    async def _length(self, link: AmqpLink, name: str) -> int | ScalerError:
        if len(name.encode()) > _LONGEST_NAME:
            return ScalerError(f"queueName: more than {_LONGEST_NAME} bytes, which AMQP does not allow")
        try:
            return await link.ready_messages(_declaration(name))
        except AmqpRefusal as error:
            return ScalerError(f'queue "{name}": {str(error)[:_LONGEST_TEXT]}')

    async def _open_link(self) -> AmqpLink:
        """Return the open connection, or connect again."""
        if self._link is None or self._link.ended:
            await self.aclose()
            await self._connect()
        assert self._link is not None
        return self._link

    async def _connect(self) -> None:
        server = self._server
        await self._held.enter_async_context(self._context.connection(server.address.server))
        self._link = AmqpLink()
        await open_connection(server.address.host, server.port, self._link, self._tls)
        await self._link.log_in(server.login(f"keda-{self._context.namespace}-{self._context.scaled_object}"))


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
        from pamqp.exceptions import PAMQPException
    return (PAMQPException, OSError, ValueError)


@cache
def _declaration_type() -> Any:
    """A declaration of any name: to RabbitMQ any text is one, and not to the library."""
    from pamqp.commands import Queue

    class Declare(Queue.Declare):
        def validate(self) -> None:
            pass

    return Declare


@lru_cache(_MOST_DECLARATIONS)
def _declaration(name: str) -> bytes:
    """A passive declaration as it goes to the wire."""
    from pamqp.frame import marshal

    return marshal(_declaration_type()(queue=name, passive=True), 1)
