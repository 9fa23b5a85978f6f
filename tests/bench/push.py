"""Push: from work at its source to the scale patch of a workload at zero, for each type that does not wait for a poll.

The next poll is minutes away, so that it wakes none. A type whose server is not installed, or which is only polled, is
left out by name.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator

from _pytest.outcomes import Skipped

from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import DEPLOYMENTS, NAMESPACES, SCALED_OBJECTS, Obj
from keda_py.sdk.type_pages import page_of
from tests.bench.lab.figures import Row, median
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import until
from tests.bench.lab.pushing import OPEN, Pushing
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand
from tests.builders import a_namespace, bare_scaled_object, deployment

OBJECTS = 10
INTERVAL = 600
CALM_SECONDS = 3.0
"""Until every stream is open."""
BETWEEN_SECONDS = 1.5
WAIT_SECONDS = 30.0


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """Median and longest of ten, by type."""
    rows: dict[str, object] = {}
    for kind in OPEN:
        page = page_of(kind)
        if not (page.pushes or page.at_zero):
            rows[kind] = "is polled"
            continue
        say(kind)
        async with build_stand(options) as stand:
            await stand.client.create(NAMESPACES, a_namespace(NAMESPACE))
            try:
                async with OPEN[kind](stand, OBJECTS) as source:
                    rows[kind] = await _measure(stand, source)
            except Skipped as missing:
                rows[kind] = str(missing)
    yield {"interval_s": INTERVAL, "wake_s": rows}


async def _measure(stand: Stand, source: Pushing) -> Row:
    woken: dict[str, asyncio.Event] = {f"d{number}": asyncio.Event() for number in range(OBJECTS)}

    def on_change(_: Obj | None, new: Obj | None) -> None:
        if new is not None and new["spec"].get("replicas"):
            woken[new["metadata"]["name"]].set()

    deployments = Informer(stand.client, InformerSpec(resource=DEPLOYMENTS, namespaces=(NAMESPACE,)))
    deployments.subscribe(on_change)
    seconds, chance = [], random.Random(1)
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(deployments.run())
        await _sleeping(stand, source)
        for number in range(OBJECTS):
            await asyncio.sleep(chance.random() * BETWEEN_SECONDS)
            began = time.perf_counter()
            await source.work(number)
            async with asyncio.timeout(WAIT_SECONDS):
                await woken[f"d{number}"].wait()
            seconds.append(time.perf_counter() - began)
        following.cancel()
    return {"median": median(seconds, 3), "max": round(max(seconds), 3)}


async def _sleeping(stand: Stand, source: Pushing) -> None:
    """All objects stand, and have been found idle."""
    for number in range(OBJECTS):
        await stand.client.create(DEPLOYMENTS, deployment(f"d{number}", namespace=NAMESPACE))
        spec: Obj = {"minReplicaCount": 0, "pollingInterval": INTERVAL, "cooldownPeriod": INTERVAL}
        body = bare_scaled_object(source.trigger(number), name=f"d{number}", namespace=NAMESPACE, **spec)
        await stand.client.create(SCALED_OBJECTS, body)

    async def idle() -> bool:
        found = await stand.client.list(SCALED_OBJECTS, NAMESPACE)
        return sum(map(_is_inactive, found)) == OBJECTS

    await until(idle, f"{OBJECTS} ScaledObjects")
    await asyncio.sleep(CALM_SECONDS)


def _is_inactive(live: Obj) -> bool:
    conditions = live.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Active", "False") for one in conditions)
