"""`redis` against a real Redis."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, check_scaler
from scalers.redis import RedisScaler
from tests.busy_threads import no_thread_left
from tests.certificates import Authority

RunRedis = Callable[..., AbstractContextManager[int]]


@pytest.fixture
async def redis(redis_port: int) -> AsyncIterator[Redis]:
    async with Redis(port=redis_port) as client:
        await client.flushall()
        yield client


def on(port: int, **metadata: str) -> dict[str, str]:
    return {"address": f"127.0.0.1:{port}", "listName": "jobs", **metadata}


async def test_the_length_of_a_list_a_set_a_sorted_set_and_a_hash(bench: Any, redis: Redis, redis_port: int) -> None:
    await redis.rpush("list", "a", "b", "c")
    await redis.sadd("set", "a", "b")
    await redis.zadd("zset", {"a": 1, "b": 2, "c": 3, "d": 4})
    await redis.hset("hash", mapping={"a": 1})
    lengths = {}
    for name in ("list", "set", "zset", "hash", "missing"):
        scaler = await bench.opened("redis", on(redis_port, listName=name))
        lengths[name] = (await scaler.read()).value
    assert lengths == {"list": 3, "set": 2, "zset": 4, "hash": 1, "missing": 0}


async def test_a_key_of_another_type_is_an_error(bench: Any, redis: Redis, redis_port: int) -> None:
    await redis.set("jobs", "text")
    scaler = await bench.opened("redis", on(redis_port))
    with pytest.raises(ScalerError, match=r'key "jobs".*holds a string, not a list'):
        await scaler.read()


async def test_a_key_costs_one_command_a_poll_once_its_type_is_known(bench: Any, redis: Redis, redis_port: int) -> None:
    await redis.sadd("jobs", "a", "b")
    scaler = await bench.opened("redis", on(redis_port))
    await redis.config_resetstat()
    assert [(await scaler.read()).value for _ in range(3)] == [2, 2, 2]
    stats = await redis.info("commandstats")
    asked = {name.removeprefix("cmdstat_"): one["calls"] for name, one in stats.items()}
    assert {name: asked.get(name) for name in ("llen", "type", "scard", "eval")} == {
        "llen": 1,
        "type": 1,
        "scard": 3,
        "eval": None,
    }


async def test_a_key_whose_type_changes_is_counted_all_the_same(bench: Any, redis: Redis, redis_port: int) -> None:
    scaler = await bench.opened("redis", on(redis_port))
    await redis.rpush("jobs", "a")
    assert (await scaler.read()).value == 1
    await redis.delete("jobs")
    await redis.hset("jobs", mapping={"a": 1, "b": 2})
    assert (await scaler.read()).value == 2
    await redis.delete("jobs")
    assert (await scaler.read()).value == 0


async def test_metric_target_and_activation(bench: Any, redis_port: int) -> None:
    scaler = bench.scaler("redis", on(redis_port, listLength="7", activationListLength="2"))
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("redis-jobs", 7, 2.0)
    assert type(spec.target) is int
    assert bench.scaler("redis", on(redis_port)).target == 5


async def test_five_hundred_triggers_on_one_redis_cost_one_round_trip(
    bench: Any, redis: Redis, redis_port: int
) -> None:
    await redis.rpush("queue-7", "a")
    await redis.set("queue-8", "text")
    scalers = [await bench.opened("redis", on(redis_port, listName=f"queue-{number}")) for number in range(500)]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    await scalers[0].read()  # the server knows the script from now on
    before = await redis.info("stats")
    readings = await scalers[0].read_batch(scalers)
    after = await redis.info("stats")
    assert readings[7].value == 1
    assert isinstance(readings[8], ScalerError)
    assert sum(reading.value for reading in readings if not isinstance(reading, ScalerError)) == 1
    clients = await redis.info("clients")
    assert clients["connected_clients"] <= 3
    assert after["total_reads_processed"] - before["total_reads_processed"] <= 4  # 500 commands in one or two packets


async def test_a_database_of_its_own(bench: Any, redis: Redis, redis_port: int) -> None:
    async with Redis(port=redis_port, db=3) as other:
        await other.rpush("jobs", "a", "b")
    scaler = await bench.opened("redis", on(redis_port, databaseIndex="3"))
    assert (await scaler.read()).value == 2
    assert scaler.batch_key != (await bench.opened("redis", on(redis_port))).batch_key


async def test_hosts_and_ports_from_the_environment(bench: Any, redis: Redis, redis_port: int) -> None:
    metadata = {"listName": "jobs", "hostFromEnv": "HOST", "portFromEnv": "PORT"}
    scaler = await bench.opened("redis", metadata, env={"HOST": "127.0.0.1", "PORT": str(redis_port)})
    assert (await scaler.read()).value == 0


async def test_a_password_that_the_server_does_not_ask_for_is_accepted(
    bench: Any, redis: Redis, redis_port: int
) -> None:
    scaler = await bench.opened("redis", on(redis_port), auth={"password": "x"})
    assert (await scaler.read()).value == 0


async def test_user_and_password_of_the_server(bench: Any, run_redis: RunRedis) -> None:
    with run_redis("--requirepass", "s3cret") as port:
        scaler = await bench.opened("redis", on(port), auth={"password": "s3cret"})
        assert (await scaler.read()).value == 0
        with pytest.raises(ScalerError) as wrong:
            await bench.opened("redis", on(port), auth={"username": "hunter", "password": "hunter2"})
    assert f"127.0.0.1:{port}" in str(wrong.value)
    assert "hunter" not in str(wrong.value)


@pytest.fixture
def tls_files(tmp_path: Path) -> tuple[Authority, list[str]]:
    """An authority, and the options of a Redis that speaks TLS only and wants a client certificate."""
    ours = Authority()
    server = ours.leaf("redis")
    texts = {"cert": server.cert, "key": server.key, "ca-cert": ours.cert}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [word for name in texts for word in (f"--tls-{name}-file", str(tmp_path / name))]
    return ours, ["--tls-port", "PORT", *files]


async def test_tls_with_a_client_certificate(
    bench: Any, run_redis: RunRedis, tls_files: tuple[Authority, list[str]]
) -> None:
    ours, options = tls_files
    client = ours.leaf("keda", password="hidden")
    auth = {"tls": "enable", "ca": ours.cert, "cert": client.cert, "key": client.key, "keyPassword": "hidden"}
    with run_redis(*options) as port:
        scaler = await bench.opened("redis", on(port), auth=auth)
        assert (await scaler.read()).value == 0
        for wrong in ({}, {"tls": "enable"}, {"tls": "enable", "ca": ours.cert}):
            with pytest.raises(ScalerError, match="connection to redis"):
                await bench.opened("redis", on(port), auth=wrong)


async def test_tls_without_verification(
    bench: Any, run_redis: RunRedis, tls_files: tuple[Authority, list[str]]
) -> None:
    with run_redis(*tls_files[1], "--tls-auth-clients", "no") as port:
        scaler = await bench.opened("redis", on(port, enableTLS="true", unsafeSsl="true"))
        assert (await scaler.read()).value == 0
        with pytest.raises(ScalerError, match="certificate verify failed"):
            await bench.opened("redis", on(port, enableTLS="true"))


async def test_a_restarted_server_is_read_at_once(bench: Any, run_redis: RunRedis) -> None:
    with run_redis() as port:
        scaler = await bench.opened("redis", on(port))
        assert (await scaler.read()).value == 0
    with pytest.raises(ScalerError, match=rf"connection to redis 127.0.0.1:{port} failed"):
        await scaler.read()
    with run_redis(port=port):
        assert (await scaler.read()).value == 0


async def test_a_server_that_is_not_there_is_an_error_of_the_poll(bench: Any) -> None:
    with pytest.raises(ScalerError, match=r"connection to redis 127\.0\.0\.1:1 failed"):
        await bench.opened("redis", on(1))


async def test_a_name_is_looked_up_while_every_thread_is_taken(bench: Any, redis_port: int) -> None:
    async with no_thread_left():
        scaler = await bench.opened("redis", on(redis_port, address=f"localhost:{redis_port}"))
        assert (await scaler.read()).value == 0


async def test_a_name_that_is_unknown_is_an_error_of_the_poll(bench: Any) -> None:
    with pytest.raises(ScalerError, match=r"connection to redis no-such-host\.invalid:1 .*name not found"):
        await bench.opened("redis", on(1, address="no-such-host.invalid:1"), timeout=20)


async def test_a_server_that_never_answers_is_given_up(bench: Any, silent_port: int) -> None:
    with pytest.raises(ScalerError, match="failed: Timeout"):
        await bench.opened("redis", on(silent_port), timeout=0.2)


@pytest.mark.parametrize(
    ("metadata", "auth", "message"),
    [
        (
            {"listName": "jobs"},
            {},
            "no addresses or hosts given. address should be a comma separated list of",
        ),
        ({"address": "redis:6379"}, {}, 'missing required parameter "listName" in [triggerMetadata]'),
        ({"listName": "jobs", "hosts": "a,b", "ports": "1"}, {}, "not enough hosts or ports given"),
        ({"listName": "jobs", "address": "redis"}, {}, "is not host:port"),
        ({"listName": "jobs", "address": "r:1", "enableTLS": "true"}, {"tls": "enable"}, "unable to set `tls` in both"),
        ({"listName": "jobs", "address": "r:1"}, {"tls": "maybe"}, "tls: the value (not shown) is not allowed"),
        ({"listName": "jobs", "address": "r:1"}, {"tls": "enable", "cert": "x"}, "cert and key belong together"),
        ({"listName": "jobs", "address": "r:1", "listLength": "5.0"}, {}, 'listLength: "5.0" is not a whole number'),
        ({"listName": "jobs", "address": "r:1", "listLength": "0"}, {}, "write a number above 0"),
        ({"listName": "jobs", "address": "r:1", "databaseIndex": "-1"}, {}, 'databaseIndex: "-1"'),
    ],
)
async def test_metadata_that_is_refused(bench: Any, metadata: Any, auth: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("redis", metadata, auth=auth)
    assert str(refused.value).startswith("error parsing redis metadata: ")
    assert message in str(refused.value)


async def test_the_contract_is_kept(bench: Any, redis_port: int) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(RedisScaler, Trigger(type="redis", metadata=on(redis_port)), context)
