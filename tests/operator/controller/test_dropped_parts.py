"""Parts of a status that an installed CRD drops: who is believed about that, for whom, and for how long."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SCALED_OBJECTS, Obj
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.pruned_fields import BELIEVED_SECONDS
from tests.builders import a_namespace, deployment, metrics_api, scaled_object
from tests.worlds.world import World

DEFINITION = "scaledobjects.keda.sh"
OURS = {"kedaPy": {"reason": "Active", "values": {"s0": "1"}}, "kedaPySavings": {"replicas": 1}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


async def remembered(world: World, name: str, namespace: str) -> Remembered:
    """An object of that namespace, as a controller remembers it that has heard of its creation."""
    live = await world.create(scaled_object(metrics_api("http://127.0.0.1:1/"), name=name), namespace=namespace)
    key = ObjectKey.of(SCALED_OBJECTS.kind, live)
    state = Remembered(resource=SCALED_OBJECTS, key=key, uid=live["metadata"]["uid"])
    state.follow(None, live)
    return state


@pytest.fixture
async def writer(quiet_world: World) -> StatusWriter:
    for name in ("evil", "good", "third"):
        await quiet_world.create(a_namespace(name))
    return StatusWriter(quiet_world.client, quiet_world.clock, timedelta(0))


async def drop(world: World, *parts: str) -> Callable[[], Any]:
    """Install a CRD that does not know these parts; what is returned installs ours again."""
    path = CUSTOM_RESOURCE_DEFINITIONS.named("", DEFINITION)
    ours = await world.client.get(path)
    changed = orjson.loads(orjson.dumps(ours))
    schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for part in parts:
        del schema["properties"]["status"]["properties"][part]
    await world.client.update(path, changed)

    async def mend() -> None:
        live = await world.client.get(path)
        await world.client.update(path, {**live, "spec": ours["spec"]})

    return mend


def told(world: World, name: str, namespace: str) -> Obj:
    status: Obj = world.get(SCALED_OBJECTS, name, namespace).get("status") or {}
    return {part: status[part] for part in OURS if part in status}


async def test_a_tenant_who_removes_our_parts_from_its_own_status_changes_no_other_status(
    quiet_world: World, writer: StatusWriter
) -> None:
    race, web = await remembered(quiet_world, "race", "evil"), await remembered(quiet_world, "web", "good")
    await writer.write(race, OURS)
    for _ in range(3):
        gone = {"kedaPy": None, "kedaPySavings": None}
        path = SCALED_OBJECTS.named("evil", "race", "status")
        await quiet_world.client.patch(path, {"status": gone})
        await writer.write(race, {**READY, "pausedReplicaCount": race.version})  # our watch has not told us yet
    await writer.write(web, OURS)
    assert told(quiet_world, "web", "good") == OURS


async def test_what_the_crd_drops_is_sent_once_for_an_object_and_still_for_others_of_other_namespaces(
    quiet_world: World, writer: StatusWriter
) -> None:
    mend = await drop(quiet_world, *OURS)
    one, other = await remembered(quiet_world, "one", "evil"), await remembered(quiet_world, "other", "good")
    assert await writer.write(one, OURS | READY)
    assert not await writer.write(one, OURS | READY)
    await mend()
    await writer.write(other, OURS)
    assert told(quiet_world, "other", "good") == OURS


async def test_two_namespaces_are_believed_about_their_kind_for_an_hour(
    quiet_world: World, writer: StatusWriter
) -> None:
    mend = await drop(quiet_world, *OURS)
    for name, namespace in (("one", "evil"), ("other", "good")):
        await writer.write(await remembered(quiet_world, name, namespace), OURS | READY)
    third = await remembered(quiet_world, "web", "third")
    assert not await writer.write(third, OURS)
    await mend()
    await quiet_world.seconds(BELIEVED_SECONDS)
    assert await writer.write(third, OURS)
    assert told(quiet_world, "web", "third") == OURS


async def test_a_cluster_whose_crd_is_upgraded_is_told_everything_again_after_an_hour(world: World) -> None:
    mend = await drop(world, *OURS, "kedaPyHistory")
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=30))
    await world.seconds(60)
    await mend()
    await world.seconds(60)
    assert "kedaPy" not in world.status()
    await world.seconds(BELIEVED_SECONDS)
    assert world.status()["kedaPy"]["reason"] == "Active"
    world.jobs(0)
    await world.seconds(60)
    assert {"kedaPySavings", "kedaPyHistory"} < world.status().keys()
