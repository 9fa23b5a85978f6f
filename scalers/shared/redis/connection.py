"""How the redis family of scalers connects: the keys, and one connection pool for all triggers of one server."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, model_validator
from redis._parsers import _AsyncRESP2Parser  # no public name for what `parser_class` takes
from redis.asyncio import BlockingConnectionPool, Connection, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import InvalidResponse, RedisError

from keda_py.sdk.scaler import (
    AUTH,
    ENV,
    META,
    ScalerContext,
    ScalerError,
    SharingKey,
    TlsSettings,
    TriggerMetadata,
    addresses,
    named,
    sharing_key,
    sources,
)

Place = Callable[[], AbstractAsyncContextManager[None]]
_NONE = SecretStr("")
_CONNECTIONS = 8
_LONGEST_REPLY = 4096
"""Bytes; we ask for counts, and errors are a line of text."""
_LONGEST_NUMBER = 20
_NO_REPLY = "the server says something that is no reply to our commands"
_NO_ADDRESS = (
    "no addresses or hosts given. address should be a comma separated list of host:port or set the host/port values"
)


class RedisConnectionMetadata(TriggerMetadata):
    """Connection keys of the whole family; a plain server ignores the sentinel ones."""

    addresses: Annotated[list[str], named("address", "addresses"), sources(META, AUTH, ENV)] = []
    hosts: Annotated[list[str], named("host", "hosts"), sources(META, ENV, AUTH)] = []
    ports: Annotated[list[str], named("port", "ports"), sources(META, ENV, AUTH)] = []
    username: Annotated[SecretStr, sources(META, ENV, AUTH)] = _NONE
    password: Annotated[SecretStr, sources(META, ENV, AUTH)] = _NONE
    sentinel_username: Annotated[SecretStr, sources(META, AUTH, ENV)] = _NONE
    sentinel_password: Annotated[SecretStr, sources(META, AUTH, ENV)] = _NONE
    sentinel_master: Annotated[str, sources(META, AUTH, ENV)] = ""
    database_index: Annotated[int, Field(ge=0)] = 0
    enable_tls: Annotated[bool | None, named("enableTLS")] = None
    tls: Annotated[Literal["enable", "disable"] | None, sources(AUTH)] = None
    unsafe_ssl: bool = False
    cert: Annotated[SecretStr, named("cert", "Cert"), sources(AUTH)] = _NONE
    key: Annotated[SecretStr, sources(AUTH)] = _NONE
    key_password: Annotated[SecretStr, sources(AUTH)] = _NONE
    ca: Annotated[str, sources(AUTH)] = ""

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if self.enable_tls is not None and self.tls is not None:
            raise ValueError("unable to set `tls` in both ScaledObject and TriggerAuthentication together: keep one")
        if bool(self.cert.get_secret_value()) != bool(self.key.get_secret_value()):
            raise ValueError("cert and key belong together: give both or none")
        for address in self.servers():
            split_address(address)
        return self

    def servers(self) -> list[str]:
        """`host:port` of each server. Raises ValueError where neither addresses nor hosts and ports make any."""
        if self.addresses:
            return self.addresses
        if not self.hosts or not self.ports:
            raise ValueError(_NO_ADDRESS)
        if len(self.hosts) != len(self.ports):
            counts = f"{len(self.hosts)} hosts, {len(self.ports)} ports"
            raise ValueError(f"not enough hosts or ports given. number of hosts should be equal to ports: {counts}")
        return [f"{host}:{port}" for host, port in zip(self.hosts, self.ports, strict=True)]

    def tls_settings(self) -> TlsSettings | None:
        """None where TLS is off."""
        if not self.enable_tls and self.tls != "enable":
            return None
        return TlsSettings(
            ca=self.ca,
            cert=self.cert.get_secret_value(),
            key=self.key.get_secret_value(),
            key_password=self.key_password.get_secret_value(),
            unsafe=self.unsafe_ssl,
        )


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[::1]:port`; raises ValueError, which does not repeat the address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= 65535 or "@" in host:
        raise ValueError("address: is not host:port, such as redis:6379; credentials go into username and password")
    return host.strip("[]"), int(port)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """One server as one user: triggers of a namespace with equal ones share a pool and a round trip."""

    host: str
    port: int
    database: int
    username: SecretStr
    password: SecretStr
    tls: TlsSettings | None
    timeout: float

    @property
    def address(self) -> str:
        """`host:port`, for error texts."""
        return f"{self.host}:{self.port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Under which its pool, or another `use` of it, is shared; without a credential by all tenants."""
        tls = self.tls or TlsSettings()
        place = (self.host, self.port, self.database, self.timeout)
        what = ("redis", use, *place, self.tls is not None, tls.ca, tls.unsafe)
        return sharing_key(tenant, what, self.username, self.password, *tls.credential)


class _ShortReplies(_AsyncRESP2Parser):
    """Reads what our commands are answered with: a number, a short text, an error. The rest could fill any memory."""

    async def _readline(self) -> bytes:
        try:
            line = await super()._readline()
        except ValueError:  # longer than the stream's own limit
            raise InvalidResponse(_NO_REPLY) from None
        number = line[1:].removeprefix(b"-")
        is_number = number.isdigit() and len(number) <= _LONGEST_NUMBER
        if len(line) > _LONGEST_REPLY or line[:1] == b"*" or (line[:1] in (b":", b"$") and not is_number):
            raise InvalidResponse(_NO_REPLY)
        return line

    async def _read(self, length: int) -> bytes:
        if not 0 <= length <= _LONGEST_REPLY:
            raise InvalidResponse(_NO_REPLY)
        return await super()._read(length)


class _Connection(Connection):
    """A connection with a ready TLS context, or none; redis-py's own builds one from files for each connection.

    It goes to a number: asyncio's own look-up of a name would wait for a thread. While it is open it is one of the
    namespace's share, by `place`.
    """

    def __init__(self, *, tls: ssl.SSLContext | None, place: Place, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # the pool hands on what it was given
        self._tls, self._place = tls, place
        self._held = AsyncExitStack()
        self._number = self.host

    def _connection_arguments(self) -> Mapping[str, object]:
        secured = {"ssl": self._tls, "server_hostname": self.host} if self._tls else {}
        return {**super()._connection_arguments(), "host": self._number, **secured}

    async def _connect(self) -> None:
        await self._held.aclose()  # of a connection that was lost
        await self._held.enter_async_context(self._place())
        try:
            await self._connect_to_any()
        except BaseException:
            await self._held.aclose()
            raise

    async def disconnect(self, *args: Any, **options: Any) -> None:
        """Close it, in any case."""
        try:
            await super().disconnect(*args, **options)
        finally:
            await self._held.aclose()

    async def _connect_to_any(self) -> None:
        connect: Callable[[], Awaitable[None]] = super()._connect
        async with asyncio.timeout(self.socket_connect_timeout):
            *others, last = await addresses(self.host, self.port)
            for self._number in others:
                try:
                    await connect()
                except OSError:
                    continue
                return
            self._number = last
            await connect()


async def connect(server: RedisServer, context: ScalerContext) -> Redis:
    """The shared client for this server, which has answered a PING once. Raises ScalerError, or ConfigError for TLS."""

    async def open_client() -> Redis:
        client = _client(server, context)
        try:
            with context.clock.busy():
                await client.ping()
        except BaseException as error:
            await client.aclose()
            if isinstance(error, RedisError | OSError):
                raise unreachable(server, error) from None
            raise
        return client

    return await context.shared(server.key(context.namespace, "pool"), open_client, Redis.aclose)


def unreachable(server: RedisServer, error: Exception) -> ScalerError:
    """One line that names the server; redis-py's texts hold no credentials."""
    return ScalerError(f"connection to redis {server.address} failed: {error or type(error).__name__}")


def _client(server: RedisServer, context: ScalerContext) -> Redis:
    password = server.password.get_secret_value()
    pool = BlockingConnectionPool(
        max_connections=_CONNECTIONS,
        timeout=server.timeout,
        host=server.host,
        port=server.port,
        db=server.database,
        # A password alone is the default user's: a server that asks for none then accepts it, as KEDA's client has it.
        username=server.username.get_secret_value() or ("default" if password else None),
        password=password or None,
        socket_connect_timeout=server.timeout,
        socket_timeout=server.timeout,
        protocol=2,  # known to every server
        retry=Retry(NoBackoff(), 1),  # a kept connection may be dead; a server that is down is for the next poll
        connection_class=_Connection,
        parser_class=_ShortReplies,
        tls=context.tls_context(server.tls) if server.tls else None,
        place=context.connection,
    )
    return Redis.from_pool(pool)
