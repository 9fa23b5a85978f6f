"""Scale on the length of a list, set, sorted set or hash in a Redis cluster."""

from scalers.shared.redis.lengths import LengthScaler


class RedisClusterScaler(LengthScaler):
    """The addresses are some of the cluster's nodes."""

    topology = "cluster"
