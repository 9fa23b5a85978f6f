"""Keyspace events of real Redis servers: a change of a key is told at once, where the server and the user allow it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, aclosing
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from keda_py.sdk.context import EngineContext
from scalers.shared.protocols import listening
from tests.scalers.conftest import Bench
from tests.scalers.hearing import SECONDS, Heard, hearing, next_of, until_told
from tests.scalers.servers.redis import PASSWORD, SENTINEL_PASSWORD, Watched, redis_cluster, redis_sentinel
from tests.servers import free_port
from tests.waiting import eventually, turns

ON = ("--notify-keyspace-events", "KEA")
RunRedis = Callable[..., AbstractContextManager[int]]
AUTH = {"password": PASSWORD, "sentinelPassword": SENTINEL_PASSWORD}


@pytest.fixture(scope="module")
def telling(run_redis: RunRedis) -> Iterator[int]:
    with run_redis(*ON) as port:
        yield port


@pytest.fixture
async def client(telling: int) -> AsyncIterator[Redis]:
    async with Redis(port=telling) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def often_checked(bench: Bench) -> AsyncIterator[Bench]:
    """Whose lines ask the server five times a second whether it is still there."""
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await listening.share_of(context, check_seconds=0.2)
    yield bench
    await context.aclose()


def on(port: int, name: str = "jobs", **more: str) -> dict[str, str]:
    return {"address": f"127.0.0.1:{port}", "listName": name, **more}


async def subscribed(client: Redis, count: int = 1) -> None:
    """So many channels have subscribers."""
    await eventually(lambda: _is_subscribed(client, count), SECONDS)


async def _is_subscribed(client: Redis, count: int) -> bool:
    return len(await client.pubsub_channels()) == count


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("list", lambda client: client.lpush("list", "a")),
        ("set", lambda client: client.sadd("set", "a")),
        ("zset", lambda client: client.zadd("zset", {"a": 1})),
        ("hash", lambda client: client.hset("hash", "a", "1")),
    ],
)
async def test_a_change_of_a_key_is_told_at_once(
    bench: Bench, telling: int, client: Redis, name: str, change: Callable[[Redis], Awaitable[Any]]
) -> None:
    scaler = await bench.opened("redis", on(telling, name))
    async with hearing(scaler) as heard:
        await subscribed(client)
        await client.lpush("another", "a")
        await change(client)
        await heard.next()
    assert (await scaler.read()).value == 1


async def test_an_entry_of_a_stream_is_told_at_once_in_the_database_that_is_meant(bench: Bench, telling: int) -> None:
    metadata = {"address": f"127.0.0.1:{telling}", "stream": "events", "databaseIndex": "3"}
    scaler = await bench.opened("redis-streams", metadata)
    async with Redis(port=telling, db=3) as client, hearing(scaler) as heard:
        await subscribed(client)
        await client.xadd("events", {"a": "1"})
        await heard.next()
        assert (await scaler.read()).value == 1


async def test_a_thousand_changes_are_two_events_and_the_last_of_them_is_read(
    bench: Bench, telling: int, client: Redis
) -> None:
    scaler = await bench.opened("redis", on(telling))
    async with asyncio.timeout(SECONDS), aclosing(scaler.watch()) as stream, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(next_of(stream))
        await subscribed(client)
        await client.lpush("jobs", 0)
        assert await first
        for number in range(1, 1000):
            await client.lpush("jobs", number)
        await subscribed(client, 0)
        assert await anext(stream), "what came before it was asked for again"
        assert (await scaler.read()).value == 1000
        third = tasks.create_task(next_of(stream))
        await subscribed(client)
        await turns(50)
        assert not third.done()
        await client.lpush("jobs", 1000)
        assert await third


async def test_all_triggers_of_a_server_and_user_share_a_connection(bench: Bench, telling: int, client: Redis) -> None:
    before = (await client.info("clients"))["connected_clients"]
    scalers = [await bench.opened("redis", on(telling, f"q{number % 30}")) for number in range(60)]
    heard = [Heard(scaler.watch()) for scaler in scalers]
    async with asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(one.follow()) for one in heard]
        await subscribed(client, 30)
        assert (await client.info("clients"))["connected_clients"] == before + 2, "one asks and one listens"
        await client.lpush("q7", "a")
        await heard[7].next()
        await heard[37].next()
        assert [number for number, one in enumerate(heard) if one.count] == [7, 37]
        for task in following:
            task.cancel()
    await subscribed(client, 0)
    assert bench.lent.connections.held == 1, "the one that asks"


async def test_what_is_not_wanted_any_more_is_unsubscribed(bench: Bench, telling: int, client: Redis) -> None:
    one, other = [await bench.opened("redis", on(telling, name)) for name in ("one", "other")]
    async with hearing(one) as heard:
        async with hearing(other):
            await subscribed(client, 2)
        await client.lpush("one", "a")
        await heard.next()
        await subscribed(client, 1)


async def test_a_server_that_restarts_is_listened_to_again(bench: Bench, run_redis: RunRedis) -> None:
    port = free_port()
    with run_redis(*ON, port=port):
        scaler = await bench.opened("redis", on(port))
        async with hearing(scaler) as heard:
            async with Redis(port=port) as client:
                await subscribed(client)
                await client.lpush("jobs", "a")
                await heard.next()
                await client.shutdown(nosave=True)
            with run_redis(*ON, port=port):
                await heard.next()  # for what may have happened meanwhile
                async with Redis(port=port) as client:
                    await subscribed(client)
                    before = heard.count
                    await client.lpush("jobs", "a")
                    await eventually(lambda: heard.count > before, SECONDS)


async def test_a_server_without_events_is_polled_alone_and_not_subscribed_at(
    bench: Bench, redis_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", listening.__name__)
    scalers = [await bench.opened("redis", on(redis_port, f"q{number}")) for number in range(20)]
    heard = [Heard(scaler.watch()) for scaler in scalers]
    async with Redis(port=redis_port) as client, asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(one.follow()) for one in heard]
        await eventually(lambda: caplog.records, SECONDS)
        await turns(50)
        assert await client.pubsub_channels() == []
        for task in following:
            task.cancel()
    (told,) = caplog.records
    assert told.__dict__["error"] == "the server has keyspace events off: notify-keyspace-events has no K"
    assert (await scalers[0].read()).value == 0


async def test_a_user_who_may_not_subscribe_is_polled_alone(
    often_checked: Bench, telling: int, client: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", listening.__name__)
    await client.acl_setuser(
        "ann", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+llen", "+ping", "+select"]
    )
    scaler = await often_checked.opened("redis", on(telling, username="ann"), auth={"password": "s3cret"})
    async with hearing(scaler) as heard:
        await eventually(lambda: caplog.records, SECONDS)
        await client.lpush("jobs", "a")
        await turns(50)
    (told,) = caplog.records
    assert told.__dict__["error"] == "the server refuses SUBSCRIBE"
    assert "s3cret" not in caplog.text
    assert heard.count == 0
    assert (await scaler.read()).value == 1


async def test_a_user_who_may_not_see_the_configuration_is_told_all_the_same(
    bench: Bench, telling: int, client: Redis
) -> None:
    may = ["+llen", "+ping", "+subscribe", "+unsubscribe"]
    await client.acl_setuser(
        "eve", enabled=True, passwords=["+s3cret"], keys=["*"], channels=["__keyspace@0__:jobs"], commands=may
    )
    scaler = await bench.opened("redis", on(telling, username="eve"), auth={"password": "s3cret"})
    other = await bench.opened("redis", on(telling, "other", username="eve"), auth={"password": "s3cret"})
    async with hearing(other) as refused, hearing(scaler) as heard:
        await subscribed(client)
        await client.lpush("other", "a")
        await client.lpush("jobs", "a")
        await heard.next()
        assert refused.count == 0


async def test_a_key_that_is_too_long_to_be_told_of_is_polled_alone(bench: Bench, telling: int) -> None:
    scaler = await bench.opened("redis", on(telling, "k" * 2049))
    assert scaler.watch() is None


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    with redis_cluster(tmp_path_factory.mktemp("cluster"), *ON) as ports:
        yield ports


@pytest.fixture
async def cluster(ports: list[int]) -> AsyncIterator[Any]:
    async with RedisCluster(host="127.0.0.1", port=ports[0], password=PASSWORD) as client:
        await client.flushall(target_nodes=RedisCluster.PRIMARIES)
        yield client


def on_cluster(ports: list[int], **more: str) -> dict[str, str]:
    return {"addresses": ",".join(f"127.0.0.1:{port}" for port in ports), **more}


async def test_each_node_of_a_cluster_tells_of_its_keys(bench: Bench, ports: list[int], cluster: Any) -> None:
    names = {cluster.get_node_from_key(f"q{number}").port: f"q{number}" for number in range(60)}
    assert len(names) == 3
    for kind, key, command in (("redis-cluster", "listName", "rpush"), ("redis-cluster-streams", "stream", "xadd")):
        for name in (f"{command}{{{tag}}}" for tag in names.values()):
            scaler = await bench.opened(kind, on_cluster(ports, **{key: name}), auth=AUTH)
            async with hearing(scaler) as heard:
                await until_told(heard, partial(add, cluster, command, name))


async def test_a_key_that_moves_to_another_node_is_followed(
    often_checked: Bench, ports: list[int], cluster: Any
) -> None:
    slot, source = cluster.keyslot("moving"), cluster.get_node_from_key("moving").port
    target = next(port for port in ports if port != source)
    scaler = await often_checked.opened("redis-cluster", on_cluster(ports, listName="moving"), auth=AUTH)
    async with Redis(port=source, password=PASSWORD) as old, Redis(port=target, password=PASSWORD) as new:
        owner = await new.execute_command("CLUSTER", "MYID")
        async with hearing(scaler) as heard:
            await subscribed(old)
            for node in (new, old):
                await node.execute_command("CLUSTER", "SETSLOT", slot, "NODE", owner)
            await scaler.read()  # as a poll does, which finds out
            await subscribed(new)
            await heard.next()
            await subscribed(old, 0)
        await new.execute_command("CLUSTER", "SETSLOT", slot, "NODE", await old.execute_command("CLUSTER", "MYID"))
        await old.execute_command("CLUSTER", "SETSLOT", slot, "NODE", await old.execute_command("CLUSTER", "MYID"))


async def add(client: Any, command: str, key: str) -> None:
    await (client.rpush(key, "a") if command == "rpush" else client.xadd(key, {"a": "1"}))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with redis_sentinel(tmp_path_factory.mktemp("sentinel")) as watched:
        yield watched


@pytest.mark.parametrize(
    ("kind", "key", "command"), [("redis-sentinel", "listName", "rpush"), ("redis-sentinel-streams", "stream", "xadd")]
)
async def test_the_master_of_sentinels_tells(bench: Bench, watched: Watched, kind: str, key: str, command: str) -> None:
    metadata = {"addresses": f"127.0.0.1:{watched.sentinel}", "sentinelMaster": "shop", key: command}
    async with Redis(port=watched.servers[0], password=PASSWORD) as master:
        await master.config_set("notify-keyspace-events", "KEA")
        scaler = await bench.opened(kind, metadata, auth=AUTH)
        async with hearing(scaler) as heard:
            await until_told(heard, partial(add, master, command, command))
