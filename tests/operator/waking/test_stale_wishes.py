"""Owners that want something else while a write about their slices is on its way: requests find a waker all the same."""

import asyncio
import json

import pytest

from keda_py.core.waking.rules import LABEL, REQUEST_ANNOTATION, WakeState, read_rules
from keda_py.kube.resources import ENDPOINT_SLICES
from keda_py.localkube.model.calls import Call
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, environment, override
from tests.faults.faulty import Concerned, FaultyApi, Hold, refuses
from tests.operator.environments.builders import LUNCH, condition, status, until
from tests.operator.waking.stand_in import our_slices, service, two_wakers, waker_slice
from tests.servers import free_port
from tests.waiting import eventually
from tests.worlds.world import World


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


ASLEEP = {"kind": "Environment", "name": "dev"}


def counts_pods(call: Call) -> bool:
    """Whether the operator looks if pods take the requests of a Service, before its slice goes."""
    return call.method == "GET" and f"!{LABEL}" in str(call.query.get("labelSelector"))


def deletes_slice(call: Call) -> bool:
    return call.method == "DELETE" and "endpointslices" in call.path


def changes_slice(call: Call) -> bool:
    return call.method == "PUT" and "endpointslices" in call.path


def sleeps_or_waits(world: World) -> bool:
    """Whether the pods are stopped, or are said to wait for wakers."""
    return world.replicas("web") == 0 or condition(world, "Asleep")[1] == "WakersPending"


@pytest.mark.parametrize("concerned", [counts_pods, deletes_slice])
async def test_what_is_put_to_sleep_while_its_slice_is_about_to_go_has_one_when_it_sleeps(
    quiet_world: World, api: FaultyApi, concerned: Concerned
) -> None:
    world = quiet_world
    async with two_wakers(world), world.operator.running(), asyncio.TaskGroup() as tasks:
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:09")
        found, removal = refusals(world), Hold(late=concerned is counts_pods)
        with api.failing(removal, concerned):
            passing = tasks.create_task(until(world, 20, "12:12"))
            await removal.reached.wait()
            assert status(world)["phase"] == "Awake"
            await world.create(override(state="Asleep", target=ASLEEP))
            await eventually(lambda: sleeps_or_waits(world))
            removal.go_on.set()
            await passing
        assert (world.replicas("web"), found) == (0, [])


async def test_a_slice_says_that_requests_wake_before_the_first_pod_stops(quiet_world: World, api: FaultyApi) -> None:
    """One that still forwards, after an earlier wake, makes wakers pass requests on to pods that are gone."""
    world, states = quiet_world, list[WakeState]()

    def hear(event: Event) -> None:
        if event.resource.kind == "Deployment" and (event.previous or {}).get("spec") != event.object["spec"]:
            states.extend(read_rules(one["metadata"]["annotations"][LABEL]).state for one in our_slices(world))

    async with two_wakers(world), world.operator.running(), asyncio.TaskGroup() as tasks:
        await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
        await until(world, 20, "12:10")
        await world.seconds(4)
        assert [read_rules(one["metadata"]["annotations"][LABEL]).state for one in our_slices(world)] == [
            WakeState.FORWARDING
        ]
        change = Hold()
        world.listen(hear)
        with api.failing(change, changes_slice):
            await world.create(override(state="Asleep", target=ASLEEP))
            await change.reached.wait()
            passing = tasks.create_task(world.seconds(30))
            await eventually(lambda: sleeps_or_waits(world))
            change.go_on.set()
            await passing
        assert world.replicas("web") == 0
        assert states == [WakeState.ASLEEP]


async def test_a_write_that_failed_one_night_does_not_shorten_the_wait_of_the_next(
    quiet_world: World, api: FaultyApi
) -> None:
    world = quiet_world
    async with two_wakers(world), world.operator.running():
        with api.failing(
            refuses(403, "Forbidden"), lambda call: call.method == "POST" and "endpointslices" in call.path
        ):
            await world.create(deployment("web", 2), service(), environment(calendar=LUNCH, wakeOnRequest={}))
            await until(world, 20, "12:06")
            assert (world.replicas("web"), our_slices(world)) == (0, [])
            await until(world, 20, "12:12")
        assert world.replicas("web") == 2
        found = refusals(world)
        await world.create(override(state="Asleep", target=ASLEEP))
        await world.seconds(30)
        assert (world.replicas("web"), found) == (0, [])


async def test_a_waker_that_leaves_is_taken_out_while_a_probe_through_the_service_waits_for_a_pod(
    quiet_world: World, api: FaultyApi
) -> None:
    """A server of HTTP reads on after the probe's line, and says nothing."""
    world, opened, probes, at_removal = quiet_world, asyncio.Event(), set[asyncio.StreamWriter](), list[int]()

    async def read_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        probes.add(writer)
        opened.set()
        await reader.read()
        probes.discard(writer)
        writer.close()

    def hear(event: Event) -> None:
        if event.name == slice_name() and len(event.object["endpoints"]) == 1:
            at_removal.append(len(probes))

    async with (
        await asyncio.start_server(read_on, "127.96.0.10", free_port()) as pod,
        two_wakers(world) as wakers,
        world.operator.running(),
        asyncio.TaskGroup() as tasks,
    ):
        ports = [{"name": "http", "port": pod.sockets[0].getsockname()[1], "targetPort": 8000}]
        await world.create(deployment("web", 2), service(ports=ports), environment(wakeOnRequest={}))
        await world.seconds(5)
        await world.create(override(state="Asleep", target=ASLEEP))
        passing = tasks.create_task(world.seconds(2))
        await eventually(opened.is_set)
        world.listen(hear)
        await world.apply(waker_slice(wakers[:1]))
        await eventually(lambda: at_removal)
        assert at_removal == [1]
        pod.close()
        for writer in tuple(probes):
            writer.transport.abort()
        await passing
