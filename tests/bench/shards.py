"""Shards: several active operators; each one's share, start and idle cost, what a hop costs, and one killed by kill -9.

`--replicas` says how many. The objects are those of `scale`. An answer by a hop is one that the asked replica has from the owner over mutual TLS.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import httpx

from keda_py.core.sharding.share import owner_of
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS
from tests.bench.lab.figures import Row, cpu_seconds, shared_mb
from tests.bench.lab.load import ask
from tests.bench.lab.options import Options, Say
from tests.bench.lab.processes import LOOPBACK, free_port, until
from tests.bench.lab.stand import NAMESPACE, Stand, build_stand_on, start_cluster, start_operator
from tests.bench.serve import QUESTION, direct

SETTLE_SECONDS = 10
CLIENTS = (1, 16)
OBJECTS = 'keda_py_shards_objects{type="scaledobject"}'


async def run(options: Options, say: Say) -> AsyncGenerator[Row, None]:
    """A row for each phase."""
    size: Row = {"objects": options.objects, "interval_s": options.interval}
    async with AsyncExitStack() as stack:
        say(f"{options.replicas} operators")
        crew = await _build_crew(stack, options)
        yield {"phase": "start", **size, **await _measure_start(crew, options, say)}
        yield {"phase": "idle", **size, **await _measure_idle(crew, options, say)}
        yield {"phase": "hop", **size, **await _measure_hop(crew, options, say)}
        yield {"phase": "kill", **size, **await _measure_kill(crew, options, say)}


async def _build_crew(stack: AsyncExitStack, options: Options) -> Sequence[Stand]:
    """One stand, as each of the operators sees it; they have agreed."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keda-py-bench-")))
    kubeconfig = await start_cluster(stack, folder)
    flags = ("--leader-elect=true", f"--shards={options.replicas}", "--enable-cert-rotation=true")
    first = await build_stand_on(stack, folder, options, kubeconfig, kubeconfig, flags)

    async def another() -> Stand:
        port, metrics_port = free_port(), free_port()
        pid = await start_operator(
            stack, folder, kubeconfig, (port, metrics_port), (f"--webhook-port={free_port()}", *flags)
        )
        return replace(first, operator=pid, secure_port=port, metrics_port=metrics_port)

    crew = (first, *await asyncio.gather(*(another() for _ in range(options.replicas - 1))))
    await until(lambda: _agreed(crew), "an agreement")
    return crew


async def _page(stand: Stand) -> Mapping[str, float]:
    """The series of one operator about its share."""
    async with httpx.AsyncClient(trust_env=False, timeout=60.0) as client:
        page = await client.get(f"http://{LOOPBACK}:{stand.metrics_port}/metrics")
    found = (line.rsplit(" ", 1) for line in page.text.splitlines() if line.startswith("keda_py_shards_"))
    return {name: float(value) for name, value in found}


async def _agreed(crew: Sequence[Stand]) -> bool:
    pages = [await _page(stand) for stand in crew]
    return all(
        page.get("keda_py_shards_agreed") == 1 and page.get("keda_py_shards_replicas") == len(crew) for page in pages
    )


async def _owned(crew: Sequence[Stand]) -> list[int]:
    return [int((await _page(stand)).get(OBJECTS, 0)) for stand in crew]


def _cpu(crew: Sequence[Stand]) -> list[float]:
    return [cpu_seconds(stand.operator) for stand in crew]


def _since(crew: Sequence[Stand], used: Sequence[float], digits: int = 2) -> list[float]:
    return [round(now - before, digits) for now, before in zip(_cpu(crew), used, strict=True)]


async def _measure_start(crew: Sequence[Stand], options: Options, say: Say) -> Row:
    stand = crew[0]
    say(f"{options.objects} Deployments")
    await stand.add_deployments(options.objects)
    say(f"{options.objects} ScaledObjects until all are Ready")
    began, used = time.perf_counter(), _cpu(crew)
    await stand.add_scaled_objects(options.objects, options.interval)
    await stand.until_ready(options.objects)
    took = time.perf_counter() - began
    return {"ready_s": round(took, 1), "ready_cpu_s": _since(crew, used), "owned": await _owned(crew)}


async def _measure_idle(crew: Sequence[Stand], options: Options, say: Say) -> Row:
    say(f"idle, {options.steady:g} s")
    await asyncio.sleep(SETTLE_SECONDS)
    began, used = time.perf_counter(), _cpu(crew)
    await asyncio.sleep(options.steady)
    minutes = (time.perf_counter() - began) / 60
    return {
        "idle_cpu_s_per_min": [round(seconds / minutes, 2) for seconds in _since(crew, used, 4)],
        "pss_mb": [round(shared_mb(stand.operator)) for stand in crew],
    }


async def _measure_hop(crew: Sequence[Stand], options: Options, say: Say) -> Row:
    """The same replica is asked for what it owns, and for what another one owns."""
    way, slot = await direct(crew[0]), int((await _page(crew[0]))["keda_py_shards_slot"])
    view = frozenset(range(options.replicas))
    asked: dict[str, list[str]] = {"own": [], "hop": []}
    for name, metric in await crew[0].metric_names():
        owner = owner_of(str(ObjectKey(SCALED_OBJECTS.kind, NAMESPACE, name)), view)
        url = way.url + QUESTION.format(NAMESPACE, metric, name)
        asked["own" if owner == slot else "hop"].append(url)
    rows: dict[str, object] = {}
    for kind, urls in asked.items():
        for clients in CLIENTS:
            say(f"{kind}, {clients} at once")
            used = _cpu(crew)
            load = await ask(urls, way.trust, clients, options.load / 2, crew[0].operator, way.headers)
            each = sum(_since(crew, used, 4)) / len(load.times) * 1e3
            rows[f"{kind}_{clients}"] = {**load.row(), "all_cpu_ms_per_request": round(each, 3)}
    return rows


async def _measure_kill(crew: Sequence[Stand], options: Options, say: Say) -> Row:
    say("kill -9")
    os.kill(crew[-1].operator, signal.SIGKILL)
    began, left = time.perf_counter(), crew[:-1]

    async def all_owned() -> bool:
        return sum(await _owned(left)) == options.objects

    await until(all_owned, "the share of the one that was killed", pause=0.05)
    return {"owned_again_s": round(time.perf_counter() - began, 1)}
