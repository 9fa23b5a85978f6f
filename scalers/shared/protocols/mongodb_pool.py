"""pymongo's connections, bounded: how many there are, how much a server may send, and to which places it may lead.

The library believes what a server says of the length of its messages, up to 2 GB, and of the other members of its
replica set, each of which it connects to. Imported only where a trigger of MongoDB is opened: it is of an extra.
"""

import asyncio
import socket
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Any, ClassVar, Final

from pymongo import network_layer, pool_shared
from pymongo.asynchronous import pool
from pymongo.errors import AutoReconnect, ProtocolError
from pymongo.pool_options import PoolOptions

from keda_py.sdk.advanced import ScalerContext, addresses
from keda_py.sdk.scaler import ScalerError
from scalers.shared.protocols.tcp import in_words

# Bytes, of a compressed one when it is unpacked: counts and a few names, which are read on the loop.
LONGEST_MESSAGE: Final = 64 * 1024

# Members of a replica set, which has 50 at most; the library connects to each that a server names.
_MOST_MEMBERS: Final = 60


_connecting: ContextVar[bool] = ContextVar("connecting", default=False)


class _BoundedConnection(pool.AsyncConnection):
    """A connection that breaks at too long a message. `held`: its place in the namespace's share."""

    def __init__(self, interface: Any, of: pool.Pool, *others: Any) -> None:
        super().__init__(interface, of, *others)
        self.held = AsyncExitStack()

    @property
    def max_message_size(self) -> int:
        """Limit of our own, whatever the server announces."""
        return LONGEST_MESSAGE

    @max_message_size.setter
    def max_message_size(self, said: int) -> None:
        pass

    async def close_conn(self, reason: str | None) -> None:
        """Close it, and give its place back."""
        try:
            await super().close_conn(reason)
        finally:
            await self.held.aclose()


class _BoundedPool(pool.Pool):
    """The connections of one client to one server."""

    context: ClassVar[ScalerContext]

    async def connect(self, handler: Any = None) -> pool.AsyncConnection:
        """Raises AutoReconnect, also for a member whose name would be a socket of the operator's own machine."""
        if str(self.address[0]).endswith(".sock"):
            raise AutoReconnect(f"{self.address[0]}: a server is asked over TCP")
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(self.context.connection(":".join(map(str, self.address))))
            except ScalerError as error:
                raise AutoReconnect(str(error)) from None
            token = _connecting.set(True)
            try:
                connection = await super().connect(handler)
            finally:
                _connecting.reset(token)
            assert isinstance(connection, _BoundedConnection)
            connection.held = held.pop_all()
        return connection


def bounded_pool(context: ScalerContext) -> type[pool.Pool]:
    """Make the pool class of one client; other users of the library in this process keep their own."""
    return type("BoundedPool", (_BoundedPool,), {"context": context})


def _connection(interface: Any, of: pool.Pool, *others: Any) -> pool.AsyncConnection:
    made = _BoundedConnection if isinstance(of, _BoundedPool) else _library_connection
    return made(interface, of, *others)


def _hello(*arguments: Any, **options: Any) -> Any:
    """A server's greeting. Raises ProtocolError for one that names more members than there can be."""
    said = _library_hello(*arguments, **options)
    if len(said.all_hosts) > _MOST_MEMBERS:
        raise ProtocolError(f"the server tells of {len(said.all_hosts)} members of its replica set")
    return said


async def _socket(address: tuple[str, int], options: PoolOptions) -> socket.socket:
    """A connected one. The library looks a name up in a thread, and forgets a socket when it is told to end."""
    # The function is replaced for the whole process: other users of the library keep its own.
    if not _connecting.get():
        return await _library_socket(address, options)  # type: ignore[no-any-return]
    try:
        async with asyncio.timeout(options.connect_timeout):
            *others, last = await addresses(*address)
            for number in others:
                try:
                    return await _connected(number, address[1])
                except OSError:
                    continue
            return await _connected(last, address[1])
    except TimeoutError:
        raise TimeoutError("timed out") from None


async def _connected(number: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (number, port))
    except OSError as error:
        made.close()
        raise in_words(error) from None
    except BaseException:
        made.close()
        raise
    return made


# The library has no option for any of it: it makes its connections and reads greetings by these names.
_library_socket: Any = vars(pool_shared)["_async_create_connection"]
vars(pool_shared)["_async_create_connection"] = _socket
_library_hello: Any = vars(pool)["Hello"]
vars(pool)["Hello"] = _hello
_library_connection = pool.AsyncConnection
pool.AsyncConnection = _connection  # type: ignore[assignment,misc]
network_layer.MAX_MESSAGE_SIZE = LONGEST_MESSAGE  # type: ignore[attr-defined]  # until the first question alone
