"""Scale on the backlog of a stream in Redis."""

from scalers.shared.redis.streams import StreamScaler


class RedisStreamsScaler(StreamScaler):
    """The first address is the server."""

    topology = "one server"
