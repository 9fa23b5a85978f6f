"""pymongo's connections, bounded: how many there are, how much a server may send, and to which places it may lead.

The library believes what a server says of the length of its messages, up to 2 GB, and of the other members of its
replica set, each of which it connects to. Imported only where a trigger of MongoDB is opened: it is of an extra.
"""

from contextlib import AsyncExitStack
from typing import Any, ClassVar, Final

from pymongo import network_layer
from pymongo.asynchronous import pool
from pymongo.errors import AutoReconnect, ProtocolError

from keda_py.sdk.scaler import ScalerContext, ScalerError

LONGEST_MESSAGE: Final = 64 * 1024
"""Bytes, of a compressed one when it is unpacked: counts and a few names, which are read on the loop."""

_MOST_MEMBERS: Final = 60
"""Of a replica set, which has 50 at most; the library begins to watch each that a server names."""


class _BoundedConnection(pool.AsyncConnection):
    """A message that is longer breaks it, before it is read. `held`: its place in the namespace's share."""

    def __init__(self, interface: Any, of: pool.Pool, *others: Any) -> None:
        super().__init__(interface, of, *others)
        self.held = AsyncExitStack()

    @property
    def max_message_size(self) -> int:
        """Ours, not what a server says of itself."""
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
                await held.enter_async_context(self.context.connection())
            except ScalerError as error:
                raise AutoReconnect(str(error)) from None
            connection = await super().connect(handler)
            assert isinstance(connection, _BoundedConnection)
            connection.held = held.pop_all()
        return connection


def bounded_pool(context: ScalerContext) -> type[pool.Pool]:
    """For one client; what else uses the library in this process has its own."""
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


# The library has no option for any of it: it makes its connections and reads greetings by these names.
_library_hello: Any = vars(pool)["Hello"]
vars(pool)["Hello"] = _hello
_library_connection = pool.AsyncConnection
pool.AsyncConnection = _connection  # type: ignore[assignment,misc]
network_layer.MAX_MESSAGE_SIZE = LONGEST_MESSAGE  # type: ignore[attr-defined]  # until the first question alone
