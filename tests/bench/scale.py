"""Scale: n ScaledObjects on Redis lists; time to Ready, idle cost, time from a filled list to a replica, churn.

The embedded cluster answers faster than etcd: compare CPU, memory and the number of requests with other systems,
seconds only with care.
"""

import asyncio
import random
import re  # noqa: TID251 - the pattern is constant
import time
from collections import Counter
from collections.abc import AsyncGenerator

from keda_py.errors import NotFound
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.kube.transport import Request
from tests.bench.lab.figures import (
    Row,
    cpu_by_process,
    cpu_seconds,
    median,
    memory_by_process,
    percentile,
    shared_mb,
    spent_by_process,
)
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import until
from tests.bench.lab.profile import profiled
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand, is_ready

_COUNTED = re.compile(r"apiserver_request_total\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_OURS = {"scaledobjects", "horizontalpodautoscalers", "deployments", "events", "secrets", "pods"}
SETTLE_SECONDS = 20
CHURN_SECONDS, CHURN_RATE = 20.0, 10
"""So long, so many objects a second are deleted and made again."""


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for each phase, in a stand of its own."""
    size: Row = {"objects": options.objects, "interval_s": options.interval}
    async with build_stand(options) as stand:
        yield {"phase": "start", **size, **await measure_start(stand, options, say)}
        yield {"phase": "idle", **size, **await measure_idle(stand, options, say)}
        yield {"phase": "wake", **size, **await _measure_wakes(stand, options, say)}
        yield {"phase": "churn", **size, **await _measure_churn(stand, options, say)}


async def measure_start(stand: Stand, options: Options, say: Say) -> Row:
    """From the first ScaledObject written until all are Ready with an HPA."""
    say(f"{options.objects} Deployments")
    await stand.add_deployments(options.objects)
    say(f"{options.objects} ScaledObjects until all are Ready")
    asked = await _requests(stand)
    async with profiled(options, stand.operator, "start"):
        began, used, before = time.perf_counter(), cpu_seconds(stand.operator), cpu_by_process(stand.operator)
        await stand.add_scaled_objects(options.objects, options.interval)
        await stand.until_ready(options.objects)
        took = time.perf_counter() - began
    return {
        "ready_s": round(took, 1),
        "ready_cpu_s": round(cpu_seconds(stand.operator) - used, 2),
        "ready_cpu_s_by_process": spent_by_process(stand.operator, before),
        "ready_requests": dict(await _requests(stand) - asked),
    }


async def measure_idle(stand: Stand, options: Options, say: Say) -> Row:
    """While no list changes."""
    say("until the dust has settled")
    await asyncio.sleep(SETTLE_SECONDS)
    say(f"idle, {options.steady:g} s")
    requests, commands = await _requests(stand), await _redis_counts(stand)
    async with profiled(options, stand.operator, "idle"):
        began, used, before = time.perf_counter(), cpu_seconds(stand.operator), cpu_by_process(stand.operator)
        await asyncio.sleep(options.steady)
        minutes = (time.perf_counter() - began) / 60
    made = await _requests(stand) - requests
    return {
        "idle_cpu_s_per_min": round((cpu_seconds(stand.operator) - used) / minutes, 2),
        "idle_cpu_s_per_min_by_process": spent_by_process(stand.operator, before, minutes),
        "pss_mb": round(shared_mb(stand.operator), 1),
        "memory_by_process": memory_by_process(stand.operator),
        "api_requests_per_min": {name: round(count / minutes) for name, count in made.items() if count > minutes},
        **{name: round((count - commands[name]) / minutes) for name, count in (await _redis_counts(stand)).items()},
        "late_s": late(await stand.lateness()),
    }


def late(seconds: dict[str, float]) -> Row:
    """How late polls began: the 99th percentile and the longest; nothing where no planned poll was seen."""
    if not seconds:
        return {}
    return {"p99": round(percentile(seconds.values(), 0.99), 3), "max": round(max(seconds.values()), 3)}


async def _measure_wakes(stand: Stand, options: Options, say: Say) -> Row:
    """Items come at a random moment of the polling interval."""
    chance = random.Random(1)
    seconds = []
    chosen = chance.sample(range(options.objects), min(options.wakes, options.objects))
    for number, index in enumerate(chosen, 1):
        say(f"waking {number} of {len(chosen)}")
        await asyncio.sleep(chance.random() * options.interval)
        began = time.perf_counter()
        await stand.redis.lpush(f"q{index}", *range(7))

        async def awake(name: str = f"d{index}") -> bool:
            return await stand.replicas(name) > 0

        await until(awake, f"d{index}", 3.0 * options.interval + 30, pause=0.02)
        seconds.append(time.perf_counter() - began)
    return {"wake_s": {"median": median(seconds), "max": round(max(seconds), 2)}}


async def _measure_churn(stand: Stand, options: Options, say: Say) -> Row:
    """Random objects are deleted, waited for and made again."""
    chance, seconds = random.Random(2), list[float]()
    rounds = min(round(CHURN_SECONDS * CHURN_RATE), options.objects)
    say(f"{rounds} objects deleted and made again, {CHURN_RATE} a second")
    used = cpu_seconds(stand.operator)
    async with asyncio.TaskGroup() as tasks:
        for index in chance.sample(range(options.objects), rounds):
            tasks.create_task(_make_again(stand, options.interval, index, seconds))
            await asyncio.sleep(1 / CHURN_RATE)
    return {
        "made_again": rounds,
        "churn_cpu_ms_each": round((cpu_seconds(stand.operator) - used) / rounds * 1e3, 1),
        "ready_again_s": {"median": median(seconds), "p99": round(percentile(seconds, 0.99), 2)},
    }


async def _make_again(stand: Stand, interval: int, index: int, seconds: list[float]) -> None:
    path = SCALED_OBJECTS.named(NAMESPACE, f"d{index}")
    await stand.client.delete(path)

    async def gone() -> bool:
        try:
            await stand.client.get(path)
        except NotFound:
            return True
        return False

    async def ready() -> bool:
        return is_ready(await stand.client.get(path))

    await until(gone, f"the end of d{index}", 60.0, pause=0.05)
    began = time.perf_counter()
    await stand.add_scaled_object(index, interval)
    await until(ready, f"d{index} made again", 60.0, pause=0.05)
    seconds.append(time.perf_counter() - began)


async def _requests(stand: Stand) -> Counter[str]:
    """Requests that the API server has answered, `resource/subresource verb`, watches left out."""
    page = await stand.client.raw(Request(method="GET", path="/metrics"))
    counted: Counter[str] = Counter()
    for labels, value in _COUNTED.findall(page.decode()):
        found = dict(_LABEL.findall(labels))
        if found["resource"] in _OURS and found["verb"] != "WATCH":
            name = "/".join(filter(None, (found["resource"], found.get("subresource", ""))))
            counted[f"{name} {found['verb']}"] += round(float(value))
    return counted


async def _redis_counts(stand: Stand) -> dict[str, int]:
    """Each read is a round trip, or a piece of a long question; Redis 7.0 and newer count them."""
    stats = await stand.redis.info("stats")
    return {
        "redis_commands_per_min": int(stats["total_commands_processed"]),
        "redis_reads_per_min": int(stats.get("total_reads_processed", 0)),
    }
