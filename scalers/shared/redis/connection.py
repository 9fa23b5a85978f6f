"""A connection of the redis library within this project's rules: names, TLS, and the namespace's share."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from redis.asyncio import Connection

from keda_py.sdk.advanced import addresses
from scalers.shared.protocols.tcp import in_words

Place = Callable[[str], AbstractAsyncContextManager[None]]
Locate = Callable[[], Awaitable[tuple[str, int]]]


class BoundedConnection(Connection):
    """A connection with a ready TLS context, or none; redis-py's own builds one from files for each connection.

    It goes to a number: asyncio's own look-up of a name would wait for a thread. While it is open it is one of the
    namespace's share, by `place`; where the server moves about, `locate` tells host and port of each connection.
    """

    def __init__(self, *, tls: ssl.SSLContext | None, place: Place, locate: Locate | None, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # the pool hands on what it was given
        self._tls, self._place, self._locate = tls, place, locate
        self._held = AsyncExitStack()
        self._number = self.host

    def _connection_arguments(self) -> Mapping[str, object]:
        secured = {"ssl": self._tls, "server_hostname": self.host} if self._tls else {}
        return {**super()._connection_arguments(), "host": self._number, **secured}

    async def _connect(self) -> None:
        await self._held.aclose()  # of a connection that was lost
        if self._locate is not None:
            self.host, self.port = await self._locate()
        await self._held.enter_async_context(self._place(f"{self.host}:{self.port}"))
        try:
            await self._connect_to_any()
        except BaseException:
            await self._held.aclose()
            raise

    async def disconnect(self, *args: Any, **options: Any) -> None:
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
            try:
                await connect()
            except OSError as error:
                raise in_words(error) from None
