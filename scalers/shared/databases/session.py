"""One connection to one database as one user, through which all its queries go, one after another.

A connection that was lost is made anew at the next query; one whose query was given up is closed, since nothing tells
how far the server got. While it is open it is one of the namespace's share.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final, Protocol

from keda_py.sdk.scaler import ScalerContext, ScalerError

LONGEST_ANSWER: Final = 1024 * 1024
"""Bytes that a server may send for one query, or for a log-in; a number takes a few."""


class NoRow:
    """What a query without any row answers."""


NO_ROW: Final = NoRow()


class QueryRefused(ScalerError):
    """The server understood and said no; the connection is as good as before."""


class Link(Protocol):
    """An open connection of one dialect."""

    async def first(self, query: str) -> object:
        """The first cell of the first row, or NO_ROW. Raises QueryRefused, or ScalerError for a connection lost."""
        ...

    async def aclose(self) -> None:
        """At once, also in the middle of a query. Never raises."""
        ...


class Session:
    """`connect` raises ScalerError that names the server and no credential."""

    def __init__(self, connect: Callable[[], Awaitable[Link]], context: ScalerContext, timeout: float) -> None:
        self._connect, self._context, self._timeout = connect, context, timeout
        self._lock, self._held = asyncio.Lock(), AsyncExitStack()
        self.server = ""
        """What errors call it."""
        self._link: Link | None = None

    async def first(self, query: str) -> object:
        """As of Link, within the time-out; a connection that turns out to be dead is replaced once."""
        async with self._lock:
            if self._link is not None:
                try:
                    return await self._ask(self._link, query)
                except QueryRefused:
                    raise
                except ScalerError:
                    pass
            return await self._ask(await self._open(), query)

    async def ping(self) -> None:
        """Connect, unless it is connected already. Raises ScalerError."""
        async with self._lock:
            if self._link is None:
                await self._open()

    async def aclose(self) -> None:
        """Close the connection."""
        if self._link is not None:
            await self._link.aclose()
        self._link = None
        await self._held.aclose()

    async def _open(self) -> Link:
        await self._held.enter_async_context(self._context.connection(self.server))
        try:
            async with asyncio.timeout(self._timeout):
                self._link = await self._connect()
        except TimeoutError:
            await self.aclose()
            raise ScalerError(f"the database cannot be reached in {self._timeout:g} s") from None
        except BaseException:
            await self.aclose()
            raise
        return self._link

    async def _ask(self, link: Link, query: str) -> object:
        try:
            async with asyncio.timeout(self._timeout):
                return await link.first(query)
        except QueryRefused:
            raise
        except TimeoutError:
            await self.aclose()
            raise SlowQuery(f"the query has no answer in {self._timeout:g} s") from None
        except BaseException:
            await self.aclose()
            raise


class SlowQuery(QueryRefused):
    """Not asked twice: the next poll does."""
