"""What sleeping saves is told in the status, survives a restart, and costs no write of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keda_py.kube.resources import SCALED_OBJECTS, Obj
from keda_py.localkube.cluster import ClusterOptions
from tests.builders import cron, deployment, metrics_api, scaled_object
from tests.http_server import HttpServer
from tests.worlds.world import World, open_world

OPEN, AGAIN = cron("0 12 * * *", "30 12 * * *", 2), cron("10 14 * * *", "20 14 * * *", 2)
MINUTE = 60
STEP = 6 * MINUTE


@pytest.fixture
async def world(tmp_path: Path, server: HttpServer) -> AsyncIterator[World]:
    """Its HPAs look every five minutes: a virtual day at their usual pace is fifteen seconds of CPU."""
    async with open_world(tmp_path, server, options=ClusterOptions(hpa_sync_seconds=5 * MINUTE)) as world:
        await world.operator.start()
        yield world


def savings(world: World) -> Obj:
    return dict(world.status()["kedaPySavings"])


def stored(writes: list[Obj]) -> set[str]:
    """When accounts were stored."""
    return {one["status"]["kedaPySavings"]["at"] for one in writes}


async def test_a_nap_is_accounted_without_a_write_and_over_a_restart(world: World) -> None:
    trigger = scaled_object(OPEN, AGAIN, cooldownPeriod=0, pollingInterval=600, minReplicaCount=3, idleReplicaCount=0)
    await world.create(deployment(replicas=0), trigger)
    await world.seconds(45 * MINUTE)
    assert world.replicas() == 0
    slept = savings(world)
    assert (slept["replicas"], slept["instead"]) == (0, 3)
    writes = world.writes_of(SCALED_OBJECTS)
    await world.seconds(45 * MINUTE)
    assert writes == []
    await world.operator.stop()
    await world.seconds(20 * MINUTE)
    await world.operator.start()
    await world.seconds(21 * MINUTE)
    assert world.replicas() == 3
    month = savings(world)["month"]
    assert month["name"] == "2026-11"
    assert abs(month["asleepSeconds"] - 100 * MINUTE) <= 5
    assert month["savedSeconds"] == 3 * month["asleepSeconds"]
    assert 0 <= month["replicaSeconds"] - 3 * 30 * MINUTE <= 3 * MINUTE  # and the first of the second window
    page = await world.client.get(SCALED_OBJECTS.named("default", "app"))
    assert page["status"]["kedaPySavings"]["totalSavedSeconds"] == month["savedSeconds"]


async def test_a_pause_at_zero_is_sleep(world: World) -> None:
    await world.create(deployment(replicas=0), scaled_object(OPEN, pollingInterval=600, cooldownPeriod=0))
    await world.seconds(10 * MINUTE)
    paused = {"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}}
    path = SCALED_OBJECTS.named("default", "app")
    await world.client.patch(path, paused)
    await world.seconds(5 * MINUTE)
    assert (savings(world)["replicas"], world.replicas()) == (0, 0)
    await world.client.patch(path, {"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": None}}})
    await world.seconds(5)
    assert abs(savings(world)["month"]["asleepSeconds"] - 5 * MINUTE) <= 5


async def test_where_the_hpa_moves_counts_they_are_written_once_in_six_hours_and_survive_a_kill(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(replicas=1), scaled_object(metrics_api(world.url), pollingInterval=1800))
    await world.seconds(10)
    first = savings(world)  # it came with the first write
    assert first["replicas"] == 1
    writes = world.writes_of(SCALED_OBJECTS)
    for minutes, count in enumerate((2, 4, 3, 4), start=1):
        world.jobs(5 * count)
        await world.seconds(minutes * 8 * STEP)
    assert (savings(world)["replicas"], len(stored(writes) - {first["at"]})) == (4, 1)
    before = len(writes)
    await world.seconds(130 * STEP)
    assert len(writes) == before  # a restart goes on from what is stored
    await world.operator.kill()
    await world.seconds(20 * STEP)
    await world.operator.start()
    await world.seconds(10 * STEP)
    labels = {"namespace": "default", "kind": "ScaledObject", "name": "app"}
    used = world.operator.assembly.parts.shared.instruments.registry.get_sample_value("keda_py_replica_seconds", labels)
    expected = (2 * 8 + 4 * 16 + 3 * 24 + 4 * 32 + 4 * (130 + 20 + 10)) * STEP
    assert used == pytest.approx(expected, abs=4 * 4 * 5 * STEP)  # a poll at each change


async def test_hours_that_a_failing_source_keeps_it_up_are_summed_apart(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(replicas=1), scaled_object(metrics_api(world.url), pollingInterval=60))
    await world.seconds(5)
    answer = world.server.answers.pop("/jobs")
    await world.seconds(20 * MINUTE)
    assert (savings(world)["failing"], savings(world)["replicas"]) == (True, 1)
    world.server.answers["/jobs"] = answer
    await world.seconds(2 * MINUTE)
    assert "failing" not in savings(world)
    assert savings(world)["month"]["failingSeconds"] == pytest.approx(20 * MINUTE, abs=2 * MINUTE)
