"""Scale on the backlog of a stream in a Redis cluster."""

from scalers.shared.redis.streams import StreamScaler


class RedisClusterStreamsScaler(StreamScaler):
    """The addresses are some of the cluster's nodes."""

    topology = "cluster"
