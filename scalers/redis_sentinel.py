"""Scale on the length of a list, set, sorted set or hash in a Redis that sentinels watch."""

from scalers.shared.redis.lengths import LengthScaler


class RedisSentinelScaler(LengthScaler):
    """The addresses are sentinels; they tell where the master is."""

    topology = "sentinel"
