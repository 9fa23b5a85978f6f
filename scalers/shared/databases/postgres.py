"""PostgreSQL by asyncpg. Prepared statements are not kept, so that a pooler in between may take turns."""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from keda_py.cloud.tokens import TokenSource
from keda_py.sdk.advanced import ScalerContext, SharingKey, TlsSettings, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.bounded_loop import NOT_POSTGRES, BoundedLoop
from scalers.shared.databases.postgres_address import PostgresAddress
from scalers.shared.databases.queries.link import NO_ROW, QueryRefused, only_cell
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


_CANCEL_SECONDS = 1.0


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
        """Key that always holds the user: there is no database without one."""
        at = self.at
        places = ",".join(f"{host}:{port}" for host, port in at.hosts)
        settings = tuple((name, value) for name, value in sorted(at.settings.items()))
        proof = id(self.token) if self.token else 0
        what = ("postgresql", use, places, at.database, at.sslmode, at.session, self.timeout, proof)
        return sharing_key(tenant, what, at.user, at.password, settings, "user")

    async def connect(self, context: ScalerContext) -> "PostgresLink":
        """Connect to the first host that answers, by TLS as sslmode says. Raises ScalerError or ConfigError."""
        asyncpg = _library()
        failure = ScalerError("no host")
        for place, tls, session in self._attempts():
            try:
                return await self._connect_to(place, context.tls_context(tls) if tls else False, session)
            except asyncpg.TargetServerAttributeNotMatched:
                failure = _unlike(place, session)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
                failure = ScalerError(f"{place[0]}:{place[1]}: connection failed: {reason_of(error)}")
        raise failure

    def _attempts(self) -> Iterator[tuple[tuple[str, int], TlsSettings | None, str]]:
        """List host, TLS and kind of session of each attempt, in order."""
        wanted = self.at.session
        for session in ("standby", "any") if wanted == "prefer-standby" else (wanted,):
            for place in self.at.hosts:
                for tls in (_VERIFIED,) if self.token else _ATTEMPTS[self.at.sslmode]:
                    # A channel that has to be bound is one of TLS: without it the password must not even be offered.
                    if tls or not self.at.binds:
                        yield place, tls, session

    async def _connect_to(self, place: tuple[str, int], tls: ssl.SSLContext | bool, session: str) -> "PostgresLink":
        asyncpg = _library()
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
                target_session_attrs=session,
                connection_class=_connection_class(),
                loop=loop,
            )
        except (
            asyncpg.PostgresError,
            asyncpg.InterfaceError,
            asyncpg.TargetServerAttributeNotMatched,
            OSError,
        ) as error:
            loop.abort()
            raise loop.failure or error from None
        except Exception as error:
            loop.abort()
            if loop.has_connected:  # asyncpg trusts what servers tell of themselves: LookupError, ValueError, ...
                raise loop.failure or ConnectionError(NOT_POSTGRES) from error
            raise
        return PostgresLink(connection, loop, asyncpg)


class PostgresLink:
    """A `Link` over one connection of asyncpg."""

    def __init__(self, connection: Any, loop: BoundedLoop, asyncpg: ModuleType) -> None:
        self._connection, self._loop, self._asyncpg = connection, loop, asyncpg
        self._listeners: dict[Callable[[str], None], Callable[..., None]] = {}

    @property
    def closed(self) -> bool:
        """Whether either side has closed the connection."""
        return bool(self._connection.is_closed())

    async def first(self, query: str) -> object:
        """Return the only cell; the server stops after one row."""
        with self._as_query_errors("the query is refused"):
            row = await self._connection.fetchrow(query)
        return NO_ROW if row is None else only_cell(row)

    async def restore(self) -> bool:
        """Reset settings, locks, temporary tables and statements; an open transaction ends with its connection."""
        if self._connection.is_in_transaction():
            return False
        with self._as_query_errors("DISCARD ALL is refused"):
            await self._connection.execute("DISCARD ALL")
        return True

    async def listen(self, channel: str, heard: Callable[[str], None]) -> None:
        """Call `heard` with the channel at each NOTIFY. Raises as `first`."""
        with self._as_query_errors("LISTEN is refused"):
            await self._connection.add_listener(channel, self._listener(heard))

    async def unlisten(self, channel: str, heard: Callable[[str], None]) -> None:
        """Undo `listen`. Raises as `first`."""
        with self._as_query_errors("UNLISTEN is refused"):
            await self._connection.remove_listener(channel, self._listener(heard))

    def on_lost(self, lost: Callable[[], None]) -> None:
        """Call `lost` when the connection is closed, by whichever side."""
        self._connection.add_termination_listener(lambda _: lost())

    def _listener(self, heard: Callable[[str], None]) -> Callable[..., None]:
        """Make one callback for each `heard`: the library finds it again by its identity."""
        return self._listeners.setdefault(heard, lambda _connection, _pid, channel, _payload: heard(channel))

    @contextmanager
    def _as_query_errors(self, refused: str) -> Iterator[None]:
        """Raises QueryRefused that begins so, or ScalerError for a connection lost."""
        self._loop.begin()
        try:
            yield
        except self._asyncpg.PostgresConnectionError as error:
            raise ScalerError(f"connection lost: {self._loop.failure or error}") from None
        except self._asyncpg.PostgresError as error:
            if self._connection.is_closed():
                raise ScalerError(f"connection lost: {error}") from None
            raise QueryRefused(f"{refused}: {error}") from None
        except (self._asyncpg.InterfaceError, OSError, asyncio.IncompleteReadError) as error:
            if isinstance(error, self._asyncpg.InterfaceError) and not self._connection.is_closed():
                raise QueryRefused(f"{refused}: {error}") from None  # by the library, as a query that wants arguments
            raise ScalerError(f"connection lost: {reason_of(self._loop.failure or error)}") from None
        except (ArithmeticError, LookupError, TypeError, ValueError, self._asyncpg.InternalClientError) as error:
            raise ScalerError(f"the answer cannot be read ({type(error).__name__}): select a number") from None

    async def aclose(self) -> None:
        """At once, or when the server has been told to stop a query that was given up: else it would go on there."""
        if telling := tuple(self._connection._cancellations):
            await asyncio.wait(telling, timeout=_CANCEL_SECONDS)
        self._connection.terminate()


def _unlike(place: tuple[str, int], session: str) -> ScalerError:
    return ScalerError(f"{place[0]}:{place[1]}: is not {session}, which target_session_attrs asks for")


def _library() -> ModuleType:
    with needs_extra("postgresql"):
        import asyncpg
    module: ModuleType = asyncpg
    return module


@cache
def _connection_class() -> type[Any]:
    """asyncpg's, without its `__del__`, which fails itself where `__init__` did; `PostgresLink.aclose` closes it."""
    return type("Connection", (_library().Connection,), {"__del__": lambda _: None})
