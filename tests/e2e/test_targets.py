"""Everything with a scale subresource can be scaled."""

import asyncio

import pytest

from keda_py.errors import NotFound
from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SCALED_OBJECTS
from tests.builders import box_definition, boxen, metrics_api, scaled_object, workload
from tests.e2e.scene import Scene, has_replicas
from tests.e2e.source import Source
from tests.waiting import PAUSE
from tests.worlds.actor import KINDS


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
async def test_other_workloads_wake_and_sleep(scene: Scene, source: Source, kind: str) -> None:
    source.value = 1
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "app"}
    await scene.create(workload(kind), scaled_object(metrics_api(source.url), scaleTargetRef=target))
    async with scene.watching(KINDS[kind]) as watched:
        await watched.until(has_replicas(1))
        source.value = 0
        await watched.until(has_replicas(0))
        assert watched.replicas() == [0, 1, 0]
    live = await scene.get(SCALED_OBJECTS)
    assert live["status"]["scaleTargetKind"] == f"apps/v1.{kind}"


async def test_a_custom_resource_wakes_and_sleeps(scene: Scene, source: Source) -> None:
    source.value = 1
    group = f"{scene.namespace}.example.com"
    definition = box_definition(group)
    box = {
        "apiVersion": f"{group}/v1",
        "kind": "Box",
        "metadata": {"name": "app", "namespace": scene.namespace},
        "spec": {"size": 0},
    }
    await scene.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    try:
        await scene.kubectl("wait", "--for=condition=Established", f"crd/boxen.{group}", "--timeout=30s")
        await _create(scene, group, box)
        target = {"apiVersion": f"{group}/v1", "kind": "Box", "name": "app"}
        await scene.create(scaled_object(metrics_api(source.url), scaleTargetRef=target))
        async with scene.watching(boxen(group)) as watched:
            await watched.until(lambda live: live["spec"]["size"] == 1)
            source.value = 0
            await watched.until(lambda live: live["spec"]["size"] == 0)
        await scene.delete(SCALED_OBJECTS)
    finally:
        await scene.client.delete(CUSTOM_RESOURCE_DEFINITIONS.named("", f"boxen.{group}"))


async def _create(scene: Scene, group: str, box: dict[str, object]) -> None:
    """An API server may take a moment to serve an established kind."""
    async with asyncio.timeout(240):
        while True:
            try:
                await scene.client.create(boxen(group), box)
            except NotFound:
                await asyncio.sleep(PAUSE)
            else:
                return
