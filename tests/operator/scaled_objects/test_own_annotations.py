"""Annotations of keda-py on a ScaledObject, from the manifest to the workload: on virtual time, with its HPA."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest

from keda_py.kube.resources import DEPLOYMENTS, Obj
from tests.builders import cron, deployment, environment, metrics_api
from tests.builders import scaled_object as brisk_scaled_object
from tests.operator.environments.builders import LUNCH, status, until
from tests.worlds.world import HPA, World

COOLDOWN, WHEN = "keda-py.dev/cooldown", "keda-py.dev/active-when"
MOST, UNTIL = "keda-py.dev/max-replicas-per-trigger", "keda-py.dev/paused-until"
PAUSED, PAUSED_AT = "autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"
PAUSED_IN = "autoscaling.keda.sh/paused-scale-in"
SOON = {"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}]}}
STEPWISE = {"horizontalPodAutoscalerConfig": {"behavior": SOON}}
END = "2026-11-20T12:03:00Z"
"""Worlds begin at 12:00."""


def scaled_object(*triggers: Obj, **more: Any) -> Obj:
    """Polled every ten seconds: each poll costs the test some milliseconds."""
    return brisk_scaled_object(*triggers, **{"pollingInterval": 10, "cooldownPeriod": 10} | more)


def queue(world: World) -> Obj:
    return {**metrics_api(world.url), "name": "queue"}


def office(start: str = "0 13 * * *", end: str = "0 14 * * *", desired: int = 4) -> Obj:
    return {**cron(start, end, desired), "name": "office"}


def counts_of(versions: Sequence[Obj]) -> list[int]:
    """The counts that a workload got, one after the other."""
    return [count for count, _ in groupby(version["spec"]["replicas"] for version in versions)]


@pytest.mark.parametrize(("value", "steps"), [(None, [4, 0]), ("after-scale-in", [4, 3, 2, 1, 0])])
async def test_the_hpa_scales_in_step_by_step_before_the_cooldown_begins(
    world: World, value: str | None, steps: list[int]
) -> None:
    world.jobs(25)
    await world.create(
        deployment(),
        scaled_object(
            queue(world), annotations={COOLDOWN: value} if value else None, cooldownPeriod=20, advanced=STEPWISE
        ),
    )
    await world.seconds(60)
    assert world.replicas() == 5
    versions = world.writes_of(DEPLOYMENTS)
    world.jobs(0)
    await world.seconds(10)
    assert world.status()["kedaPy"]["reason"] == ("ScalingIn" if value else "CoolingDown")
    await world.seconds(200)
    assert counts_of(versions) == steps


async def test_work_that_comes_while_the_hpa_scales_in_ends_nothing(world: World) -> None:
    world.jobs(25)
    annotations = {COOLDOWN: "after-scale-in"}
    await world.create(
        deployment(), scaled_object(queue(world), annotations=annotations, cooldownPeriod=20, advanced=STEPWISE)
    )
    await world.seconds(60)
    world.jobs(0)
    await world.seconds(40)
    world.jobs(25)
    await world.seconds(120)
    assert (world.replicas(), world.status()["kedaPy"]["reason"]) == (5, "Active")


async def test_an_operator_that_is_started_while_the_hpa_scales_in_goes_on(world: World) -> None:
    world.jobs(25)
    annotations = {COOLDOWN: "after-scale-in"}
    await world.create(
        deployment(), scaled_object(queue(world), annotations=annotations, cooldownPeriod=60, advanced=STEPWISE)
    )
    await world.seconds(60)
    world.jobs(0)
    await world.seconds(20)
    await world.operator.kill()
    await world.seconds(90)
    await world.operator.start()
    await world.seconds(30)
    assert world.replicas() >= 1, "the cooldown ended before it was seen at one"
    await world.seconds(120)
    assert world.replicas() == 0


async def test_a_queue_wakes_nothing_outside_of_office_hours_and_scales_within_them(world: World) -> None:
    world.jobs(15)
    await world.create(
        deployment(), scaled_object(queue(world), office("2 12 * * *", "4 12 * * *", 1), annotations={WHEN: "all"})
    )
    await world.seconds(60)
    assert (world.replicas(), world.condition("Active")) == (0, ("False", "ScalerNotActive"))
    await until(world, 20, "12:03")
    assert world.replicas() == 3
    await until(world, 20, "12:05")
    assert world.replicas() == 0


async def test_with_a_minimum_the_hpa_hears_of_work_only_while_all_triggers_are_active(world: World) -> None:
    world.jobs(15)
    trigger = office("2 12 * * *", "4 12 * * *", 1)
    await world.create(
        deployment(),
        scaled_object(queue(world), trigger, annotations={WHEN: "all"}, minReplicaCount=1, advanced=STEPWISE),
    )
    await world.seconds(60)
    assert world.replicas() == 1
    await until(world, 20, "12:03")
    assert world.replicas() == 3
    await until(world, 20, "12:05")
    assert world.replicas() == 1


async def test_a_source_that_fails_neither_wakes_nor_lowers_what_needs_all_triggers(world: World) -> None:
    world.jobs(15)
    trigger = office("1 12 * * *", "0 18 * * *", 1)
    await world.create(
        deployment(),
        scaled_object(queue(world), trigger, annotations={WHEN: "all"}, advanced=STEPWISE, cooldownPeriod=0),
    )
    await until(world, 20, "12:03")
    assert world.replicas() == 3
    world.server.answers.pop("/jobs")
    await until(world, 20, "12:06")
    assert world.replicas() == 3
    assert world.condition("Ready") == ("False", "TriggerError")


async def test_a_trigger_gets_no_more_replicas_than_its_own_maximum(world: World) -> None:
    world.jobs(500)
    await world.create(
        deployment(),
        scaled_object(
            queue(world),
            office("2 12 * * *", "4 12 * * *", 6),
            annotations={MOST: "queue=3"},
            maxReplicaCount=20,
            advanced=STEPWISE,
        ),
    )
    await world.seconds(60)
    assert world.replicas() == 3
    assert "15" in world.status()["kedaPy"]["values"].values()
    await until(world, 20, "12:03")
    assert world.replicas() == 6
    await until(world, 20, "12:06")
    assert world.replicas() == 3


@pytest.mark.parametrize("how", [{}, {PAUSED: "true"}, {PAUSED_AT: "2"}])
async def test_a_pause_ends_by_itself_at_its_time(world: World, how: dict[str, str]) -> None:
    await world.create(deployment(replicas=2), scaled_object(queue(world), annotations={UNTIL: END} | how))
    await world.seconds(60)
    assert (world.replicas(), world.hpa(HPA)) == (2, None)
    assert world.full_condition("Paused") == (
        *("True", "ScaledObjectPaused"),
        f"ScaledObject is paused: until {END}",
    )
    assert world.status()["kedaPy"]["nextChange"] == END
    await until(world, 20, "12:02")
    assert (world.replicas(), len(world.server.asked)) == (2, 0)
    await world.seconds(75)
    assert world.condition("Paused") == ("False", "ScaledObjectUnpaused")
    assert (world.replicas(), "nextChange" in world.status()["kedaPy"]) == (0, False)
    assert world.notes().count(("ScaledObjectUnpaused", "the pause of ScaledObject has come to its end")) == 1


async def test_a_pause_of_scaling_in_ends_at_its_time_and_the_loop_goes_on_meanwhile(world: World) -> None:
    annotations = {UNTIL: END, PAUSED_IN: "true"}
    await world.create(deployment(replicas=2), scaled_object(queue(world), annotations=annotations))
    await until(world, 20, "12:02")
    assert (world.replicas(), world.status()["kedaPy"]["reason"]) == (2, "ScaleInPaused")
    await until(world, 20, "12:04")
    assert (world.replicas(), world.condition("Paused")) == (0, ("False", "ScaledObjectUnpaused"))


async def test_a_pause_whose_time_is_over_is_none_for_a_new_operator(world: World) -> None:
    await world.create(deployment(replicas=2), scaled_object(queue(world), annotations={UNTIL: END}))
    await world.seconds(60)
    await world.operator.kill()
    await until(world, 20, "12:04")
    await world.operator.start()
    await world.seconds(20)
    assert (world.replicas(), world.condition("Paused")[0]) == (0, "False")


async def test_a_later_end_is_kept_and_an_earlier_one_resumes_at_once(world: World) -> None:
    await world.create(deployment(replicas=2), scaled_object(queue(world), annotations={UNTIL: END}))
    await world.seconds(60)
    await world.annotate({UNTIL: "2026-11-20T12:08:00Z"})
    await until(world, 20, "12:07")
    assert world.replicas() == 2
    await world.annotate({UNTIL: "2026-11-20T12:00:00Z"})
    await world.seconds(20)
    assert world.replicas() == 0


async def test_a_wrong_time_is_told_and_stops_scaling(world: World) -> None:
    world.jobs(10)
    await world.create(deployment(), scaled_object(queue(world), annotations={UNTIL: "tomorrow"}))
    await world.seconds(60)
    assert world.replicas() == 0
    assert f"metadata.annotations[{UNTIL}]: 'tomorrow' is not a time" in world.message("Ready")
    await world.annotate({UNTIL: None})
    await world.seconds(20)
    assert (world.replicas() > 0, world.condition("Ready")[0]) == (True, "True")


async def test_what_is_paused_into_the_night_of_its_environment_is_put_to_sleep_when_the_pause_ends(
    world: World,
) -> None:
    """The Environment is closed from 12:04 to 12:10; the pause ends at 12:07, while there is work."""
    world.jobs(10)
    annotations = {UNTIL: "2026-11-20T12:07:00Z"}
    await world.create(deployment(replicas=2), scaled_object(queue(world), annotations=annotations))
    await world.create(environment(calendar=LUNCH))
    await until(world, 20, "12:06")
    assert status(world)["members"].keys() == {"Deployment/app"}
    await until(world, 20, "12:08")
    assert (world.replicas(), world.condition("Active")) == (0, ("False", "AsleepByEnvironment"))
    await until(world, 20, "12:11")
    assert world.replicas() >= 1
