"""Owners that want something else while a write about their slices is on its way: requests find a waker all the same."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from keda_py.core.waking.rules import REQUEST_ANNOTATION
from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.localkube.model.calls import ApiAnswer, Call
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, environment
from tests.faults.faulty import FaultyApi, Serve, serve_faulty
from tests.operator.environments.builders import LUNCH, status, until
from tests.operator.waking.stand_in import SERVICE, our_slices, service, two_wakers
from tests.waiting import eventually
from tests.worlds.world import World


@dataclass
class Hold:
    """A fault that holds the first call of a kind until it is told to go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, call: Call, serve: Serve) -> ApiAnswer:
        self.reached.set()
        await self.go_on.wait()
        return await serve(call)


@pytest.fixture
async def api(quiet_world: World) -> AsyncIterator[FaultyApi]:
    """The API server as the operator sees it; the operator is not started yet."""
    async with serve_faulty(quiet_world.cluster) as (api, url):
        quiet_world.operator.api_server = url
        quiet_world.operator.flags["waker-service"] = SERVICE
        yield api


def refusals(world: World) -> list[str]:
    """Moments from now on at which the Service leads neither to a pod nor to a waker."""
    found: list[str] = []

    def hear(event: Event) -> None:
        shown = [one for one in our_slices(world) if one.get("endpoints")]
        if world.replicas("web") == 0 and not shown:
            found.append(f"after {event.type} of {event.resource.kind} {event.name}")

    world.listen(hear)
    return found


async def test_a_leader_that_takes_over_with_a_request_keeps_the_slices_of_what_sleeps(
    quiet_world: World, api: FaultyApi
) -> None:
    """The report of the request is read first: the Environment says what it wants while its Override is created."""
    world = quiet_world
    async with two_wakers(world):
        async with world.operator.running():
            await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
            await until(world, 20, "12:06")
        found = refusals(world)
        report = json.dumps({"namespace": "default", "service": "web", "client": "10.1.2.3"})
        await world.patch(ENDPOINT_SLICES, {"metadata": {"annotations": {REQUEST_ANNOTATION: report}}}, slice_name())
        await world.create(deployment("late", 0))
        creation = Hold()
        with api.failing(creation, lambda call: call.method == "POST" and "overrides" in call.path):
            async with world.operator.running():
                await creation.reached.wait()
                await eventually(lambda: status(world)["membersTotal"] == 2)
                creation.go_on.set()
                await eventually(lambda: world.replicas("web") == 2)
        assert found == []


def slice_name() -> str:
    return "web-keda-py-waker"
