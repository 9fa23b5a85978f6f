"""Scale: n ScaledObjects on Redis lists; time to Ready, idle cost, time from a filled list to the first replica.

The cluster is the embedded one, which answers faster than etcd: compare CPU, memory and the number of requests with
other systems, seconds only with care.
"""

import asyncio
import random
import re  # noqa: TID251 - the pattern is constant
import time
from collections import Counter

from keda_py.kube.transport import Request
from tests.bench.figures import Row, cpu_seconds, median, resident_mb
from tests.bench.options import Options, Say
from tests.bench.world import World, build_world, until

_COUNTED = re.compile(r"apiserver_request_total\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_OURS = {"scaledobjects", "horizontalpodautoscalers", "deployments", "events", "secrets", "pods"}
SETTLE_SECONDS = 20


async def run(options: Options, say: Say) -> Row:
    """The whole measurement, on a world of its own."""
    async with build_world() as world:
        return {
            "objects": options.objects,
            "interval_s": options.interval,
            **await measure_start(world, options, say),
            **await _measure_idle(world, options, say),
            **await _measure_wakes(world, options, say),
        }


async def measure_start(world: World, options: Options, say: Say) -> Row:
    """From the first ScaledObject written until all are Ready with an HPA."""
    say(f"{options.objects} Deployments")
    await world.add_deployments(options.objects)
    say(f"{options.objects} ScaledObjects until all are Ready")
    asked = await _requests(world)
    began, used = time.perf_counter(), cpu_seconds(world.operator)
    await world.add_scaled_objects(options.objects, options.interval)

    async def all_ready() -> bool:
        return await world.count_ready() >= options.objects

    await until(all_ready, f"{options.objects} ScaledObjects", 900.0, pause=0.5)
    return {
        "ready_s": round(time.perf_counter() - began, 1),
        "ready_cpu_s": round(cpu_seconds(world.operator) - used, 2),
        "ready_requests": dict(await _requests(world) - asked),
    }


async def _measure_idle(world: World, options: Options, say: Say) -> Row:
    say("until the dust has settled")
    await asyncio.sleep(SETTLE_SECONDS)
    say(f"idle, {options.steady:g} s")
    requests, commands = await _requests(world), await _redis_counts(world)
    began, used = time.perf_counter(), cpu_seconds(world.operator)
    await asyncio.sleep(options.steady)
    minutes = (time.perf_counter() - began) / 60
    made = await _requests(world) - requests
    return {
        "idle_cpu_s_per_min": round((cpu_seconds(world.operator) - used) / minutes, 2),
        "rss_mb": round(resident_mb(world.operator), 1),
        "api_requests_per_min": {name: round(count / minutes) for name, count in made.items() if count > minutes},
        **{name: round((count - commands[name]) / minutes) for name, count in (await _redis_counts(world)).items()},
    }


async def _measure_wakes(world: World, options: Options, say: Say) -> Row:
    """Items come at a random moment of the polling interval."""
    chance = random.Random(1)
    seconds = []
    chosen = chance.sample(range(options.objects), min(options.wakes, options.objects))
    for number, index in enumerate(chosen, 1):
        say(f"waking {number} of {len(chosen)}")
        await asyncio.sleep(chance.random() * options.interval)
        began = time.perf_counter()
        await world.redis.lpush(f"q{index}", *range(7))

        async def awake(name: str = f"d{index}") -> bool:
            return await world.replicas(name) > 0

        await until(awake, f"d{index}", 3.0 * options.interval + 30, pause=0.02)
        seconds.append(time.perf_counter() - began)
    return {"wake_s": {"median": median(seconds), "max": round(max(seconds), 2)}}


async def _requests(world: World) -> Counter[str]:
    """Requests that the API server has answered, `resource/subresource verb`, watches left out."""
    page = await world.client.raw(Request(method="GET", path="/metrics"))
    counted: Counter[str] = Counter()
    for labels, value in _COUNTED.findall(page.decode()):
        found = dict(_LABEL.findall(labels))
        if found["resource"] in _OURS and found["verb"] != "WATCH":
            name = "/".join(filter(None, (found["resource"], found.get("subresource", ""))))
            counted[f"{name} {found['verb']}"] += round(float(value))
    return counted


async def _redis_counts(world: World) -> dict[str, int]:
    """Each read is a round trip, or a piece of a long question; Redis 7.0 and newer count them."""
    stats = await world.redis.info("stats")
    return {
        "redis_commands_per_min": int(stats["total_commands_processed"]),
        "redis_reads_per_min": int(stats.get("total_reads_processed", 0)),
    }
