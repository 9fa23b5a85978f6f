"""Scale on the backlog of a stream in a Redis that sentinels watch."""

from scalers.shared.redis.streams import StreamScaler


class RedisSentinelStreamsScaler(StreamScaler):
    """The addresses are sentinels; they tell where the master is."""

    topology = "sentinel"
