"""Reconciles take turns: no namespace holds up another, whether it has much to do or waits for sources that hang."""

import asyncio
from contextlib import AsyncExitStack, closing

from keda_py.answers.fairness import TenantPlaces
from keda_py.kube.resources import NAMESPACES, SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.controller.workers import Workers
from keda_py.telemetry.prometheus import OperatorMetrics
from tests.builders import a_namespace, deployment, metrics_api, scaled_object
from tests.e2e.scene import has_condition
from tests.waiting import turns
from tests.worlds.world import World

COUNT = 2
SECONDS = 20.0
"""At most until a new object is ready; the sources hang for much longer."""


def workers() -> Workers:
    return Workers(OperatorMetrics().process, "scaledobject", COUNT)


async def test_a_namespace_with_much_to_do_is_waited_for_by_turns() -> None:
    turns, some, order = workers(), asyncio.Event(), list[str]()

    async def reconcile(namespace: str) -> None:
        async with turns.one(namespace):
            order.append(namespace)
            await some.wait()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(50):
            tasks.create_task(reconcile("busy"))
        await asyncio.sleep(0)
        tasks.create_task(reconcile("new"))
        await asyncio.sleep(0)
        assert order == ["busy"] * COUNT
        some.set()
    assert order.index("new") <= 2 * COUNT


async def test_whoever_waits_for_a_source_leaves_the_worker_to_others_and_takes_it_again() -> None:
    turns, answer, order = workers(), asyncio.Event(), list[str]()

    async def wait(namespace: str) -> None:
        async with turns.one(namespace) as without_worker:
            async with without_worker():
                await answer.wait()
            order.append("answered")

    async with asyncio.TaskGroup() as tasks:
        for namespace in ("a", "b", "c"):
            for _ in range(3):
                tasks.create_task(wait(namespace))
        await asyncio.sleep(0)
        async with asyncio.timeout(SECONDS), AsyncExitStack() as stack:
            for _ in range(COUNT):
                await stack.enter_async_context(turns.one("new"))
            answer.set()
            await asyncio.sleep(0)
            assert order == []
    assert order == ["answered"] * 9


async def test_a_reconcile_that_is_cancelled_or_fails_gives_back_what_it_had() -> None:
    turns, never = workers(), asyncio.Event()

    async def wait(*, away: bool) -> None:
        async with turns.one("a") as without_worker:
            if not away:
                await never.wait()
            async with without_worker():
                await never.wait()

    for away in (True, False):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(wait(away=away)) for _ in range(2 * COUNT)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
        assert all(task.cancelled() for task in tasks)
    async with asyncio.timeout(SECONDS), turns.one("a"), turns.one("a"):
        pass


async def test_a_place_is_waited_for_in_its_own_namespace_alone_and_whoever_waited_knows() -> None:
    places, over, waited = TenantPlaces(COUNT), asyncio.Event(), list[tuple[str, bool]]()

    async def have(namespace: str) -> None:
        async with places.one(namespace) as had_to_wait:
            waited.append((namespace, had_to_wait))
            await over.wait()

    async with asyncio.TaskGroup() as tasks:
        for namespace in ("busy", "busy", "busy", "other"):
            tasks.create_task(have(namespace))
        await turns(5)
        assert waited == [("busy", False), ("busy", False), ("other", False)]
        over.set()
    assert waited[-1] == ("busy", True)
    async with places.one("busy") as had_to_wait:
        assert not had_to_wait


async def test_an_object_is_ready_while_the_sources_of_another_namespace_hang(quiet_world: World) -> None:
    world, connected, ready, over = quiet_world, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            connected.set()
            await over.wait()

    def hear(event: Event) -> None:
        is_app = (event.resource.plural, event.name) == (SCALED_OBJECTS.plural, "app")
        if is_app and has_condition("Ready", "True")(event.object):
            ready.set()

    world.operator.source_seconds = 10 * SECONDS
    await world.operator.start()
    world.listen(hear)
    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await world.client.create(NAMESPACES, a_namespace("other"))
        for number in range(10):
            redis = {"address": f"127.0.0.1:{port}", "listName": "jobs", "databaseIndex": str(number)}
            bodies = [deployment(f"n{number}"), scaled_object({"type": "redis", "metadata": redis}, name=f"n{number}")]
            for body in bodies:
                body["metadata"]["namespace"] = "other"
            await world.create(*bodies)
        async with asyncio.timeout(SECONDS):
            await connected.wait()
            await world.create(deployment(), scaled_object(metrics_api(world.url)))
            await ready.wait()
        await world.operator.stop()
        over.set()
