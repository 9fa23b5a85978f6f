"""Many objects of a namespace are due at one instant: few are begun while its requests wait, and all are in the end.

Many objects become ours at one instant: they are taken up a few at a time.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.client import KubeClient, RequestLimits
from keda_py.kube.informers.cache import A_TURN
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import CONFIG_MAPS, DEPLOYMENTS, Obj
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered
from keda_py.operator.sharding.tenures import Tenures
from tests.builders import config_map
from tests.kube.faulty_server import FaultyServer, serving, thing, write_kubeconfig
from tests.waiting import eventually, turns
from tests.worlds.world import NAMESPACE, World

MANY = 300
ASKED = DEPLOYMENTS.named(NAMESPACE, "web")


class Questions(Kind[Remembered]):
    """ConfigMaps, for each of which the API server is asked one thing."""

    new = Remembered

    def __init__(self, client: KubeClient, live: Informer) -> None:
        self._client, self.live = client, live
        self.begun = self.done = 0

    async def reconcile(self, state: Remembered, live: Obj) -> None:
        self.begun += 1
        await self._client.get(ASKED)
        self.done += 1
        state.reconciled.finish(live)

    async def look(self, state: Remembered) -> None:
        raise AssertionError("nothing is polled: no spec is ever set")

    async def finalize(self, state: Remembered, live: Obj) -> None:
        raise AssertionError("nothing is deleted")


async def test_few_begin_while_the_requests_of_their_namespace_wait_and_all_do_once_they_are_answered(
    world: World, tmp_path: Path
) -> None:
    server, answered = FaultyServer(), asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        await answered.wait()
        return web.json_response(thing("web", 1, NAMESPACE))

    server.answer(f"GET {ASKED.path}", slow)
    for number in range(MANY):
        await world.client.create(CONFIG_MAPS, config_map(f"c{number}", NAMESPACE))
    assert world.operator.assembly is not None
    informer = Informer(world.client, InformerSpec(resource=CONFIG_MAPS, namespaces=(NAMESPACE,)))
    async with (
        serving(server),
        KubeClient(
            world.clock, write_kubeconfig(tmp_path / "slow", server.url), limits=RequestLimits(share=2)
        ) as client,
        asyncio.TaskGroup() as tasks,
    ):
        questions = Questions(client, informer)
        parts = replace(world.operator.assembly.parts.shared, client=client)
        controller = Controller(parts, questions, 2 * MANY, Tenures())
        running = [tasks.create_task(informer.run())]
        await informer.wait_synced()
        running.append(tasks.create_task(controller.run()))
        await eventually(lambda: client.is_crowded(NAMESPACE))
        await turns(200)
        assert 0 < questions.begun < MANY / 2
        assert controller.queue.depth >= MANY
        answered.set()
        await eventually(lambda: questions.done >= MANY)
        for task in running:
            task.cancel()


async def test_a_replica_takes_up_its_objects_a_few_in_a_pass_of_the_loop_at_its_start_and_with_each_new_share(
    world: World,
) -> None:
    for number in range(MANY):
        await world.client.create(CONFIG_MAPS, config_map(f"c{number}", NAMESPACE))
    assert world.operator.assembly is not None
    informer = Informer(world.client, InformerSpec(resource=CONFIG_MAPS, namespaces=(NAMESPACE,)))
    share = {"c1", "c2"}
    tenures = Tenures(owns=lambda key: key.rpartition("/")[2] in share)
    steps: list[int] = []

    async def follow(controller: Controller[Remembered]) -> None:
        before = 0
        while True:
            await asyncio.sleep(0)
            steps.append(len(controller.states) - before)
            before = len(controller.states)

    async with asyncio.TaskGroup() as tasks:
        controller = Controller(
            world.operator.assembly.parts.shared, Questions(world.client, informer), 2 * MANY, tenures
        )
        running = [tasks.create_task(informer.run())]
        await informer.wait_synced()
        running += [tasks.create_task(run) for run in (follow(controller), controller.run())]
        await eventually(lambda: set(controller.states) == {ObjectKey("ConfigMap", NAMESPACE, name) for name in share})
        share |= {f"c{number}" for number in range(MANY)}
        tenures.review()
        await eventually(lambda: len(controller.states) >= MANY)
        await turns(2)
        for task in running:
            task.cancel()
    assert 0 < max(steps) <= A_TURN < MANY
