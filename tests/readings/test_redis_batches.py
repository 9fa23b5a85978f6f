"""Real Redis triggers of many ScaledObjects: one pool, one round trip, and a server that stops and comes back."""

import asyncio
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import NothingResolved
from keda_py.core.spec import build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ScalerError
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk import registry
from tests.servers import free_port, redis_command, running

OBJECTS = 500


def spec_of(number: int, port: int):
    trigger = {"type": "redis", "metadata": {"address": f"127.0.0.1:{port}", "listName": f"q{number}"}}
    body = {"scaleTargetRef": {"name": "app"}, "triggers": [trigger], "pollingInterval": 15}
    meta = {"name": f"app{number}", "namespace": "shop", "uid": f"app{number}", "generation": 1}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


async def poll_all(readings, keys):
    rounds = await asyncio.gather(*(readings.poll(key) for key in keys))
    return [seen.readings[0].outcome for seen in rounds]


@pytest.fixture
async def readings(lent):
    source = ScalerSource(
        shared_context=replace(lent, http_timeout=20.0), build=registry.build, resolver=NothingResolved()
    )
    async with asyncio.TaskGroup() as tasks:
        readings = Readings(scalers=source, tasks=tasks, on_reading=lambda key: None)
        yield readings
        await readings.aclose()


async def test_a_server_that_goes_away_is_an_error_for_all_and_comes_back_by_itself(readings, lent, tmp_path):
    port = free_port()
    command = redis_command(port, tmp_path)
    keys = [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(OBJECTS)]
    with running(command, port, tmp_path / "log"):
        for number in range(OBJECTS):
            await readings.build(spec_of(number, port))
        async with Redis(port=port) as client:
            await client.lpush("q7", *range(9))
            outcomes = await poll_all(readings, keys)
            assert [outcome.value for outcome in outcomes[:8]] == [0.0] * 7 + [9.0]
            assert not any(isinstance(outcome, ScalerError) for outcome in outcomes)
            assert (await client.info("clients"))["connected_clients"] == 2  # this request, and one for 500 objects
    await lent.clock.advance(15)
    assert all(isinstance(outcome, ScalerError) for outcome in await poll_all(readings, keys))
    with running(command, port, tmp_path / "log"):
        await lent.clock.advance(15)
        assert [outcome.value for outcome in await poll_all(readings, keys)] == [0.0] * OBJECTS


async def test_a_poll_of_500_lists_is_500_commands_in_one_round_trip(readings, lent, tmp_path):
    port = free_port()
    keys = [ObjectKey("ScaledObject", "shop", f"app{number}") for number in range(OBJECTS)]
    with running(redis_command(port, tmp_path), port, tmp_path / "log"):
        for number in range(OBJECTS):
            await readings.build(spec_of(number, port))
        await poll_all(readings, keys)
        async with Redis(port=port) as client:
            await lent.clock.advance(15)
            before = await client.info("all")
            await poll_all(readings, keys)
            after = await client.info("all")
    asked = {
        name: after[name]["calls"] - before.get(name, {"calls": 0})["calls"]
        for name in after
        if name.startswith("cmdstat_") and name != "cmdstat_info"
    }
    assert {name: calls for name, calls in asked.items() if calls} == {"cmdstat_llen": OBJECTS}
    # A long request may arrive in a few pieces; the request for these numbers is one more.
    assert after["total_reads_processed"] - before["total_reads_processed"] <= 5
