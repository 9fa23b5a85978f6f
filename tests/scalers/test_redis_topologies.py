"""`redis-cluster` and `redis-sentinel`, for lengths and for streams, against real servers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import RedisError

from keda_py.errors import ConfigError, ScalerError
from keda_py.net.secret_texts import as_secrets
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.registry import scaler_class
from keda_py.testing import EngineContext, check_scaler
from tests.scalers.servers.redis import PASSWORD, SENTINEL_PASSWORD, Watched, redis_cluster, redis_sentinel
from tests.waiting import eventually

ASK_AGAIN_SECONDS = 0.02
"""Between two looks at a server, which works in real time."""

SECONDS = 30
AUTH = {"password": PASSWORD, "sentinelPassword": SENTINEL_PASSWORD}


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as ports:
        yield ports


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with redis_sentinel(tmp_path_factory.mktemp("sentinel")) as watched:
        yield watched


@pytest.fixture
async def cluster(ports: list[int]) -> AsyncIterator[Any]:
    async with RedisCluster(host="127.0.0.1", port=ports[0], password=PASSWORD) as client:
        await client.flushall(target_nodes=RedisCluster.PRIMARIES)
        yield client


def on_cluster(ports: list[int], **more: str) -> dict[str, str]:
    return {"addresses": ",".join(f"127.0.0.1:{port}" for port in ports), **more}


def on_master(watched: Watched, **more: str) -> dict[str, str]:
    addresses = f"127.0.0.1:1,127.0.0.1:{watched.sentinel}"
    return {"addresses": addresses, "sentinelMaster": "shop", **more}


async def test_keys_on_all_nodes_of_a_cluster_are_one_batch(bench: Any, cluster: Any, ports: list[int]) -> None:
    for number in range(60):
        await cluster.rpush(f"q{number}", *range(number + 1))
    await cluster.sadd("set", "a", "b")
    await cluster.set("text", "x")
    names = [*(f"q{number}" for number in range(60)), "set", "text", "gone"]
    scalers = [await bench.opened("redis-cluster", on_cluster(ports[:1], listName=name), auth=AUTH) for name in names]
    assert len({scaler.batch_key for scaler in scalers}) == 1
    *lists, of_set, of_text, gone = await scalers[0].read_batch(scalers)
    assert [one.value for one in lists] == list(range(1, 61))
    assert (of_set.value, gone.value) == (2, 0)
    assert "holds a string" in str(of_text)


async def test_a_slot_that_moves_to_another_node_is_followed(bench: Any, cluster: Any, ports: list[int]) -> None:
    await cluster.rpush("jobs", "a", "b")
    scaler = await bench.opened("redis-cluster", on_cluster(ports, listName="jobs"), auth=AUTH)
    assert (await scaler.read()).value == 2
    asker = scaler._redis
    away = next(port for port in ports if port != cluster.get_node_from_key("jobs").port)
    asker._slots = [(0, 16383, ("127.0.0.1", away))]
    assert (await scaler.read()).value == 2
    assert len({node for _, _, node in asker._slots}) == 3


async def test_a_key_that_is_asked_for_while_its_slot_moves(bench: Any, cluster: Any, ports: list[int]) -> None:
    await cluster.rpush("moving", "a")
    scaler = await bench.opened("redis-cluster", on_cluster(ports, listName="moving"), auth=AUTH)
    slot, source = cluster.keyslot("moving"), cluster.get_node_from_key("moving").port
    target = next(port for port in ports if port != source)
    async with Redis(port=source, password=PASSWORD) as old, Redis(port=target, password=PASSWORD) as new:
        ids = {
            one.connection_pool.connection_kwargs["port"]: await one.execute_command("CLUSTER", "MYID")
            for one in (old, new)
        }
        await new.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        await old.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        await old.execute_command("MIGRATE", "127.0.0.1", target, "moving", 0, 5000, "AUTH", PASSWORD)
        try:
            assert (await scaler.read()).value == 1
        finally:
            for one in (new, old):
                await one.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[target])


async def test_a_user_without_a_password_does_not_log_in(bench: Any, run_redis: Any) -> None:
    """KEDA's client says nothing then, and a server that lets everybody in answers."""
    with run_redis("--cluster-enabled", "yes") as port:
        async with Redis(port=port) as client:
            await client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            await eventually(lambda: _is_whole(client))
            await client.rpush("jobs", 1, 2, 3)
        for trigger_type, place in (("redis-cluster", on_cluster([port])), ("redis", {"address": f"127.0.0.1:{port}"})):
            scaler = await bench.opened(trigger_type, {**place, "listName": "jobs"}, auth={"username": "ann"})
            assert (await scaler.read()).value == 3


async def _is_whole(client: Redis) -> bool:
    return b"cluster_state:ok" in await client.execute_command("CLUSTER", "INFO")


async def test_a_wrong_password_and_no_server_are_errors(bench: Any, ports: list[int]) -> None:
    with pytest.raises(ScalerError) as wrong:
        await bench.opened("redis-cluster", on_cluster(ports, listName="jobs"), auth={"password": "hunter2"})
    assert "hunter2" not in str(wrong.value)
    with pytest.raises(ScalerError, match=r"redis 127\.0\.0\.1:1 failed"):
        await bench.opened("redis-cluster", on_cluster([1], listName="jobs"))


async def test_the_master_that_a_sentinel_knows_is_read(bench: Any, watched: Watched) -> None:
    async with Redis(port=watched.servers[0], password=PASSWORD) as master:
        await master.rpush("jobs", "a", "b", "c")
    scaler = await bench.opened("redis-sentinel", on_master(watched, listName="jobs"), auth=AUTH)
    assert (await scaler.read()).value == 3


async def test_sentinels_that_refuse_and_masters_that_they_do_not_know_are_errors(bench: Any, watched: Watched) -> None:
    for wrong in ({"password": PASSWORD}, {**AUTH, "sentinelPassword": "hunter2"}):
        with pytest.raises(ScalerError, match=f"sentinel 127.0.0.1:{watched.sentinel}: ") as refused:
            await bench.opened("redis-sentinel", on_master(watched, listName="jobs"), auth=wrong)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(ScalerError, match='knows no master "bank": check sentinelMaster'):
        await bench.opened("redis-sentinel", on_master(watched, listName="jobs", sentinelMaster="bank"), auth=AUTH)
    with pytest.raises(ConfigError, match="sentinelMaster: missing"):
        await bench.opened("redis-sentinel", on_master(watched, listName="jobs", sentinelMaster=""), auth=AUTH)


async def test_streams_of_a_cluster_and_of_a_master(
    bench: Any, cluster: Any, ports: list[int], watched: Watched
) -> None:
    async with Redis(port=watched.servers[0], password=PASSWORD) as master:
        for client in (cluster, master):
            await client.xadd("events", {"n": 1})
    for trigger_type, metadata in {
        "redis-cluster-streams": on_cluster(ports, stream="events"),
        "redis-sentinel-streams": on_master(watched, stream="events"),
    }.items():
        scaler = await bench.opened(trigger_type, metadata, auth=AUTH)
        assert (await scaler.read()).value == 1


async def test_after_a_failover_the_new_master_is_read(bench: Any, watched: Watched) -> None:
    scaler = await bench.opened("redis-sentinel", on_master(watched, listName="after"), auth=AUTH)
    assert (await scaler.read()).value == 0
    sentinel = Redis(port=watched.sentinel, password=SENTINEL_PASSWORD)
    async with sentinel, Redis(port=watched.servers[1], password=PASSWORD) as second, asyncio.timeout(SECONDS):
        await promote(sentinel)
        while True:
            try:
                await second.rpush("after", "a", "b")
                break
            except RedisError:
                await asyncio.sleep(ASK_AGAIN_SECONDS)
        while await value_of(scaler) != 2:
            await asyncio.sleep(ASK_AGAIN_SECONDS)


async def promote(sentinel: Any) -> None:
    """As soon as the sentinel knows the replica."""
    while True:
        try:
            await sentinel.execute_command("SENTINEL", "FAILOVER", "shop")
        except RedisError:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        else:
            return


async def value_of(scaler: Any) -> float | None:
    try:
        return float((await scaler.read()).value)
    except ScalerError:
        return None


@pytest.mark.parametrize("trigger_type", ["redis-cluster", "redis-cluster-streams"])
async def test_the_contract_is_kept(bench: Any, ports: list[int], trigger_type: str) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    metadata = on_cluster(ports, listName="jobs", stream="events")
    trigger = Trigger(type=trigger_type, metadata=metadata, auth=as_secrets(AUTH))
    await check_scaler(scaler_class(trigger_type), trigger, context)
