"""Scale on the length of a list, set, sorted set or hash in Redis."""

from scalers.shared.redis.lengths import LengthScaler


class RedisScaler(LengthScaler):
    """The first address is the server."""

    topology = "one server"
