"""Connections to one database as one user: one while that is enough, a few where queries wait for each other.

A query waits until a connection is free, and its time-out begins when it has one: a slow neighbour makes it late, and
fails nothing. One connection is opened at a time, and who waits for the first one is told how that failed. What is open
is of the namespace's share. A connection that may have been changed by its query is restored, or closed; one whose
query was given up is closed, since nothing tells how far the server got.
"""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final

from keda_py.sdk.advanced import LONGEST_TIMEOUT, ScalerContext, sharing_key
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.queries.link import Link, QueryRefused
from scalers.shared.databases.queries.plain import is_plain

# Connections of one database and user. KEDA has one for each trigger; a PostgreSQL serves 100 by default.
MOST: Final = 8
# Seconds that a query waits before another connection is opened for it: most are answered in less.
HURRY: Final = 0.05
# Seconds that a query waits for a connection: as long as polls are apart by default.
LONGEST_WAIT: Final = 30.0
# Connections of a namespace beside the first one of each pool, so that those find a place in its share.
_MOST_FURTHER: Final = 32
# Seconds until another connection is tried after one found no place, or the database refused it.
_FULL_SECONDS: Final = 5.0
_SPARE_SECONDS: Final = 60.0
"""Seconds after which an unused connection is closed."""
_RESTORE_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class _PooledConnection:
    """A connection, with its place in the namespace's share."""

    link: Link
    share: AsyncExitStack
    freed_at: float = field(default=-math.inf)
    """On the loop's time; before: it has not been asked yet, so it cannot have died since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlace:
    """The places of a pool's connections: one of the namespace's share, and one of `further` for all but the first."""

    context: ScalerContext
    further: asyncio.Semaphore

    @asynccontextmanager
    async def taken(self, server: str, *, is_first: bool) -> AsyncIterator[None]:
        """Take a place. Raises ScalerError if none is left."""
        if not is_first and self.further.locked():
            raise ScalerError(f"the namespace has {_MOST_FURTHER} further connections to databases already")
        async with nullcontext() if is_first else self.further, self.context.connection(server):
            yield


class Pool:
    """`connect` raises ScalerError that names no credential, or ConfigError; `server` is what errors call it."""

    def __init__(self, connect: Callable[[], Awaitable[Link]], place: PoolPlace, timeout: float, server: str) -> None:
        self._connect, self._place, self._timeout, self._server = connect, place, timeout, server
        self._open: set[_PooledConnection] = set()
        self._idle: list[_PooledConnection] = []
        """The one that was used last is last, so that those which are not needed grow old."""
        self._waiting: deque[asyncio.Future[_PooledConnection]] = deque()
        self._growing: asyncio.Task[None] | None = None
        self._full_until = -math.inf
        self._closed = False

    async def first(self, query: str) -> object:
        """Ask as `Link.first` does; the time-out begins when the query is sent, a lost connection is replaced once."""
        # A kept connection may have died unnoticed, so its failure says nothing of the server: ask once more. A new one
        # that fails does, and asking again would double the time that a dead server costs.
        held = await self._take()
        is_new = held.freed_at == -math.inf
        try:
            return await self._ask(held, query)
        except QueryRefused:
            raise
        except ScalerError:
            if is_new:
                raise
        for old in tuple(self._idle):  # a server that was restarted has forgotten them as well
            await self._close(old)
        return await self._ask(await self._take(), query)

    async def ping(self) -> None:
        """Connect, unless it is connected already. Raises ScalerError or ConfigError."""
        if not self._open:
            await self._give_back(await self._take(), changed=False)

    async def aclose(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._growing is not None:
            self._growing.cancel()
            await asyncio.gather(self._growing, return_exceptions=True)
        self._fail(ScalerError("the connections were closed"))
        for held in tuple(self._open):
            await self._close(held)

    async def _ask(self, held: _PooledConnection, query: str) -> object:
        try:
            async with asyncio.timeout(self._timeout):
                cell = await held.link.first(query)
        except QueryRefused:
            await self._give_back(held, changed=True)
            raise
        except TimeoutError:
            # The server may go on with the query: on a kept connection, the next query would wait behind it.
            await self._close(held)
            raise SlowQuery(self._timeout) from None
        except BaseException:
            await self._close(held)
            raise
        await self._give_back(held, changed=not is_plain(query))
        return cell

    async def _take(self) -> _PooledConnection:
        """Raises ScalerError, also where none is free in time, and ConfigError where the first cannot be opened."""
        if self._idle:
            return self._idle.pop()
        waiter: asyncio.Future[_PooledConnection] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._grow()
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._pass_on(waiter.result())  # it came at the very instant at which the caller gave up
            if isinstance(error, TimeoutError):
                taken = f"all {len(self._open)} connections to it were taken by slow queries for {LONGEST_WAIT:g} s"
                raise ScalerError(f"{taken}: make the queries quicker, or ask less often") from None
            raise

    async def _give_back(self, held: _PooledConnection, *, changed: bool) -> None:
        if self._closed or held.link.closed or (changed and not await self._is_restored(held)):
            await self._close(held)
            return
        held.freed_at = asyncio.get_running_loop().time()
        self._pass_on(held)
        # Idle connections are used from the end, so the first one is the one unused for longest. One is always kept:
        # a log-in costs more than a query, and each poll would pay for it.
        oldest = self._idle[0] if len(self._idle) > 1 else held
        if oldest.freed_at + _SPARE_SECONDS < held.freed_at:
            await self._close(oldest)

    async def _is_restored(self, held: _PooledConnection) -> bool:
        try:
            with suppress(ScalerError, TimeoutError):
                async with asyncio.timeout(_RESTORE_SECONDS):
                    return await held.link.restore()
        except BaseException:
            await self._close(held)
            raise
        return False

    def _pass_on(self, held: _PooledConnection) -> None:
        """Give the connection to the query that has waited longest."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(held)
                return
        held.freed_at = asyncio.get_running_loop().time()
        self._idle.append(held)

    async def _close(self, held: _PooledConnection) -> None:
        self._open.discard(held)
        if held in self._idle:
            self._idle.remove(held)
        try:
            await held.link.aclose()
        finally:
            await held.share.aclose()
            self._grow()

    @property
    def _is_waited_for(self) -> bool:
        return any(not waiter.done() for waiter in self._waiting)

    def _grow(self) -> None:
        """Open a further connection if queries wait."""
        refused_lately = asyncio.get_running_loop().time() < self._full_until
        # One connection is opened at a time: where the first one fails, the others would fail too, and a server that
        # limits log-ins would lock the user out. After a refusal the open ones must do for a while.
        may_open = len(self._open) < (1 if refused_lately else MOST) and not self._closed
        if may_open and self._growing is None and self._is_waited_for:
            self._growing = asyncio.get_running_loop().create_task(self._open_more())
            self._growing.add_done_callback(self._on_grown)

    def _on_grown(self, task: asyncio.Task[None]) -> None:
        self._growing = None
        if not task.cancelled():
            self._grow()  # for those who came, or whose connection was lost, meanwhile

    async def _open_more(self) -> None:
        # Most queries end within this pause, so that a burst of quick ones does not open a connection each.
        if self._open:
            await asyncio.sleep(HURRY)
            if not self._is_waited_for:
                return
        try:
            held = await self._opened()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            if self._open:
                self._full_until = asyncio.get_running_loop().time() + _FULL_SECONDS
            else:
                self._fail(error)
        else:
            self._open.add(held)
            self._pass_on(held)

    def _fail(self, error: Exception) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)

    async def _opened(self) -> _PooledConnection:
        async with AsyncExitStack() as share:
            await share.enter_async_context(self._place.taken(self._server, is_first=not self._open))
            # The place is taken before connecting, and `pop_all` keeps it only for a connection that exists.
            try:
                async with asyncio.timeout(self._timeout):
                    link = await self._connect()
            except TimeoutError:
                raise ScalerError(f"the database cannot be reached in {self._timeout:g} s") from None
            return _PooledConnection(link, share.pop_all())


async def place_of(context: ScalerContext) -> PoolPlace:
    """Share the places of a namespace."""

    async def make() -> PoolPlace:
        return PoolPlace(context=context, further=asyncio.Semaphore(_MOST_FURTHER))

    async def no_close(_: PoolPlace) -> None:
        """Do nothing at the end: a place holds no connection."""

    return await context.shared(sharing_key(context.namespace, ("databases", context.namespace)), make, no_close)


class SlowQuery(QueryRefused):
    """A query that ran into its time-out; the next poll asks again."""

    def __init__(self, seconds: float) -> None:
        remedy = f"a longer `timeout` may be set in the trigger's metadata, up to {LONGEST_TIMEOUT:g}s"
        super().__init__(f"the query has no answer in {seconds:g} s: {remedy}")
