"""`status.kedaPy`: why things are as they are, written when the reason or the next change does and never besides."""

import asyncio
import shutil
import subprocess
from datetime import timedelta

import pytest

from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from tests.parity.source import Source
from tests.parity.world import (
    A_SATURDAY,
    LONG_POLL_SECONDS,
    LONG_SYNC_SECONDS,
    two_containers,
    unhurried,
    writes,
)
from tests.sweeps import size
from tests.worlds.world import World

CRON = {"timezone": "Etc/UTC", "start": "0 6 * * *", "end": "0 7 * * *", "desiredReplicas": "2"}
long = pytest.mark.parametrize("hpa_sync_seconds", [LONG_SYNC_SECONDS], ids=["long"])


def told(world: World) -> list[dict[str, object]]:
    """Every `status.kedaPy` there has been, from now on."""
    seen: list[dict[str, object]] = []

    def note(event: Event) -> None:
        if event.object.get("kind") == "ScaledObject":
            now = (event.object.get("status") or {}).get("kedaPy")
            if now and now not in seen:
                seen.append(now)

    world.cluster.store.listen(note)
    return seen


async def test_the_reason_changes_with_what_happens(world: World, source: Source) -> None:
    seen = told(world)
    await world.create(two_containers(replicas=0), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(11)
        source.value = 12.5
        await world.seconds(60)
        source.value = 0
        await world.seconds(60)
    assert [one["reason"] for one in seen] == [
        "Inactive",
        "Activated",
        "Active",
        "CoolingDown",
        "Deactivated",
        "Inactive",
    ]
    activated, cooling = seen[1], seen[3]
    assert activated["values"] == {"s0-metric-api-value": "12.5"}
    assert cooling["nextChange"] > cooling["since"]


async def test_the_next_change_of_a_schedule_is_known(world: World) -> None:
    await world.create(two_containers(), unhurried({"type": "cron", "metadata": CRON}))
    async with world.operator.running():
        await world.seconds(30)
        assert world.status("so")["kedaPy"]["nextChange"] == "2026-11-21T06:00:00Z"
        await world.clock.run_until(A_SATURDAY + timedelta(minutes=10))
        assert world.status("so")["kedaPy"]["nextChange"] == "2026-11-21T07:00:00Z"


@long
async def test_the_next_change_moves_on_while_the_reason_stays(world: World) -> None:
    windows = [{**CRON, "end": "0 7 * * *"}, {**CRON, "start": "30 6 * * *", "end": "0 8 * * *"}]
    triggers = ({"type": "cron", "metadata": one} for one in windows)
    await world.create(two_containers(), unhurried(*triggers, pollingInterval=LONG_POLL_SECONDS))
    async with world.operator.running():
        await world.clock.run_until(A_SATURDAY + timedelta(minutes=10))
        first = world.status("so")["kedaPy"]
        assert (first["reason"], first["nextChange"]) == ("Active", "2026-11-21T06:30:00Z")
        before = writes(world, SCALED_OBJECTS)
        await world.clock.run_until(A_SATURDAY + timedelta(minutes=40))
        assert world.status("so")["kedaPy"] == first | {"nextChange": "2026-11-21T07:00:00Z"}
        assert writes(world, SCALED_OBJECTS) == before + 1
        await world.clock.run_until(A_SATURDAY + timedelta(minutes=70))
        assert world.status("so")["kedaPy"] == first | {"nextChange": "2026-11-21T08:00:00Z"}


@long
async def test_without_a_boundary_a_schedule_costs_no_write(world: World) -> None:
    night = {"type": "cron", "metadata": {**CRON, "start": "0 23 * * *", "end": "0 6 * * *"}}
    await world.create(two_containers(replicas=0), unhurried(night, pollingInterval=LONG_POLL_SECONDS))
    async with world.operator.running():
        await world.clock.run_until(A_SATURDAY + timedelta(minutes=10))
        before = writes(world, SCALED_OBJECTS)
        await world.seconds(3600)
        assert writes(world, SCALED_OBJECTS) == before


@long
@pytest.mark.parametrize("value", [0, 20], ids=["idle", "busy"])
async def test_an_hour_without_a_change_is_an_hour_without_a_write(world: World, source: Source, value: float) -> None:
    source.value = value
    await world.create(two_containers(), unhurried(source.trigger(), pollingInterval=LONG_POLL_SECONDS))
    async with world.operator.running():
        await world.seconds(size(120, 300))
        before = writes(world, SCALED_OBJECTS)
        await world.seconds(3600)
        assert writes(world, SCALED_OBJECTS) == before


async def test_a_restart_leaves_the_reason_as_it_was(world: World, source: Source) -> None:
    source.value = 20
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(60)
    before = world.status("so")["kedaPy"]
    async with world.operator.running():
        await world.seconds(60)
        assert world.status("so")["kedaPy"] == before


async def test_a_paused_object_says_so_and_a_broken_one_has_no_reason(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(60)
        await world.annotate({"autoscaling.keda.sh/paused": "true"}, "so")
        await world.seconds(5)
        assert world.status("so")["kedaPy"] == {"reason": "Paused", "since": "2026-11-21T05:57:00Z"}
        await world.annotate({"autoscaling.keda.sh/paused": None}, "so")
        trigger = {"type": "metrics-api", "metadata": {"url": "http://127.0.0.1:1"}}
        await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [trigger]}}, "so")
        await world.seconds(5)
        assert world.full_condition("Ready", "so")[0] == "False"
        assert "kedaPy" not in world.status("so")


@pytest.mark.kubectl
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed (apt: kubectl)")
async def test_describe_shows_the_reason(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger(), minReplicaCount=1))
    async with world.operator.running():
        await world.seconds(30)
        command = ["kubectl", "--kubeconfig", str(world.kubeconfig), "describe", "scaledobject", "so"]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines()]
    at = lines.index("Keda Py:")
    assert lines[at + 1].split() == ["Reason:", "Inactive"]
    assert lines[at + 2].split() == ["Since:", "2026-11-21T05:56:00Z"]
    assert lines[at + 4].split() == ["s0-metric-api-value:", "0"]


@pytest.mark.kubectl
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed (apt: kubectl)")
async def test_a_table_shows_what_comes_next_and_why_behind_kedas_columns(world: World) -> None:
    await world.create(two_containers(replicas=0), unhurried({"type": "cron", "metadata": CRON}))
    async with world.operator.running():
        await world.seconds(60)
        command = ["kubectl", "--kubeconfig", str(world.kubeconfig), "get", "so", "so"]
        told = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    headings, row = told.stdout.splitlines()
    assert headings.split()[-3:] == ["AGE", "NEXT", "WHY"]
    assert row.split()[-2:] == ["2026-11-21T06:00:00Z", "Inactive"]
