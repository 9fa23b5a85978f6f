"""PostgreSQL by asyncpg. Prepared statements are not kept, so that a pooler in between may take turns."""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.scaler import ScalerContext, ScalerError, SharingKey, TlsSettings, sharing_key
from scalers.shared.databases.bounded_loop import BoundedLoop
from scalers.shared.databases.postgres_address import PostgresAddress
from scalers.shared.databases.session import NO_ROW, QueryRefused
from scalers.shared.extras import needs_extra
from scalers.shared.protocols.tcp import reason_of

_VERIFIED, _UNVERIFIED = TlsSettings(), TlsSettings(unsafe=True)
_ATTEMPTS: dict[str, Sequence[TlsSettings | None]] = {
    "disable": (None,),
    "allow": (None, _UNVERIFIED),
    "prefer": (_UNVERIFIED, None),
    "require": (_UNVERIFIED,),
    "verify-ca": (_VERIFIED,),
    "verify-full": (_VERIFIED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A `Server`. `token`: proves who the operator is, in place of a password; it goes over verified TLS only."""

    at: PostgresAddress
    timeout: float
    token: TokenSource | None = None

    @property
    def address(self) -> str:
        """`host:port` of the first host."""
        host, port = self.at.hosts[0]
        return f"postgresql {host}:{port}"

    def key(self, tenant: str, use: str) -> SharingKey:
        """Always under the user: there is no database without one."""
        at = self.at
        places = ",".join(f"{host}:{port}" for host, port in at.hosts)
        settings = tuple((name, value) for name, value in sorted(at.settings.items()))
        what = ("postgresql", use, places, at.database, at.sslmode, self.timeout, id(self.token) if self.token else 0)
        return sharing_key(tenant, what, at.user, at.password, settings, "user")

    async def connect(self, context: ScalerContext) -> "PostgresLink":
        """To the first host that answers, by TLS as sslmode says. Raises ScalerError or ConfigError."""
        asyncpg = _library()
        failure = ScalerError("no host")
        for host, port in self.at.hosts:
            for tls in (_VERIFIED,) if self.token else _ATTEMPTS[self.at.sslmode]:
                try:
                    return await self._connect_to(asyncpg, (host, port), context.tls_context(tls) if tls else False)
                except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
                    failure = ScalerError(f"{host}:{port}: connection failed: {reason_of(error)}")
        raise failure

    async def _connect_to(
        self, asyncpg: ModuleType, place: tuple[str, int], tls: ssl.SSLContext | bool
    ) -> "PostgresLink":
        password = await self.token.token() if self.token else self.at.password
        loop = BoundedLoop()
        try:
            connection = await asyncpg.connect(
                host=place[0],
                port=place[1],
                user=self.at.user,
                password=password.get_secret_value(),  # "" too: with None, the operator's own variables and files count
                database=self.at.database,
                ssl=tls,
                timeout=self.timeout,
                statement_cache_size=0,
                server_settings=dict(self.at.settings),
                target_session_attrs="any",
                loop=loop,
            )
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise loop.failure or error from None
        return PostgresLink(connection, loop, asyncpg)


class PostgresLink:
    """A `Link`."""

    def __init__(self, connection: Any, loop: BoundedLoop, asyncpg: ModuleType) -> None:
        self._connection, self._loop, self._asyncpg = connection, loop, asyncpg
        self._listeners: dict[Callable[[str], None], Callable[..., None]] = {}

    async def first(self, query: str) -> object:
        """The first cell; the server stops after one row."""
        with self._asking("the query is refused"):
            row = await self._connection.fetchrow(query)
        if row is None:
            return NO_ROW
        return row[0] if len(row) else None

    async def listen(self, channel: str, heard: Callable[[str], None]) -> None:
        """Call `heard` with the channel at each NOTIFY. Raises as `first`."""
        with self._asking("LISTEN is refused"):
            await self._connection.add_listener(channel, self._listener(heard))

    async def unlisten(self, channel: str, heard: Callable[[str], None]) -> None:
        """Undo `listen`. Raises as `first`."""
        with self._asking("UNLISTEN is refused"):
            await self._connection.remove_listener(channel, self._listener(heard))

    def on_lost(self, lost: Callable[[], None]) -> None:
        """Call `lost` when the connection is closed, by whichever side."""
        self._connection.add_termination_listener(lambda _: lost())

    def _listener(self, heard: Callable[[str], None]) -> Callable[..., None]:
        """One for each `heard`: the library finds it again by its identity."""
        return self._listeners.setdefault(heard, lambda _connection, _pid, channel, _payload: heard(channel))

    @contextmanager
    def _asking(self, refused: str) -> Iterator[None]:
        """Raises QueryRefused that begins so, or ScalerError for a connection lost."""
        self._loop.begin()
        try:
            yield
        except self._asyncpg.PostgresConnectionError as error:
            raise ScalerError(f"connection lost: {error}") from None
        except self._asyncpg.PostgresError as error:
            if self._connection.is_closed():
                raise ScalerError(f"connection lost: {error}") from None
            raise QueryRefused(f"{refused}: {error}") from None
        except (self._asyncpg.InterfaceError, OSError, asyncio.IncompleteReadError) as error:
            raise ScalerError(f"connection lost: {reason_of(error)}") from None

    async def aclose(self) -> None:
        """At once."""
        self._connection.terminate()


def _library() -> ModuleType:
    with needs_extra("postgresql"):
        import asyncpg
    module: ModuleType = asyncpg
    return module
