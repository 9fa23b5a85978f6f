"""Members under HPAs that go to zero by themselves: work at night wakes none, and in the morning all is as before.

The Environment is closed from 12:04 to 12:10; the HPA syncs every 5 s.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, HORIZONTAL_POD_AUTOSCALERS, Obj
from tests.builders import environment, obj
from tests.hpa_zero import SCENARIOS, values_of
from tests.http_server import HttpServer
from tests.localkube.adapter import Adapter
from tests.operator.environments.builders import LUNCH, labelled, status, until
from tests.operator.environments.killing import Kills
from tests.operator.environments.native_hpas import (
    QUEUE,
    RECORDED,
    Wakes,
    adapted,
    mark,
    native_hpa,
    object_metric,
    work,
    worker,
)
from tests.sweeps import WHOLE
from tests.worlds.world import World, open_world

SET, HELD, GONE = ("True", "ScaledToZero"), ("False", "HeldAsleep"), ("False", "NotScaledToZero")


@pytest.fixture
async def world(tmp_path: Path, server: HttpServer) -> AsyncIterator[World]:
    async with open_world(tmp_path, server, options=RECORDED) as world:
        await world.operator.start()
        yield world


@pytest.fixture
async def adapter(world: World) -> AsyncIterator[Adapter]:
    async with adapted(world) as adapter:
        yield adapter


async def at_zero(world: World, adapter: Adapter) -> Obj:
    """A member that its HPA has scaled to zero before the evening; the HPA as it is then."""
    work(adapter, 0)
    await world.create(worker(), native_hpa(), environment(calendar=LUNCH))
    await until(world, 20, "12:03")
    assert (world.replicas("web"), mark(world)) == (0, SET)
    return world.get(HORIZONTAL_POD_AUTOSCALERS, "web")


def without_version(hpa: Obj) -> Obj:
    dropped = ("resourceVersion", "managedFields")
    return {**hpa, "metadata": {name: value for name, value in hpa["metadata"].items() if name not in dropped}}


async def test_work_at_night_does_not_wake_what_its_hpa_had_scaled_to_zero(world: World, adapter: Adapter) -> None:
    before = await at_zero(world, adapter)
    wakes = Wakes(world)
    await until(world, 20, "12:05")
    work(adapter, 8)
    await until(world, 20, "12:09")
    assert (wakes.found, world.replicas("web")) == ([], 0)
    assert status(world)["phase"] == "Asleep"
    hpa = world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    assert mark(world) == HELD
    assert (hpa["spec"], hpa["metadata"].get("annotations")) == (before["spec"], before["metadata"].get("annotations"))


async def test_work_that_came_at_night_wakes_it_in_the_morning(world: World, adapter: Adapter) -> None:
    await at_zero(world, adapter)
    await until(world, 20, "12:05")
    work(adapter, 8)
    wakes = Wakes(world)
    await until(world, 20, "12:11")
    assert (wakes.found, mark(world)) == ([("default", "web", 2)], GONE)
    assert "members" not in status(world)


async def test_without_work_the_hpa_is_in_the_morning_what_it_was_in_the_evening(
    world: World, adapter: Adapter
) -> None:
    before = await at_zero(world, adapter)
    wakes = Wakes(world)
    await until(world, 20, "12:05")
    assert mark(world) == HELD
    await until(world, 20, "12:11")
    assert wakes.found == []
    after = world.get(HORIZONTAL_POD_AUTOSCALERS, "web")
    marks = [
        next(one for one in hpa["status"]["conditions"] if one["type"] == "ScaledToZero") for hpa in (before, after)
    ]
    assert marks[0] == marks[1]
    assert without_version(after) | {"status": {}} == without_version(before) | {"status": {}}
    assert status(world)["phase"] == "Awake"


async def test_a_member_that_is_up_in_the_evening_gets_its_count_back(world: World, adapter: Adapter) -> None:
    work(adapter, 8)
    await world.create(worker(), native_hpa(), environment(calendar=LUNCH))
    await until(world, 20, "12:03")
    assert world.replicas("web") == 2
    wakes = Wakes(world)
    await until(world, 20, "12:09")
    assert (wakes.found, world.replicas("web")) == ([], 0)
    await until(world, 20, "12:11")
    assert (wakes.found, world.replicas("web")) == ([("default", "web", 2)], 2)


async def test_a_zero_that_a_person_set_stays_a_zero_in_the_morning(world: World, adapter: Adapter) -> None:
    work(adapter, 8)
    await world.create(worker(0), native_hpa(), environment(calendar=LUNCH))
    await until(world, 20, "12:11")
    await world.seconds(60)
    assert (world.replicas("web"), mark(world)) == (0, ("", ""))


async def test_a_mark_that_was_kept_while_a_person_had_scaled_it_up_does_not_wake_it(
    world: World, adapter: Adapter
) -> None:
    await at_zero(world, adapter)
    work(adapter, 4)
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 1}}, "web")
    await until(world, 20, "12:03")
    await world.seconds(30)
    assert (world.replicas("web"), mark(world)) == (1, SET)  # no rescale, and so the mark stays
    wakes = Wakes(world)
    await until(world, 20, "12:09")
    assert (wakes.found, world.replicas("web"), mark(world)) == ([], 0, HELD)
    await until(world, 20, "12:11")
    assert (wakes.found, mark(world)) == ([("default", "web", 1)], SET)


async def test_an_hpa_that_wakes_it_while_no_operator_runs_gets_that_count_back(world: World, adapter: Adapter) -> None:
    await at_zero(world, adapter)
    await world.operator.stop()
    work(adapter, 8)
    await until(world, 20, "12:05")
    assert world.replicas("web") == 2
    await world.operator.start()
    await until(world, 20, "12:09")
    assert world.replicas("web") == 0
    await until(world, 20, "12:11")
    assert world.replicas("web") == 2


async def test_an_environment_that_is_deleted_at_night_gives_the_mark_back_before_it_goes(
    world: World, adapter: Adapter
) -> None:
    await at_zero(world, adapter)
    await until(world, 20, "12:06")
    assert mark(world) == HELD
    await world.delete(ENVIRONMENTS, "dev")
    await world.seconds(5)
    assert (world.find(ENVIRONMENTS, "dev"), mark(world), world.replicas("web")) == (None, SET, 0)


async def test_a_member_that_leaves_at_night_gets_its_mark_back(world: World, adapter: Adapter) -> None:
    work(adapter, 0)
    made = labelled(worker(), team="shop")
    await world.create(made, native_hpa(), environment(calendar=LUNCH, selector={"matchLabels": {"team": "shop"}}))
    await until(world, 20, "12:06")
    assert mark(world) == HELD
    await world.patch(DEPLOYMENTS, {"metadata": {"labels": {"team": "other"}}}, "web")
    await world.seconds(5)
    assert mark(world) == SET


class Adapters:
    """The adapter of each world that is killed in, for as long as the world lasts."""

    async def evening(self, world: World) -> None:
        self.adapter = await world.operator.stack.enter_async_context(adapted(world))
        await at_zero(world, self.adapter)

    async def night(self, world: World) -> None:
        await self.evening(world)
        await until(world, 20, "12:09")


async def test_killed_at_any_write_of_the_evening_no_work_wakes_it_and_the_mark_comes_back(kills: Kills) -> None:
    adapters = Adapters()

    async def falling(world: World) -> None:
        await until(world, 20, "12:05")

    async def asleep_and_marked_afterwards(world: World) -> None:
        await world.seconds(60)
        wakes = Wakes(world)
        work(adapters.adapter, 8)
        await until(world, 20, "12:09")
        assert (wakes.found, mark(world)) == ([], HELD)
        await until(world, 20, "12:12")
        assert (wakes.found, mark(world)) == ([("default", "web", 2)], GONE)

    assert await kills(adapters.evening, falling, asleep_and_marked_afterwards, RECORDED) > 2


async def test_killed_at_any_write_of_the_morning_the_mark_comes_back(kills: Kills) -> None:
    async def waking(world: World) -> None:
        await until(world, 20, "12:11")

    async def as_before(world: World) -> None:
        await world.seconds(60)
        assert (mark(world), world.replicas("web")) == (SET, 0)
        assert "members" not in status(world)
        assert status(world)["phase"] == "Awake"

    assert await kills(Adapters().night, waking, as_before, RECORDED) > 2


class Scenario:
    """A recorded scenario in a namespace of its own, with an Environment there; its metrics are those of Objects."""

    def __init__(self, name: str, world: World, adapter: Adapter) -> None:
        self.recorded, self.namespace = SCENARIOS[name], name
        self._world, self._adapter = world, adapter
        self._acts = list(self.recorded["acts"])

    async def begin(self) -> None:
        self.look(0.0)
        await self._world.create(obj("v1", "Namespace", self.namespace))
        await self._world.create(worker(self.recorded["start"]), self._hpa(), namespace=self.namespace)
        await self._world.create(environment(calendar=LUNCH), namespace=self.namespace)

    def look(self, second: float) -> None:
        """The metrics are worth what was recorded for that second."""
        for name, values in values_of(self.recorded).items():
            work(self._adapter, [value for since, value in values if since <= second][-1], self._called(name))

    async def act(self, second: float) -> None:
        """What was done by hand up to then; at night a count that a person sets is that person's."""
        while self._acts and self._acts[0][0] <= second:
            _, what, *number = self._acts.pop(0)
            match what:
                case "scale":
                    change = {"spec": {"replicas": number[0]}}
                    await self._world.patch(DEPLOYMENTS, change, "web", self.namespace)
                case "min":
                    change = {"spec": {"minReplicas": number[0]}}
                    await self._world.patch(HORIZONTAL_POD_AUTOSCALERS, change, "web", self.namespace)
                case "delete-hpa":
                    await self._world.delete(HORIZONTAL_POD_AUTOSCALERS, "web", self.namespace)
                case "create-hpa":
                    await self._world.create(self._hpa(), namespace=self.namespace)

    def _hpa(self) -> Obj:
        scenario = self.recorded
        own = object_metric(self._called(QUEUE), scenario["target"], scenario["targetKind"])
        others = [object_metric(self._called(extra["name"]), extra["target"]) for extra in scenario["extra"]]
        bounds = {"minReplicas": scenario["min"], "maxReplicas": scenario["max"]}
        behavior = {"behavior": scenario["behavior"]} if "behavior" in scenario else {}
        return native_hpa("web", [own, *others], **bounds, **behavior)

    def _called(self, metric: str) -> str:
        return f"{self.namespace}-{metric}"


@pytest.mark.parametrize(
    "evening", [20, 45, 75] if WHOLE else [45], ids=lambda second: f"closed from second {second} on"
)
async def test_in_no_recorded_scenario_an_hpa_wakes_its_workload_at_night(
    world: World, adapter: Adapter, evening: int
) -> None:
    scenarios = [Scenario(name, world, adapter) for name in SCENARIOS]
    await until(world, 20, "12:02")
    await world.seconds(120 - evening)
    for scenario in scenarios:
        await scenario.begin()
    wakes = Wakes(world)
    for second in range(evening + 6 * 60):
        if second == evening + 10:
            wakes.found.clear()  # asleep by then
        for scenario in scenarios:
            scenario.look(second)
            await scenario.act(second)
        await world.seconds(1)
        if second == evening + 6 * 60 - 5:
            assert [woken for woken in wakes.found if woken[0] not in BY_HAND] == []
            asleep = {one.namespace: world.replicas("web", namespace=one.namespace) for one in scenarios}
            assert {name: count for name, count in asleep.items() if count and name not in BY_HAND} == {}
    await world.seconds(90)
    counts = {one.namespace: world.replicas("web", namespace=one.namespace) for one in scenarios}
    wanted = {name: scenario["seen"][-1][1] for name, scenario in SCENARIOS.items() if not scenario["acts"]}
    assert {name: counts[name] for name in wanted} == wanted


BY_HAND = ("hand-to-zero-then-one", "zero-by-hpa-then-hand-up")
"""Where a person scales up, perhaps at night: that stays."""
