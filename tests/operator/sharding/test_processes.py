"""Real processes with KEDA's own times: one is frozen and goes on later, one is killed by kill -9."""

import asyncio
import signal

from keda_py.kube.leases.slots import VIEW_ANNOTATION
from keda_py.kube.resources import LEASES, SCALED_OBJECTS
from tests.builders import obj
from tests.operator.replicas import LEASE, Replicas
from tests.operator.sharding.crew import NAMES, all_scaled, apps, changes
from tests.sweeps import size
from tests.waiting import eventually

CREW = size(3, 2)
PAUSED = "autoscaling.keda.sh/paused-replicas"
TAKEN_OVER = 10.0
"""Seconds until each object of a replica that says nothing any more is scaled by another one."""


def slot(number: int) -> str:
    return f"{LEASE.name}-shard-{number}"


def views(replicas: Replicas) -> list[str]:
    """What the holders of slots say of each other."""
    found = []
    for number in range(CREW):
        live = replicas.find(LEASES, slot(number), LEASE.namespace)
        if live is not None and live["spec"].get("holderIdentity"):
            found.append(live["metadata"]["annotations"].get(VIEW_ANNOTATION, ""))
    return found


async def agreed(replicas: Replicas, count: int) -> None:
    await eventually(
        lambda: len(found := views(replicas)) == count == len(found[0].split(",")) and len(set(found)) == 1
    )


async def pause(replicas: Replicas, count: str | None) -> None:
    for name in NAMES:
        await replicas.patch(SCALED_OBJECTS, {"metadata": {"annotations": {PAUSED: count}}}, name)


async def test_one_that_is_frozen_or_killed_is_replaced_in_time_and_scales_nothing_twice(replicas: Replicas) -> None:
    for number in range(CREW):  # as the chart makes them
        await replicas.client.create(
            LEASES, obj("coordination.k8s.io/v1", "Lease", slot(number), LEASE.namespace, spec={})
        )
    crew = [await replicas.spawn(f"replica-{number}", {}, shards=str(CREW)) for number in range(CREW)]
    await agreed(replicas, CREW)
    await apps(replicas)
    seen = changes(replicas)
    crew[0].freeze()
    replicas.jobs(1)
    await eventually(lambda: all_scaled(replicas, 1), TAKEN_OVER)
    await pause(replicas, "0")
    await eventually(lambda: all_scaled(replicas, 0))
    crew[0].thaw()  # as far as it knows there is work, and no pause
    await agreed(replicas, CREW)
    assert all(seen[name] == [1, 0] for name in NAMES)
    await asyncio.to_thread(crew[1].end, signal.SIGKILL)
    await pause(replicas, None)
    await eventually(lambda: all_scaled(replicas, 1), TAKEN_OVER)
    await agreed(replicas, CREW - 1)
    assert all(seen[name] == [1, 0, 1] for name in NAMES)
    for process in (crew[0], *crew[2:]):
        await asyncio.to_thread(process.end)
