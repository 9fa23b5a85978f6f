"""Who owns which HPA, and what becomes of it all when objects, targets or whole namespaces go."""

import asyncio
import time

import pytest

from keda_py.errors import KubeError
from keda_py.kube.resources import DEPLOYMENTS, EVENTS, HORIZONTAL_POD_AUTOSCALERS, NAMESPACES, SCALED_OBJECTS, Obj
from tests.builders import a_namespace, hpa
from tests.parity.source import Source
from tests.parity.world import Counts, guarded_operator, two_containers, unhurried, writes
from tests.sweeps import size
from tests.worlds.world import World

HPA = "keda-hpa-so"
MANY = size(100, 20)


def named(name: str) -> Obj:
    return {"horizontalPodAutoscalerConfig": {"name": name}}


def foreign_hpa(name: str) -> Obj:
    theirs = hpa(name, "t")
    theirs["metadata"]["labels"] = {"team": "theirs"}
    return theirs


def hpas(world: World) -> list[str]:
    return [hpa["metadata"]["name"] for hpa in world.all(HORIZONTAL_POD_AUTOSCALERS)]


async def test_an_autoscaler_is_taken_over_where_the_annotation_asks_for_it(world: World, source: Source) -> None:
    annotations = {"scaledobject.keda.sh/transfer-hpa-ownership": "true"}
    wanted = unhurried(source.trigger(), annotations=annotations, advanced=named("mine"))
    async with world.operator.running():
        await world.create(two_containers(), foreign_hpa("mine"))
        before = world.hpa("mine")["metadata"]["uid"]
        await world.create(wanted)
        await world.seconds(10)
        hpa = world.hpa("mine")
        assert (hpas(world), hpa["metadata"]["uid"]) == (["mine"], before)
        assert [owner["name"] for owner in hpa["metadata"]["ownerReferences"]] == ["so"]
        assert hpa["spec"]["maxReplicas"] == 10
        assert world.status("so")["hpaName"] == "mine"


async def test_a_renamed_autoscaler_leaves_nothing_behind(world: World, source: Source) -> None:
    source.value = 20
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(30)
        counts = Counts(world, "t")
        for name in ("first", "second", None):
            advanced = named(name) if name else None
            await world.patch(SCALED_OBJECTS, {"spec": {"advanced": advanced}}, "so")
            await world.seconds(20)
            assert (hpas(world), world.status("so")["hpaName"]) == ([name or HPA], name or HPA)
        assert counts.seen == [4]


async def test_an_autoscaler_renamed_while_nobody_works_leaves_nothing_behind(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(5)
    await world.patch(SCALED_OBJECTS, {"spec": {"advanced": named("other")}}, "so")
    async with world.operator.running():
        await world.seconds(5)
        assert hpas(world) == ["other"]


async def test_edits_of_the_autoscaler_are_undone_and_a_deleted_one_comes_back(world: World, source: Source) -> None:
    await world.create(two_containers(), unhurried(source.trigger()))
    async with world.operator.running():
        await world.seconds(5)
        await world.patch(HORIZONTAL_POD_AUTOSCALERS, {"spec": {"maxReplicas": 99}}, HPA)
        await world.seconds(1)
        assert world.hpa(HPA)["spec"]["maxReplicas"] == 10
        await world.patch(HORIZONTAL_POD_AUTOSCALERS, {"metadata": {"ownerReferences": None}}, HPA)
        await world.seconds(1)
        assert world.hpa(HPA)["metadata"]["ownerReferences"][0]["name"] == "so"
        await world.delete(HORIZONTAL_POD_AUTOSCALERS, HPA)
        await world.seconds(1)
        assert hpas(world) == [HPA]


@pytest.mark.parametrize("down", [False, True], ids=["working", "down meanwhile"])
@pytest.mark.parametrize(("restore", "left"), [(True, 2), (False, 4)])
async def test_a_deletion_restores_the_replicas_only_where_it_is_asked_to(
    world: World, source: Source, restore: bool, left: int, down: bool
) -> None:
    source.value = 20
    advanced = {"restoreToOriginalReplicaCount": restore}
    await world.create(two_containers(replicas=2), unhurried(source.trigger(), advanced=advanced))
    async with world.operator.running():
        await world.seconds(40)
        assert world.replicas("t") == 4
        if not down:
            await world.delete(SCALED_OBJECTS, "so")
            await world.seconds(1)
    if down:
        await world.delete(SCALED_OBJECTS, "so")
        await world.seconds(size(3600, 60))
        assert world.find(SCALED_OBJECTS, "so") is not None, "deletion waits for the operator"
        async with world.operator.running():
            await world.seconds(1)
    assert world.find(SCALED_OBJECTS, "so") is None
    assert "ScaledObjectDeleted" in world.reasons("so")
    await world.seconds(30)
    assert (world.replicas("t"), hpas(world)) == (left, [])


async def test_the_original_count_outlives_pauses_and_restarts(world: World, source: Source) -> None:
    source.value = 20
    spec = unhurried(source.trigger(), advanced={"restoreToOriginalReplicaCount": True})
    await world.create(two_containers(replicas=2), spec)
    for count in ("7", None, "0", None):
        async with world.operator.running():
            await world.seconds(size(40, 20))
            await world.annotate({"autoscaling.keda.sh/paused-replicas": count}, "so")
            await world.seconds(size(40, 20))
            assert world.status("so")["originalReplicaCount"] == 2
    async with world.operator.running():
        await world.delete(SCALED_OBJECTS, "so")
        await world.seconds(1)
    assert world.replicas("t") == 2


async def test_a_deletion_goes_ahead_when_everything_else_is_gone(world: World, source: Source) -> None:
    spec = unhurried(source.trigger(), advanced={"restoreToOriginalReplicaCount": True})
    await world.create(two_containers(), spec)
    async with world.operator.running():
        await world.seconds(5)
    await world.delete(DEPLOYMENTS, "t")
    await world.delete(HORIZONTAL_POD_AUTOSCALERS, HPA)
    await world.delete(SCALED_OBJECTS, "so")
    async with world.operator.running():
        await world.seconds(1)
        assert world.find(SCALED_OBJECTS, "so") is None


async def test_a_finalizer_of_somebody_else_stays(world: World, source: Source) -> None:
    spec = unhurried(source.trigger())
    spec["metadata"]["finalizers"] = ["theirs.example/hold"]
    await world.create(two_containers(), spec)
    async with world.operator.running():
        await world.seconds(5)
        await world.delete(SCALED_OBJECTS, "so")
        await world.seconds(5)
        assert world.get(SCALED_OBJECTS, "so")["metadata"]["finalizers"] == ["theirs.example/hold"]
        assert world.reasons("so").count("ScaledObjectDeleted") == 1


async def test_many_objects_deleted_meanwhile_go_within_seconds_of_the_operators_return(
    world: World, source: Source
) -> None:
    await _fill(world, source, "default")
    async with world.operator.running():
        await world.seconds(5)
    await asyncio.gather(*(world.delete(SCALED_OBJECTS, f"so-{number}") for number in range(MANY)))
    assert len(world.all(SCALED_OBJECTS)) == MANY
    spent, began = time.process_time(), asyncio.get_running_loop().time()
    async with world.operator.running():
        await world.seconds(1)
        assert world.all(SCALED_OBJECTS) == []
    assert time.process_time() - spent < 5 * MANY / 100
    assert asyncio.get_running_loop().time() - began < 5


async def test_a_namespace_of_many_objects_goes_and_nothing_is_written_there(world: World, source: Source) -> None:
    await world.create(a_namespace("doomed"))
    await _fill(world, source, "doomed")
    async with world.operator.running():
        await world.seconds(30)
        assert len(world.all(HORIZONTAL_POD_AUTOSCALERS, "doomed")) == MANY
        before = writes(world, EVENTS), writes(world, HORIZONTAL_POD_AUTOSCALERS)
        await world.client.delete(NAMESPACES.named("", "doomed"))
        spent, began = time.process_time(), asyncio.get_running_loop().time()
        await world.seconds(10)
        assert world.find(NAMESPACES, "doomed") is None
        assert time.process_time() - spent < 30 * MANY / 100
        assert asyncio.get_running_loop().time() - began < 30
        assert (writes(world, EVENTS), writes(world, HORIZONTAL_POD_AUTOSCALERS)) == before


async def _fill(world: World, source: Source, namespace: str) -> None:
    for first in range(0, MANY, 20):
        pairs = [_pair(source, number) for number in range(first, first + 20)]
        await asyncio.gather(*(world.create(*pair, namespace=namespace) for pair in pairs))


def _pair(source: Source, number: int) -> tuple[Obj, Obj]:
    target = f"t-{number}"
    return two_containers(name=target), unhurried(
        source.trigger(), name=f"so-{number}", scaleTargetRef={"name": target}
    )


async def test_a_second_scaled_object_on_the_same_target_is_refused(world: World, source: Source) -> None:
    async with guarded_operator(world):
        await world.create(two_containers(), unhurried(source.trigger()))
        await world.seconds(5)
        with pytest.raises(KubeError, match="the workload 't' of type 'apps/v1.Deployment' is already managed by"):
            await world.create(unhurried(source.trigger(), name="second"))
        await world.delete(SCALED_OBJECTS, "so")
        await world.seconds(1)
        await world.create(unhurried(source.trigger(), name="second"))


async def test_a_target_with_an_autoscaler_of_its_own_is_refused_unless_that_is_said_to_be_fine(
    world: World, source: Source
) -> None:
    async with guarded_operator(world):
        await world.create(two_containers(), foreign_hpa("theirs"))
        await world.seconds(1)
        with pytest.raises(KubeError, match="is already managed by the hpa 'theirs'"):
            await world.create(unhurried(source.trigger()))
        ignored = {"metadata": {"annotations": {"validations.keda.sh/hpa-ownership": "false"}}}
        await world.patch(HORIZONTAL_POD_AUTOSCALERS, ignored, "theirs")
        await world.seconds(1)
        await world.create(unhurried(source.trigger()))
        await world.seconds(5)
        assert hpas(world) == [HPA, "theirs"]
