"""Killed at any point of its work, the operator finds its way after a restart: every write is tried as the last one.

A kill is strict: at the k-th write that the cluster stores, the cable is pulled before the operator hears of it.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from keda_py.localkube.subscriptions import Event
from tests.e2e.manifests import deployment, metrics_api, scaled_object
from tests.operator.world import HPA, World

OURS = ("scaledobjects", "horizontalpodautoscalers", "deployments", "events")
MOST_WRITES = 20
COOLDOWN = 120


class Cutter:
    """Pulls the cable at the k-th write of the operator from now on."""

    def __init__(self, world: World, countdown: int) -> None:
        self._world, self._countdown = world, countdown
        self.done = asyncio.Event()
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural not in OURS or self.done.is_set() or not _is_operators(event):
            return
        self._countdown -= 1
        if self._countdown <= 0:
            self._world.cut()
            self.done.set()


def _is_operators(event: Event) -> bool:
    """Not the deployment controller's and not the HPA controller's status."""
    if event.resource.plural == "events":
        return bool((event.object.get("reportingComponent") or "") == "keda-operator")
    spec, before = event.object.get("spec"), (event.previous or {}).get("spec")
    if event.resource.plural in ("deployments", "horizontalpodautoscalers"):
        return bool(spec != before)
    return True


async def _die(world: World, cutter: Cutter) -> None:
    await cutter.done.wait()
    await world.kill()


async def killed_at(world: World, countdown: int, act: Callable[[], Awaitable[None]]) -> bool:
    """Do `act` with an operator that dies at that write; False when it never came so far."""
    cutter = Cutter(world, countdown)
    async with asyncio.TaskGroup() as tasks:
        dying = tasks.create_task(_die(world, cutter))
        await act()
        await world.seconds(5)
        if not cutter.done.is_set():
            dying.cancel()
            return False
    await world.start()
    return True


@pytest.mark.parametrize("countdown", range(1, MOST_WRITES + 1))
async def test_on_the_way_up_every_write_may_be_the_last_one(world: World, countdown: int) -> None:
    world.jobs(1)
    await world.create(deployment())
    counts = world.writes_of(DEPLOYMENTS)

    async def appear() -> None:
        await world.create(scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))

    await killed_at(world, countdown, appear)
    await world.seconds(5)
    assert {version["spec"]["replicas"] for version in counts} <= {0, 1}
    assert (world.replicas(), world.condition("Active")) == (1, ("True", "ScalerActive"))
    assert world.condition("Ready") == ("True", "ScaledObjectReady")
    assert world.get(HORIZONTAL_POD_AUTOSCALERS, HPA)["spec"]["maxReplicas"] == 5
    assert world.get(SCALED_OBJECTS)["metadata"]["finalizers"] == ["finalizer.keda.sh"]
    assert world.status()["originalReplicaCount"] == 0


@pytest.mark.parametrize("countdown", range(1, 6))
async def test_on_the_way_down_every_write_may_be_the_last_one(world: World, countdown: int) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(10)
    emptied = world.clock.monotonic()
    asleep: list[float] = []
    counts = world.writes_of(DEPLOYMENTS)

    def hear(event: Event) -> None:
        if event.resource.plural == "deployments" and event.object["spec"]["replicas"] == 0:
            asleep.append(world.clock.monotonic())

    world.listen(hear)

    async def run_dry() -> None:
        world.jobs(0)
        await world.seconds(COOLDOWN + 5)

    await killed_at(world, countdown, run_dry)
    await world.seconds(COOLDOWN + 5)
    assert (world.replicas(), world.condition("Active")) == (0, ("False", "ScalerNotActive"))
    assert asleep[0] >= emptied + COOLDOWN - 1
    assert {version["spec"]["replicas"] for version in counts} <= {0, 1}


@pytest.mark.parametrize("countdown", range(1, 6))
async def test_on_the_way_out_every_write_may_be_the_last_one(world: World, countdown: int) -> None:
    wanted = scaled_object(metrics_api(world.url), advanced={"restoreToOriginalReplicaCount": True})
    await world.create(deployment(replicas=3), wanted)
    await world.seconds(10)
    assert world.replicas() == 0

    async def leave() -> None:
        await world.delete(SCALED_OBJECTS)

    await killed_at(world, countdown, leave)
    await world.seconds(5)
    assert (world.find(SCALED_OBJECTS), world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)) == (None, None)
    assert world.replicas() == 3


@pytest.mark.parametrize("countdown", range(1, 8))
async def test_while_being_paused_every_write_may_be_the_last_one(world: World, countdown: int) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(10)

    async def pause() -> None:
        await world.annotate({"autoscaling.keda.sh/paused-replicas": "4"})

    await killed_at(world, countdown, pause)
    await world.seconds(5)
    assert (world.replicas(), world.condition("Paused")) == (4, ("True", "ScaledObjectPaused"))
    assert (world.find(HORIZONTAL_POD_AUTOSCALERS, HPA), world.status()["pausedReplicaCount"]) == (None, 4)


async def test_a_take_over_in_the_middle_of_a_cooldown_does_not_shorten_it(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(10)
    world.jobs(0)
    await world.seconds(40)
    await world.kill()
    await world.seconds(30)
    await world.start()
    await world.seconds(COOLDOWN - 73)
    assert world.replicas() == 1
    await world.seconds(5)
    assert world.replicas() == 0


async def test_what_was_active_at_a_kill_cools_down_from_the_first_look_on(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(3600)
    await world.kill()
    world.jobs(0)
    await world.seconds(600)
    await world.start()
    await world.seconds(COOLDOWN - 2)
    assert world.replicas() == 1
    await world.seconds(5)
    assert world.replicas() == 0


async def test_at_sigterm_the_last_activity_is_written_and_nothing_else(world: World) -> None:
    world.jobs(1)
    await world.create(deployment(), scaled_object(metrics_api(world.url), cooldownPeriod=COOLDOWN))
    await world.seconds(3600)
    before = world.status()
    await world.stop()
    after = world.status()
    assert after.pop("lastActiveTime") == world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert before.pop("lastActiveTime") < world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert after == before
