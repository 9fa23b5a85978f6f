"""NOTIFY of PostgreSQL: a connection that listens to channels, beside the one that asks queries."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.databases.postgres import PostgresLink, PostgresServer
from scalers.shared.databases.queries.link import QueryRefused
from scalers.shared.protocols.listening import EventConnection, Listening, MessageLimit, PushRefused, Tell, listening


async def notices(server: PostgresServer, context: ScalerContext) -> Listening:
    """The shared one of this database and user; topics are channels."""

    @asynccontextmanager
    async def open_line(tell: Tell) -> AsyncIterator[EventConnection]:
        async with context.connection():
            async with asyncio.timeout(server.timeout):
                link = await server.connect(context)
            try:
                yield _Notices(link, server.timeout, tell)
            finally:
                await link.aclose()

    return await listening(server.key(context.namespace, "notices"), open_line, context)


class _Notices:
    """An `EventConnection` whose topics are channels of NOTIFY."""

    def __init__(self, link: PostgresLink, seconds: float, tell: Tell) -> None:
        self._link, self._seconds, self._notify = link, seconds, tell
        self._pace, self._over = MessageLimit(), asyncio.Event()
        link.on_lost(self._over.set)

    async def ask(self, topic: str) -> None:
        """Send LISTEN, which a standby refuses."""
        try:
            async with asyncio.timeout(self._seconds):
                await self._link.listen(topic, self._heard)
        except QueryRefused as error:
            raise PushRefused(str(error)) from None

    async def drop(self, topic: str) -> None:
        """Send UNLISTEN."""
        async with asyncio.timeout(self._seconds):
            await self._link.unlisten(topic, self._heard)

    async def check(self) -> None:
        """Send a query, which fails on a dead connection."""
        async with asyncio.timeout(self._seconds):
            await self._link.first("SELECT 1")

    async def follow(self) -> None:
        """Wait until the connection is lost."""
        await self._over.wait()
        raise ScalerError("the connection was closed")

    def _heard(self, channel: str) -> None:
        if not self._notify(channel) and not self._pace.allows():
            self._over.set()
