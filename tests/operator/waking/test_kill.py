"""Killed at any write of slices, counts or status, the next leader goes on, and no pod is stopped before it may be."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from keda_py.core.waking.rules import REQUEST_ANNOTATION
from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.localkube.store.subscriptions import Event
from tests.builders import a_namespace, deployment, environment, scaled_object
from tests.http_server import HttpServer
from tests.operator.environments.builders import LUNCH, status, until
from tests.operator.environments.killing import Kills
from tests.operator.waking.stand_in import (
    NAMESPACE,
    SERVICE,
    StandInWaker,
    our_slices,
    service,
    waker_address,
    waker_slice,
)
from tests.worlds.world import World


class Wakers:
    """Two wakers of each world, which outlive its operators."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self.pods: list[StandInWaker] = []
        self._following: list[asyncio.Task[None]] = []

    async def add(self, world: World) -> None:
        await self.leave()
        self.pods = [StandInWaker(f"waker-{n}", waker_address(n)) for n in (1, 2)]
        await world.apply(a_namespace(NAMESPACE), waker_slice(self.pods))
        self._following = [await one.start(world.client, self._tasks) for one in self.pods]

    async def leave(self) -> None:
        for one, following in zip(self.pods, self._following, strict=True):
            one.close()
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        self.pods, self._following = [], []


@pytest.fixture
async def kills(tmp_path: Path, server: HttpServer) -> AsyncIterator[Kills]:
    async with asyncio.TaskGroup() as tasks:
        found = Kills(tmp_path, server, tasks)
        found.flags = {"waker-service": SERVICE}
        yield found


def stopped_too_early(world: World) -> list[str]:
    """Writes from now on that stop pods while their Service leads to no waker."""
    told: list[str] = []

    def hear(event: Event) -> None:
        if event.resource.kind == "Deployment" and (event.previous or {}).get("spec") != event.object["spec"]:
            shown = [one for one in our_slices(world) if one.get("endpoints")]
            if event.object["spec"]["replicas"] == 0 and not shown:
                told.append(f"{event.name} at {world.clock.now()}")

    world.listen(hear)
    return told


async def test_while_it_falls_asleep_and_wakes(kills: Kills) -> None:
    wakers = Wakers(kills.tasks)
    early: list[list[str]] = []

    async def before(world: World) -> None:
        await wakers.add(world)
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:03")
        early.append(stopped_too_early(world))

    async def during(world: World) -> None:
        await until(world, 20, "12:06")
        await until(world, 20, "12:11")
        await world.seconds(30)

    async def after(world: World) -> None:
        await world.seconds(60)
        assert early[-1] == []
        assert (world.replicas("web"), status(world)["phase"]) == (2, "Awake")
        assert our_slices(world) == []
        await wakers.leave()

    try:
        assert await kills(before, during, after) > 8
    finally:
        await wakers.leave()


async def ask(world: World) -> None:
    """Ask for a wake as a waker does that cannot call the operator; without a slice there is nothing to hold."""
    for live in our_slices(world):
        report = json.dumps({"namespace": "default", "service": "web", "client": "10.1.2.3"})
        change = {"metadata": {"annotations": {REQUEST_ANNOTATION: report}}}
        await world.patch(ENDPOINT_SLICES, change, live["metadata"]["name"])


async def test_while_a_scaled_object_goes_to_zero_and_a_request_wakes_it(kills: Kills) -> None:
    wakers = Wakers(kills.tasks)
    early: list[list[str]] = []

    async def before(world: World) -> None:
        await wakers.add(world)
        await world.create(deployment("web", 1), service())
        await world.seconds(5)
        early.append(stopped_too_early(world))

    async def during(world: World) -> None:
        trigger = {"type": "request", "metadata": {"activeFor": "10m"}}
        await world.create(scaled_object(trigger, name="web"))
        await world.seconds(30)
        await ask(world)
        await world.seconds(30)

    async def after(world: World) -> None:
        await world.seconds(60)
        if not world.replicas("web"):
            await ask(world)
            await world.seconds(30)
        assert early[-1] == []
        assert world.replicas("web") == 1
        assert our_slices(world) == []
        await wakers.leave()

    try:
        assert await kills(before, during, after) > 8
    finally:
        await wakers.leave()
