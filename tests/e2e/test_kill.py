"""The operator dies at the worst moments; the next one finds its way, without a wrong scale in between."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, Obj
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.processes import Operator
from tests.e2e.scene import Scene, Watch, has_condition, has_replicas
from tests.e2e.source import Source
from tests.sweeps import chosen

HPA = "keda-hpa-app"


def has_finalizer(live: Obj) -> bool:
    return bool(live["metadata"].get("finalizers"))


async def once_owned(scene: Scene, source: Source) -> None:
    await scene.until(SCALED_OBJECTS, has_finalizer)


async def once_the_hpa_exists(scene: Scene, source: Source) -> None:
    await scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda live: True, HPA)


async def once_the_source_is_asked(scene: Scene, source: Source) -> None:
    await source.asked()


async def once_scaled(scene: Scene, source: Source) -> None:
    await scene.replicas(1)


MOMENTS = chosen(
    {
        "when the object is owned": once_owned,
        "when the hpa exists": once_the_hpa_exists,
        "when the source is asked": once_the_source_is_asked,
        "when the workload is scaled": once_scaled,
    },
    {"when the hpa exists", "when the workload is scaled"},
)


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
async def test_killed_on_the_way_up_it_arrives_all_the_same(
    scene: Scene, source: Source, operator: Operator, moment: Callable[[Scene, Source], Awaitable[None]]
) -> None:
    source.value = 1
    async with scene.watching(DEPLOYMENTS) as workload, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(moment(scene, source))
        await asyncio.sleep(0)
        await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=300))
        await waiting
        await asyncio.to_thread(operator.kill)
        await asyncio.to_thread(operator.start)
        await workload.until(has_replicas(1))
        await scene.until(SCALED_OBJECTS, has_condition("Active", "True"))
        await source.asked(2)
        assert workload.replicas() == [0, 1]


async def test_killed_while_one_cools_down_and_another_sleeps_neither_cooldown_nor_sleep_is_shorter(
    scene: Scene, source: Source, operator: Operator
) -> None:
    source.value = 1
    cooldown = 8
    for name, seconds in {"asleep": 1, "cooling": cooldown}.items():
        await scene.create(deployment(name), scaled_object(metrics_api(source.url), name=name, cooldownPeriod=seconds))
    async with scene.watching(DEPLOYMENTS, "asleep") as asleep, scene.watching(DEPLOYMENTS, "cooling") as cooling:
        await asleep.until(has_replicas(1))
        await scene.condition("Active", "True", name="asleep")
        await active_then_empty(scene, source, cooling, name="cooling")
        emptied = asyncio.get_running_loop().time()
        await asleep.until(has_replicas(0))
        await scene.condition("Active", "False", "ScalerCooldown", "cooling")
        await asyncio.to_thread(operator.kill)
        await asyncio.to_thread(operator.start)
        await cooling.until(has_replicas(0))
        assert asyncio.get_running_loop().time() - emptied >= cooldown - 1.5
        assert cooling.replicas() == [0, 1, 0]
        await source.asked(2)
        await scene.condition("Active", "False", "ScalerNotActive", "asleep")
        assert asleep.replicas() == [0, 1, 0]


async def test_killed_while_active_and_started_after_that_it_cools_down_in_full(
    scene: Scene, source: Source, operator: Operator
) -> None:
    source.value = 1
    cooldown = 5
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=cooldown))
    async with scene.watching(DEPLOYMENTS) as workload:
        await active_then_empty(scene, source, workload, kill=operator.kill)
        await asyncio.to_thread(operator.start)
        started = asyncio.get_running_loop().time()
        await workload.until(has_replicas(0))
        # Nobody saw what happened meanwhile: the cooldown begins with the first look of the new process.
        assert asyncio.get_running_loop().time() - started >= cooldown - 1
        assert workload.replicas() == [0, 1, 0]


async def test_an_object_deleted_while_nobody_looks_is_let_go_by_the_next_operator(
    scene: Scene, source: Source, operator: Operator
) -> None:
    wanted = scaled_object(metrics_api(source.url), advanced={"restoreToOriginalReplicaCount": True})
    await scene.create(deployment(replicas=2), wanted)
    async with scene.watching(SCALED_OBJECTS) as scaled:
        await scene.replicas(0)
        await asyncio.to_thread(operator.kill)
        await scene.delete(SCALED_OBJECTS)
        await asyncio.to_thread(operator.start)
        await scaled.gone()
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 2


async def active_then_empty(
    scene: Scene, source: Source, workload: Watch, kill: Callable[[], None] | None = None, name: str = "app"
) -> None:
    await workload.until(has_replicas(1))
    await scene.condition("Active", "True", name=name)
    if kill is not None:
        await asyncio.to_thread(kill)
    source.value = 0
