"""Keyspace events: a Redis that has them on (`notify-keyspace-events` with K) tells when a key changes.

Its configuration is not changed. A server that does not tell what it has on is subscribed at in any case; one that has
them off never tells, so its keys are polled alone, and so are those of a user who may not subscribe. In a cluster a
node tells of its own keys.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from keda_py.sdk.scaler import ScalerError
from scalers.shared.protocols.listening import EventConnection, MessageLimit, OpenLine, PushRefused, Tell
from scalers.shared.redis.commands import ask_all
from scalers.shared.redis.interface import RedisAsker

_SETTING = ("CONFIG", "GET", "notify-keyspace-events")


def keyspace(asker: RedisAsker, database: int) -> OpenLine:
    """Make the opener of lines whose topics are keys."""

    @asynccontextmanager
    async def open_line(tell: Tell) -> AsyncIterator[EventConnection]:
        line = _Keyspace(asker, f"__keyspace@{database}__:".encode(), tell)
        try:
            yield line
        finally:
            await line.aclose()

    return open_line


class _Keyspace:
    """A connection to each node that has a key which is asked for."""

    def __init__(self, asker: RedisAsker, prefix: bytes, tell: Tell) -> None:
        self._asker, self._prefix, self._notify = asker, prefix, tell
        self._nodes: dict[Redis, _Node] = {}
        self._at: dict[str, Redis] = {}
        self._over, self._error = asyncio.Event(), ScalerError("")

    async def ask(self, topic: str) -> None:
        """Subscribe at the node that has the key."""
        client = await self._asker.client_of(topic)
        if client not in self._nodes:
            self._nodes[client] = await self._open(client)
        self._at[topic] = client
        await self._nodes[client].send("SUBSCRIBE", self._prefix + topic.encode())

    async def drop(self, topic: str) -> None:
        """Leave the channel."""
        await self._nodes[self._at.pop(topic)].send("UNSUBSCRIBE", self._prefix + topic.encode())

    async def check(self) -> None:
        """Check that all nodes answer and no key has moved to another one, as the polls find out."""
        for topic, client in self._at.items():
            if await self._asker.client_of(topic) is not client:
                raise ScalerError("a key has moved to another node")
        for node in self._nodes.values():
            await node.check()

    async def follow(self) -> None:
        """Receive until a node is gone."""
        await self._over.wait()
        raise self._error

    async def aclose(self) -> None:
        """Close all connections."""
        for node in self._nodes.values():
            await node.aclose()

    async def _open(self, client: Redis) -> "_Node":
        if await _has_events_off(client):
            raise PushRefused("the server has keyspace events off: notify-keyspace-events has no K")
        # Beside the pool: a connection that is subscribed takes no other command, and would occupy one of the pool's
        # places.
        connection = client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()
        except (RedisError, OSError) as error:
            raise _broken(error) from None
        connection.socket_timeout, seconds = None, connection.socket_timeout  # it reads without end
        return _Node(connection, seconds, self._heard, self._end)

    def _heard(self, channel: bytes) -> bool:
        return self._notify(channel.removeprefix(self._prefix).decode("utf-8", "replace"))

    def _end(self, error: ScalerError) -> None:
        self._error = error
        self._over.set()


class _Node:
    """One connection, and the task that reads it. `seconds`: for sending."""

    def __init__(
        self, connection: Any, seconds: float, heard: Callable[[bytes], bool], end: Callable[[ScalerError], None]
    ) -> None:
        self._connection, self._seconds, self._heard, self._end = connection, seconds, heard, end
        self._sent: deque[str] = deque()
        self._may_subscribe, self._refused = False, False
        self._pace = MessageLimit()
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def send(self, word: str, *arguments: bytes) -> None:
        if not self._connection.is_connected:  # the library would open another one
            raise ScalerError("the connection was closed")
        self._sent.append(word)
        try:
            async with asyncio.timeout(self._seconds):
                await self._connection.send_command(word, *arguments)
        except (RedisError, OSError) as error:
            raise _broken(error) from None

    async def check(self) -> None:
        """Raises ScalerError where the question before has no answer, and PushRefused where no channel was allowed."""
        if self._refused and not self._may_subscribe:
            raise PushRefused("the server refuses SUBSCRIBE")
        if "PING" in self._sent:
            raise ScalerError("the server does not answer")
        await self.send("PING")

    async def aclose(self) -> None:
        """Close the connection without a farewell."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._connection.disconnect(nowait=True)

    async def _read(self) -> None:
        try:
            while True:
                try:
                    self._take(await self._connection.read_response())
                except ResponseError:
                    self._refused |= self._answered_command() == "SUBSCRIBE"
        except ScalerError as error:
            self._end(error)
        except (RedisError, OSError) as error:
            self._end(_broken(error))

    def _take(self, reply: object) -> None:
        match reply:
            case [b"message", bytes(channel), _]:
                if not self._heard(channel) and not self._pace.allows():
                    raise ScalerError("the server sends too much")
            case _:
                self._may_subscribe |= self._answered_command() == "SUBSCRIBE"

    def _answered_command(self) -> str:
        """Return the command that this reply answers. Raises ScalerError if none waits."""
        if not self._sent:
            raise ScalerError("the server says something that was not asked for")
        return self._sent.popleft()


async def _has_events_off(client: Redis) -> bool:
    """Return whether events are off; False if the server does not say. Raises ScalerError."""
    try:
        (answer,) = await ask_all(client, [_SETTING])
    except (RedisError, OSError) as error:
        raise _broken(error) from None
    match answer:
        case [_, bytes(flags)]:
            return b"K" not in flags
        case _:
            return False


def _broken(error: Exception) -> ScalerError:
    return ScalerError(str(error) or type(error).__name__)
