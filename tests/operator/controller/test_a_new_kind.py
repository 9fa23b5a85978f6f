"""A kind of its own, in what `operator/controller/kind.py` asks for: queue, workers, retries, memory and finalizer are
there."""

import asyncio

from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import CONFIG_MAPS, Obj
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.finalizer import FINALIZER, ensure_finalizer, remove_finalizer
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.sharding.tenures import Tenures
from tests.builders import deployment, metrics_api, scaled_object
from tests.worlds.world import NAMESPACE, World


class Greetings(Kind[Remembered]):
    """ConfigMaps with the label `greet`: each gets a greeting by that name, and is let go with its finalizer."""

    new = Remembered

    def __init__(self, client: KubeClient, live: Informer) -> None:
        self._client, self.live = client, live

    async def reconcile(self, state: Remembered, live: Obj) -> None:
        name = live["metadata"].get("labels", {}).get("greet")
        if name is None:
            raise StepError("no label greet", ConfigError("set the label greet"))
        await ensure_finalizer(self._client, CONFIG_MAPS, live)
        await self._client.patch(
            CONFIG_MAPS.named(state.key.namespace, state.key.name), {"data": {"said": f"hello {name}"}}
        )
        state.reconciled.finish(live)

    async def look(self, state: Remembered) -> None:
        raise AssertionError("nothing is polled: no spec is ever set")

    async def finalize(self, state: Remembered, live: Obj) -> None:
        await remove_finalizer(self._client, CONFIG_MAPS, live)


def greeting(**labels: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "app", "namespace": NAMESPACE, "labels": labels},
    }


async def test_a_kind_is_a_memory_and_three_verbs(world: World) -> None:
    assert world.operator.assembly is not None
    informer = Informer(world.client, InformerSpec(resource=CONFIG_MAPS))
    controller = Controller(world.operator.assembly.parts.shared, Greetings(world.client, informer), 1, Tenures())
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(informer.run()), tasks.create_task(controller.run())]
        try:
            await informer.wait_synced()
            await _live(world)
        finally:
            for task in running:
                task.cancel()
    assert ObjectKey("ConfigMap", NAMESPACE, "app") not in controller.states


def greetings(shared: Dependencies, tenures: Tenures) -> Component:
    """The package of the kind: what an operator has to be told of it."""
    informer = Informer(shared.client, InformerSpec(resource=CONFIG_MAPS, namespaces=(NAMESPACE,)))
    controller = Controller(shared, Greetings(shared.client, informer), 1, tenures)

    async def work() -> None:
        await informer.wait_synced()
        await controller.run()

    return Component(background=(informer.run,), share=(work,), controllers=(controller,))


async def test_a_package_of_another_kind_runs_in_the_operator_beside_its_own(world: World) -> None:
    await world.operator.stop()
    world.operator.packages = (greetings,)
    await world.operator.start()
    await _live(world)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    world.jobs(1)
    await world.seconds(40)
    assert world.replicas("app") == 1


async def _live(world: World) -> None:
    """Created wrong, mended, deleted."""
    await world.client.create(CONFIG_MAPS, greeting())
    await world.seconds(1)
    assert "data" not in world.get(CONFIG_MAPS), "what its user has to mend waits for that"
    await world.patch(CONFIG_MAPS, {"metadata": {"labels": {"greet": "world"}}})
    await world.seconds(1)
    assert world.get(CONFIG_MAPS)["data"] == {"said": "hello world"}
    assert world.get(CONFIG_MAPS)["metadata"]["finalizers"] == [FINALIZER]
    await world.delete(CONFIG_MAPS)
    await world.seconds(1)
    assert world.find(CONFIG_MAPS) is None
