"""Soak: churn, sources that fail at random and an API server that goes away each 5 minutes; memory, and who is right.

At the end all faults are over: every object whose list is filled has to be up, every other one down. The operator
reaches the API server and Redis through ports of the bench, which can be away.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from keda_py.errors import AlreadyExists, NotFound
from keda_py.kube.resources import DEPLOYMENTS, NAMESPACES, SCALED_OBJECTS, Obj
from tests.bench.lab.chart import draw_over_time
from tests.bench.lab.figures import Row, cpu_seconds, handles, shared_mb
from tests.bench.lab.forwarder import Forwarder
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK, until
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand_on, each, is_ready, start_cluster
from tests.builders import a_namespace, deployment

CHURN_RATE = 10
"""Changes a second."""
AWAY_EVERY, AWAY_SECONDS = 300.0, 15.0
"""The API server."""
FAIL_EVERY, FAIL_SECONDS = 40.0, 10.0
"""The source of every other object, at random moments so far apart."""
SAMPLE_SECONDS, RETRY_SECONDS = 10.0, 0.2
RIGHT_SECONDS = 300.0
CHART = "soak.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """The stand, its ports that can be away, what was last asked for, and samples of (minutes, MiB, handles)."""

    stand: Stand
    options: Options
    api: Forwarder
    source: Forwarder
    filled: set[int] = field(default_factory=set)
    samples: list[tuple[float, float, int]] = field(default_factory=list)

    def trigger(self, index: int) -> Obj:
        port = self.source.port if index % 2 else self.stand.redis_port
        return self.stand.list_trigger(index, port)


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """One row for the time of faults, one for what is left."""
    async with AsyncExitStack() as stack:
        lab = await _build(stack, options)
        await _fill(lab, say)
        used = cpu_seconds(lab.stand.operator)
        await _disturb(lab, say)
        yield {
            "phase": "faults",
            "objects": options.objects,
            "minutes": options.minutes,
            "cpu_s_per_min": round((cpu_seconds(lab.stand.operator) - used) / options.minutes, 2),
            **_growth(lab),
        }
        yield {"phase": "after", **await _settle(lab, say)}
        path = options.pictures / CHART
        lines = {"resident": [(minute, mb) for minute, mb, _ in lab.samples]}
        draw_over_time(path, f"memory of the operator, {options.objects} objects under churn and faults", "MiB", lines)


async def _build(stack: AsyncExitStack, options: Options) -> Lab:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
    kubeconfig = options.kubeconfig or await start_cluster(stack, folder)
    config = yaml.safe_load(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    api = await stack.enter_async_context(Forwarder(urlsplit(cluster["server"]).port or 443))
    cluster["server"] = f"https://{LOOPBACK}:{api.port}"
    through = folder / "kubeconfig-through-forwarder"
    through.write_text(yaml.safe_dump(config))
    stand = await build_stand_on(stack, folder, options, kubeconfig, through)
    source = await stack.enter_async_context(Forwarder(stand.redis_port))
    return Lab(stand=stand, options=options, api=api, source=source)


async def _fill(lab: Lab, say: Say) -> None:
    stand, count = lab.stand, lab.options.objects
    say(f"{count} objects until all are Ready")
    await stand.client.create(NAMESPACES, a_namespace(NAMESPACE))
    await each(count, lambda i: stand.client.create(DEPLOYMENTS, deployment(f"d{i}", namespace=NAMESPACE)))
    await each(count, lambda i: stand.add_scaled_object(i, lab.options.interval, lab.trigger(i)))
    await stand.until_ready(count)


async def _disturb(lab: Lab, say: Say) -> None:
    """All disturbances at once, for the minutes asked for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(lab.options.minutes * 60), asyncio.TaskGroup() as tasks:
            for work in (_churn, _lose_api, _fail_source):
                tasks.create_task(work(lab))
            tasks.create_task(_sample(lab, say))


async def _churn(lab: Lab) -> None:
    """A list filled, a list emptied, or an object deleted and made again."""
    chance = random.Random(4)
    async with asyncio.TaskGroup() as tasks:
        while True:
            work = chance.choice((_fill_list, _empty_list, _make_again))
            tasks.create_task(work(lab, chance.randrange(lab.options.objects)))
            await asyncio.sleep(1 / CHURN_RATE)


async def _fill_list(lab: Lab, index: int) -> None:
    lab.filled.add(index)
    await lab.stand.redis.lpush(f"q{index}", 1, 2, 3)


async def _empty_list(lab: Lab, index: int) -> None:
    lab.filled.discard(index)
    await lab.stand.redis.delete(f"q{index}")


async def _make_again(lab: Lab, index: int) -> None:
    """It is there again as soon as the operator has let go of it."""
    with suppress(NotFound):  # another round of the churn has deleted it, too
        await lab.stand.client.delete(SCALED_OBJECTS.named(NAMESPACE, f"d{index}"))
    await _restore(lab, index)


async def _lose_api(lab: Lab) -> None:
    while True:
        await asyncio.sleep(AWAY_EVERY)
        async with lab.api.away():
            await asyncio.sleep(AWAY_SECONDS)


async def _fail_source(lab: Lab) -> None:
    chance = random.Random(5)
    while True:
        await asyncio.sleep(FAIL_EVERY * 2 * chance.random())
        async with lab.source.away():
            await asyncio.sleep(FAIL_SECONDS * 2 * chance.random())


async def _sample(lab: Lab, say: Say) -> None:
    began = time.perf_counter()
    while True:
        minutes = (time.perf_counter() - began) / 60
        lab.samples.append((minutes, shared_mb(lab.stand.operator), handles(lab.stand.operator)))
        say(f"minute {minutes:.1f} of {lab.options.minutes:g}: {lab.samples[-1][1]:.0f} MiB")
        await asyncio.sleep(SAMPLE_SECONDS)


def _growth(lab: Lab) -> Row:
    """The second fifth of the time beside the last."""
    fifth = max(1, len(lab.samples) // 5)
    early, last = lab.samples[fifth : 2 * fifth] or lab.samples, lab.samples[-fifth:]
    then, now = (sum(mb for _, mb, _ in part) / len(part) for part in (early, last))
    return {
        "pss_mb": {"early": round(then, 1), "last": round(now, 1), "growth_percent": round((now / then - 1) * 100, 1)},
        "handles": {"first": lab.samples[0][2], "most": max(one for _, _, one in lab.samples)},
    }


async def _settle(lab: Lab, say: Say) -> Row:
    """How long until every object is right, and how many never were."""
    say("until every object is right")
    stand, count = lab.stand, lab.options.objects
    await each(count, lambda i: _restore(lab, i))
    began, wrong = time.perf_counter(), list[str]()

    async def all_right() -> bool:
        wrong[:] = await _wrong(lab)
        return not wrong

    with suppress(RuntimeError):
        await until(all_right, "every object", RIGHT_SECONDS, pause=1.0)
    return {
        "right_s": round(time.perf_counter() - began, 1),
        "wrong": len(wrong),
        "for_example": wrong[:5],
        "pss_mb": round(shared_mb(stand.operator), 1),
        "handles": handles(stand.operator),
    }


async def _restore(lab: Lab, index: int) -> None:
    """Once it is there, and not about to go."""
    path = SCALED_OBJECTS.named(NAMESPACE, f"d{index}")
    while True:
        with suppress(AlreadyExists):
            return await lab.stand.add_scaled_object(index, lab.options.interval, lab.trigger(index))
        with suppress(NotFound):
            if "deletionTimestamp" not in (await lab.stand.client.get(path))["metadata"]:
                return None
        await asyncio.sleep(RETRY_SECONDS)


async def _wrong(lab: Lab) -> list[str]:
    objects = {one["metadata"]["name"]: one for one in await lab.stand.client.list(SCALED_OBJECTS, NAMESPACE)}
    found = []
    for live in await lab.stand.client.list(DEPLOYMENTS, NAMESPACE):
        name, up = live["metadata"]["name"], live["spec"].get("replicas", 0) > 0
        if up != (int(name.removeprefix("d")) in lab.filled) or name not in objects or not is_ready(objects[name]):
            found.append(name)
    return found
