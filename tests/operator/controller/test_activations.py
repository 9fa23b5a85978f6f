"""The budget of activations at work: what wakes waits for its turn, what is up never does."""

from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.localkube.store.subscriptions import Event
from keda_py.operator.controller.activations import HELD_SECONDS, Activations, Ticket
from tests.builders import cron, deployment, environment, scaled_object
from tests.operator.environments.builders import LUNCH, events, status, until
from tests.worlds.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ACTIVATED = "KEDAScaleTargetActivated"
SHOP = ObjectKey("ScaledObject", "shop", "app")


class Wakes:
    """When each Deployment left 0, in seconds of virtual time."""

    def __init__(self, world: World) -> None:
        self.at: list[float] = []
        self._clock = world.clock
        world.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.resource.plural == "deployments" and event.previous is not None:
            before, after = event.previous["spec"]["replicas"], event.object["spec"]["replicas"]
            if before == 0 < after:
                self.at.append(self._clock.monotonic())

    def most_a_second(self) -> int:
        return max(sum(at <= other < at + 0.999 for other in self.at) for at in self.at)


async def test_a_turn_that_is_not_used_in_time_is_over() -> None:
    clock, told = FakeClock(NOON), []
    activations = Activations(clock, 1)
    activations.subscribe("ScaledObject", told.append)
    assert activations.ask(Ticket(SHOP, "a"), 0)
    assert not activations.ask(Ticket(SHOP, "b"), 0)
    assert not activations.ask(Ticket(SHOP, "c"), 0)
    await clock.advance(1)
    assert (told, activations.has_turn(SHOP), activations.waiting) == ([SHOP], True, 1)
    await clock.advance(HELD_SECONDS)
    # By now there is a turn for another one again: `b` uses that, and leaves none.
    assert [activations.ask(Ticket(SHOP, part), 0) for part in ("b", "d", "c")] == [True, False, True]
    activations.withdraw(SHOP)
    assert (activations.has_turn(SHOP), activations.waiting) == (False, 0)


async def test_without_a_limit_all_may_at_once() -> None:
    activations = Activations(FakeClock(NOON), 0)
    assert all(activations.ask(Ticket(SHOP, str(part)), 0) for part in range(1000))


@pytest.fixture
async def slow(quiet_world: World) -> World:
    """An operator that wakes two workloads a second."""
    quiet_world.operator.flags = {"activations-per-second": "2"}
    await quiet_world.operator.start()
    return quiet_world


async def test_a_burst_of_scaled_objects_wakes_within_the_budget_and_says_so(slow: World) -> None:
    names = [f"app-{number}" for number in range(8)]
    morning = cron("5 12 * * *", "0 20 * * *", desired=1)
    for name in names:
        target = {"scaleTargetRef": {"name": name}, "minReplicaCount": 0, "pollingInterval": 300}
        await slow.create(deployment(name, 0), scaled_object(morning, name=name, **target))
    wakes, told = Wakes(slow), events(slow, "ScaledObject")
    await until(slow, 20, "12:04")
    await slow.seconds(61.2)
    reasons = [slow.status(name)["kedaPy"]["reason"] for name in names]
    assert 0 < reasons.count("AwaitingTurn") < 8
    await slow.seconds(10)
    assert len(wakes.at) == 8
    assert wakes.most_a_second() <= 4  # those saved up, and those of that second
    assert wakes.at[-1] - wakes.at[0] < 4
    assert ("Normal", "KEDAScaleTargetActivationWaits") in told
    assert "AwaitingTurn" not in {slow.status(name)["kedaPy"]["reason"] for name in names}


async def test_a_wait_of_less_than_a_second_costs_no_write(quiet_world: World) -> None:
    quiet_world.operator.flags |= {"activations-per-second": "4"}
    await quiet_world.operator.start()
    names = [f"app-{number}" for number in range(8)]
    morning = cron("5 12 * * *", "0 20 * * *", desired=1)
    for name in names:
        target = {"scaleTargetRef": {"name": name}, "minReplicaCount": 0, "pollingInterval": 300}
        await quiet_world.create(deployment(name, 0), scaled_object(morning, name=name, **target))
    await until(quiet_world, 20, "12:04")
    wakes, told = Wakes(quiet_world), events(quiet_world, "ScaledObject")
    written = {name: quiet_world.writes_of(SCALED_OBJECTS, name) for name in names}
    await quiet_world.seconds(62)
    assert len(wakes.at) == 8
    assert max(wakes.at) - min(wakes.at) > 0.7
    assert [told.count(("Normal", reason)) for reason in (ACTIVATED, "KEDAScaleTargetActivationWaits")] == [8, 0]
    assert {name: len(versions) for name, versions in written.items()} == dict.fromkeys(names, 1)


async def test_members_of_an_environment_wake_within_the_same_budget(slow: World) -> None:
    names = [f"web-{number}" for number in range(8)]
    await slow.create(*(deployment(name, 3) for name in names), environment(calendar=LUNCH))
    await until(slow, 20, "12:08")
    wakes, told = Wakes(slow), events(slow)
    await until(slow, 20, "12:10")
    await slow.seconds(1.2)
    assert status(slow)["awaitingTurn"] > 0
    await slow.seconds(10)
    assert {slow.replicas(name) for name in names} == {3}
    assert wakes.most_a_second() <= 4
    assert "awaitingTurn" not in status(slow)
    assert told.count(("Normal", "ActivationsWait")) == 1
