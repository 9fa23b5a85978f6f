"""What one tenant writes stops neither the operator nor the environments of others, nor the next process."""

import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from keda_py.clock import SteppedClock
from keda_py.kube.resources import CALENDARS, DEPLOYMENTS, OVERRIDES, Obj
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.overriding import Overriding
from tests.builders import calendar, deployment, environment, override, scaling_schedule
from tests.operator.environments.builders import LUNCH, status, until
from tests.worlds.world import World


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (override("far", state="Awake", **{"from": "9999-12-31T23:00:00Z", "for": "2h"}), "spec.from: '9999-12-31"),
        (override("far", state="Awake", until="9999-12-31T23:00:00Z"), "spec.until: '9999-12-31"),
        (calendar("far", holidays=[{"country": "APR"}]), "spec.holidays[0].country: 'APR' is unknown"),
    ],
    ids=["a begin at the end of time", "an end there", "a country that is no country"],
)
async def test_what_cannot_be_meant_is_told_and_the_next_process_leads_all_the_same(
    world: World, body: dict[str, Any], told: str
) -> None:
    periods = [{"name": "day", "calendarRef": {"name": "far"}, "minReplicas": 1}]
    schedule = scaling_schedule(names=["app"], periods=periods)
    await world.create(deployment("web", 2), environment(calendar=LUNCH), schedule, body)
    await world.seconds(10)
    await world.operator.kill()
    await world.operator.start()
    await until(world, 20, "12:05")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")
    kind = OVERRIDES if body["kind"] == "Override" else CALENDARS
    found = world.get(kind, "far")["status"]
    (valid,) = [one for one in found["conditions"] if one["type"] == "Valid"]
    assert (valid["status"], valid["message"][: len(told)]) == ("False", told)


async def test_of_members_that_come_and_go_nothing_is_remembered(world: World) -> None:
    await world.create(environment(calendar=LUNCH))
    await until(world, 20, "12:05")
    for number in range(5):
        await world.create(deployment(f"web-{number}", 1))
        await world.seconds(5)
        assert world.replicas(f"web-{number}") == 0
        await world.delete(DEPLOYMENTS, f"web-{number}")
    await world.seconds(5)
    assert world.operator.assembly is not None
    (state,) = world.operator.assembly.environments.environments.states.values()
    assert (state.written, status(world).get("members", {})) == ({}, {})


async def test_thousands_of_overrides_that_have_ended_cost_little_until_they_go() -> None:
    def ended(number: int) -> Obj:
        made = override(f"o{number}", state="Awake", target={"kind": "Environment", "name": "dev"}, **{"for": "1s"})
        made["metadata"] |= {"namespace": "shop", "uid": str(number), "creationTimestamp": "2026-11-20T10:00:00Z"}
        made["metadata"]["resourceVersion"] = str(number)
        return {**made, "status": {"phase": "Ended", "ends": "2026-11-20T10:00:01Z"}}

    lives = [ended(number) for number in range(5000)]
    caches = SimpleNamespace(
        overrides=SimpleNamespace(objects=lambda namespace: list(lives)),
        environments=SimpleNamespace(objects=lambda namespace: []),
    )
    overriding = Overriding(
        SteppedClock(datetime(2026, 11, 20, tzinfo=UTC)), cast(EnvironmentCaches, caches), cast(Calendars, None)
    )
    costs = []
    for number in range(5):
        lives[0]["metadata"]["resourceVersion"] = str(10_000 + number)
        before = time.process_time()
        await overriding.of_namespace("shop")
        costs.append(time.process_time() - before)
    assert min(costs) < 0.01
