"""Scenarios that KEDA 2.20 and the real HPA controller went through, by the operator on the embedded cluster.

    TRACES=all python -m pytest tests/operator/test_traces.py

plays all of tests/golden/traces.json; without it a few. All are played at once, in one world on virtual time; they are
compared as tests/simulation/traces.py compares the simulated ones.
"""

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from aiohttp import web

from keda_py.clock import Clock
from keda_py.core.hpa.controller import ControllerOptions
from keda_py.kube.resources import DEPLOYMENTS
from keda_py.localkube.cluster import ClusterOptions
from keda_py.localkube.store.subscriptions import Event
from tests.builders import usage, workload
from tests.http_server import Answer, HttpServer
from tests.simulation.traces import SCENARIOS, SECONDS, SYNC_SECONDS, Json, apart, begins_early, recorded_object
from tests.simulation.traces import Path as Counts
from tests.worlds.world import World, open_world

FEW = ("fallback-static", "one-of-two-fails", "pause-and-go-on", "value-type", "cron-two-minutes")
PLAYED = tuple(SCENARIOS) if os.environ.get("TRACES") == "all" else FEW
RECORDED = ClusterOptions(
    # The real controller queues an HPA anew when its sync is over: the recorded periods are a little over 5 s.
    hpa_sync_seconds=SYNC_SECONDS + 0.01,
    hpa=ControllerOptions(downscale_stabilization=timedelta(seconds=10)),
)
EARLY = 30.0


def source(scenario: Json, index: int, clock: Clock, origin: datetime) -> Answer:
    trace = scenario["traces"][index]

    async def answer(_: web.Request) -> web.Response:
        at = (clock.now() - origin).total_seconds()
        value = next((value for when, value in reversed(trace) if when <= at), trace[0][1])
        return web.Response(status=500) if value == "500" else web.json_response({"v": value, "w": value})

    return answer


async def prepare(world: World, name: str, origin: datetime, scenario: Json) -> None:
    """Its source and its workload, whose pods are ready before it begins."""
    for index in range(len(scenario["traces"])):
        world.server.answers[f"/{name}/{index}"] = source(scenario, index, world.clock, origin)
    pods = usage(startup_seconds=str(max(scenario["readyAfter"], 0.1)))
    await world.create(workload("Deployment", name, scenario["startReplicas"], annotations=pods))


def written(world: World, name: str, scenario: Json, origin: datetime) -> Json:
    return recorded_object(name, scenario["annotations"], url=world.server.url, origin=origin, scenario=scenario)


async def play(world: World, scenarios: Mapping[str, Json]) -> Mapping[str, Counts]:
    """The counts that were asked for, by scenario, from second 0 on."""
    origin = world.clock.now() + timedelta(seconds=60)
    counts: dict[str, list[tuple[float, int]]] = {}

    def note(event: Event) -> None:
        if event.resource.plural == DEPLOYMENTS.plural and event.name in counts:
            path, replicas = counts[event.name], event.object["spec"]["replicas"]
            if path[-1][1] != replicas:
                path.append(((world.clock.now() - origin).total_seconds(), replicas))

    for name in scenarios:
        await prepare(world, name, origin, scenarios[name])
    await world.seconds(60 - EARLY)
    early = [name for name in scenarios if begins_early(scenarios[name])]
    for name in early:
        await world.create(written(world, name, scenarios[name], origin))
    await world.seconds(EARLY)
    counts |= {name: [(0.0, world.replicas(name))] for name in scenarios}
    world.listen(note)
    for name in scenarios:
        if name not in early:
            await world.create(written(world, name, scenarios[name], origin))
    edits = sorted((at, name, change) for name in scenarios for at, change in scenarios[name]["edits"])
    for at, name, change in [*edits, (float(SECONDS), "", {})]:
        await world.seconds((origin - world.clock.now()).total_seconds() + at)
        if name:
            await world.annotate(change, name)
    return counts


async def test_the_operator_scales_as_was_recorded(tmp_path: Path, server: HttpServer) -> None:
    async with open_world(tmp_path, server, options=RECORDED) as world:
        await world.operator.start()
        counts = await play(world, {name: SCENARIOS[name] for name in PLAYED})
    different = {name: path for name, path in counts.items() if apart(name, path) > 1.0}
    assert different == {}
