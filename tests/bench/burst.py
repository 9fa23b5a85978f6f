"""Burst: n cron objects begin at the same minute; how late each is awake, and what their namespace leaves when it goes.

The cluster is the embedded one, which starts no pod: what is measured is the count in each Deployment.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

from keda_py.clock import SystemClock
from keda_py.kube.resources import DEPLOYMENTS, NAMESPACES, SCALED_OBJECTS
from tests.bench.lab.figures import Row, cpu_seconds, median, shared_mb
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import until
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand
from tests.builders import cron

START_SECONDS, PER_SECOND = 15.0, 60
"""So long, and a second for so many objects, until all are Ready, for the choice of the minute."""
GIVEN_BACK_SECONDS = 25.0
"""After which the operator has looked at its memory twice."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """The whole measurement, on a stand of its own."""
    async with build_stand(options) as stand:
        await stand.add_deployments(options.objects)
        begins = _minute_after(timedelta(seconds=START_SECONDS + options.objects / PER_SECOND))
        say(f"{options.objects} ScaledObjects until all are Ready")
        await stand.add_scaled_objects(options.objects, options.interval, _window(begins))

        async def all_ready() -> bool:
            return await stand.count_ready() >= options.objects

        await until(all_ready, f"{options.objects} ScaledObjects", 900.0, pause=0.5)
        await _wait_for(begins, say)
        resident = shared_mb(stand.operator)
        rows = {"objects": options.objects, **await _measure_burst(stand, options.objects, begins, say)}
        yield {
            **rows,
            **await _measure_end(stand, say),
            "pss_mb": {"before": round(resident, 1), **await _later(stand)},
        }


async def _wait_for(begins: datetime, say: Say) -> None:
    left = -_since(begins)
    if left < 0:
        raise RuntimeError(f"the objects were Ready {-left:.0f} s after the minute: the machine is too busy")
    say("until the minute")
    await asyncio.sleep(left)


async def _measure_burst(stand: Stand, objects: int, begins: datetime, say: Say) -> Row:
    say("until all are awake")
    used, late = cpu_seconds(stand.operator), dict[str, float]()

    async def all_awake() -> bool:
        for live in await stand.client.list(DEPLOYMENTS, NAMESPACE):
            if live["spec"].get("replicas", 0) > 0:
                late.setdefault(live["metadata"]["name"], _since(begins))
        return len(late) >= objects

    await until(all_awake, f"{objects} Deployments", 300.0, pause=0.2)
    seconds = list(late.values())
    return {
        "late_s": {"median": median(seconds), "max": round(max(seconds), 2)},
        "burst_cpu_s": round(cpu_seconds(stand.operator) - used, 2),
    }


async def _measure_end(stand: Stand, say: Say) -> Row:
    say("deleting the namespace")
    began, used = time.perf_counter(), cpu_seconds(stand.operator)
    await stand.client.delete(NAMESPACES.named("", NAMESPACE))

    async def all_gone() -> bool:
        return not await stand.client.list(SCALED_OBJECTS, NAMESPACE)

    await until(all_gone, "the end of the namespace", 300.0, pause=0.5)
    return {
        "deleted_s": round(time.perf_counter() - began, 1),
        "deleted_cpu_s": round(cpu_seconds(stand.operator) - used, 2),
    }


async def _later(stand: Stand) -> dict[str, float]:
    deleted = shared_mb(stand.operator)
    await asyncio.sleep(GIVEN_BACK_SECONDS)
    return {"deleted": round(deleted, 1), "later": round(shared_mb(stand.operator), 1)}


def _minute_after(wait: timedelta) -> datetime:
    return (SystemClock().now() + wait).replace(second=0, microsecond=0) + timedelta(minutes=1)


def _since(at: datetime) -> float:
    return (SystemClock().now() - at).total_seconds()


def _window(begins: datetime) -> dict[str, object]:
    return cron(f"{begins.minute} {begins.hour} * * *", f"{begins.minute} {(begins.hour + 3) % 24} * * *", desired=1)
