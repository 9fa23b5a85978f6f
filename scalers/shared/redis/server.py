"""The client for one Redis server as one user, with a connection pool of its own."""

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from keda_py.sdk.advanced import ScalerContext
from scalers.shared.redis.connection import BoundedConnection, Locate
from scalers.shared.redis.interface import RedisServer
from scalers.shared.redis.replies import BoundedReplies

_CONNECTIONS = 8


def client_for(server: RedisServer, context: ScalerContext, locate: Locate | None = None) -> Redis:
    """A client that answers with what the server says, unchanged; `locate` tells where it is at each connection."""
    password = server.password.get_secret_value()
    pool = BlockingConnectionPool(
        max_connections=_CONNECTIONS,
        timeout=server.timeout,
        host=server.host,
        port=server.port,
        db=server.database,
        # A password alone is sent as the default user's: as with KEDA's client, a server without a password accepts it.
        # A user without a password sends no AUTH: servers that need no log-in accept that.
        username=(server.username.get_secret_value() or "default") if password else None,
        password=password or None,
        socket_connect_timeout=server.timeout,
        socket_timeout=server.timeout,
        protocol=2,  # known to every server
        retry=Retry(NoBackoff(), server.tries - 1),
        connection_class=BoundedConnection,
        parser_class=BoundedReplies,
        tls=context.tls_context(server.tls) if server.tls else None,
        place=context.connection,
        locate=locate,
    )
    client = Redis.from_pool(pool)
    client.response_callbacks.clear()  # they trust the shape of what the server says
    return client
