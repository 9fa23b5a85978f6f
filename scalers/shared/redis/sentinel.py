"""The master that sentinels know: asked for again at each new connection, so that a failover needs no more."""

from collections.abc import Sequence
from dataclasses import replace

from redis.exceptions import RedisError

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import ScalerError
from scalers.shared.redis.commands import OneRedis, ask_all
from scalers.shared.redis.interface import RedisAsker, RedisServer
from scalers.shared.redis.server import client_for

_OF_SENTINELS = 0.8
"""Of the time-out: the rest is the master's."""


def master_of(sentinels: Sequence[RedisServer], name: str, master: RedisServer, context: ScalerContext) -> RedisAsker:
    """`master` has everything but the place, which the sentinels tell by this name."""
    order = [replace(one, timeout=_OF_SENTINELS * one.timeout / len(sentinels), tries=1) for one in sentinels]

    async def locate() -> tuple[str, int]:
        failures = []
        for sentinel in tuple(order):
            try:
                found = await _ask(sentinel, name, context)
            except (RedisError, OSError, ScalerError) as error:
                failures.append(f"sentinel {sentinel.address}: {error or type(error).__name__}")
                continue
            order.remove(sentinel)
            order.insert(0, sentinel)
            return found
        raise ScalerError("; ".join(failures))

    return OneRedis(replace(master, host=f"master {name}"), context, locate)


async def _ask(sentinel: RedisServer, name: str, context: ScalerContext) -> tuple[str, int]:
    client = client_for(sentinel, context)
    try:
        (answer,) = await ask_all(client, [("SENTINEL", "get-master-addr-by-name", name)])
    finally:
        await client.aclose()
    match answer:
        case [bytes(host), bytes(port)] if port.isdigit() and 0 < int(port[:6]) <= 65535:
            return host.decode("ascii", "replace"), int(port)
        case Exception():
            raise ScalerError(str(answer))
    raise ScalerError(f'knows no master "{name}": check sentinelMaster')
