"""The future of one ScaledObject, by its schedules alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.builders import cpu, cron, metrics_api
from tests.preview.builders import app, look, moves, the

DAY = timedelta(days=1)
WINDOW = cron("0 8 * * *", "0 18 * * *", 5)
FAST = {"scaleDown": {"stabilizationWindowSeconds": 60}}

CASES: dict[str, tuple[dict[str, Any], list[tuple[str, int, int]]]] = {
    "it is at zero a cooldown after the window's end, and the HPA takes it to one before that": (
        {"cooldownPeriod": 600},
        [("Mon 08:00:00", 0, 5), ("Mon 18:05:00", 5, 1), ("Mon 18:10:00", 1, 0)],
    ),
    "without a cooldown it is at zero with the window's end": (
        {"cooldownPeriod": 0},
        [("Mon 08:00:00", 0, 5), ("Mon 18:00:00", 5, 0)],
    ),
    "above a minimum the HPA takes it down, after its stabilisation": (
        {"minReplicaCount": 2},
        [("Mon 08:00:00", 2, 5), ("Mon 18:05:00", 5, 2)],
    ),
    "stabilisation of its own counts, from the last sync in the window on": (
        {"minReplicaCount": 2, "advanced": {"horizontalPodAutoscalerConfig": {"behavior": FAST}}},
        [("Mon 08:00:00", 2, 5), ("Mon 18:00:45", 5, 2)],
    ),
    "idleReplicaCount: 0 is taken after the cooldown, below the minimum": (
        {"minReplicaCount": 2, "idleReplicaCount": 0, "cooldownPeriod": 30},
        [("Mon 08:00:00", 0, 5), ("Mon 18:00:30", 5, 0)],
    ),
    "maxReplicaCount bounds what the window asks for": (
        {"maxReplicaCount": 3, "cooldownPeriod": 0},
        [("Mon 08:00:00", 0, 3), ("Mon 18:00:00", 3, 0)],
    ),
    "paused at a count it stays there": (
        {"annotations": {"autoscaling.keda.sh/paused-replicas": "4"}},
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_day_of_a_window(case: str) -> None:
    spec, expected = CASES[case]
    assert moves(the("ScaledObject/app", look(app(WINDOW, **spec), length=DAY))) == expected


def test_a_count_paused_at_is_what_there_is() -> None:
    annotations = {"autoscaling.keda.sh/paused-replicas": "4"}
    subject = the("ScaledObject/app", look(app(WINDOW, annotations=annotations), length=DAY))
    assert subject.timeline.replica_seconds == 4 * DAY.total_seconds()


def test_hours_up_and_replica_hours_are_summed_to_the_second() -> None:
    timeline = the("ScaledObject/app", look(app(cron(desired=1), cooldownPeriod=300))).timeline
    assert timeline.up_seconds == 7 * (12 * 3600 + 300)
    assert timeline.replica_seconds == timeline.up_seconds


def test_two_windows_that_touch_do_not_let_it_sleep_between_them() -> None:
    first, second = cron("0 8 * * *", "0 12 * * *", 2), cron("0 12 * * *", "0 18 * * *", 4)
    subject = the("ScaledObject/app", look(app(first, second, cooldownPeriod=0), length=DAY))
    assert moves(subject) == [("Mon 08:00:00", 0, 2), ("Mon 12:00:00", 2, 4), ("Mon 18:00:00", 4, 0)]


@pytest.mark.parametrize(
    ("begins", "hours"),
    [(datetime(2026, 3, 28, 23, tzinfo=UTC), 3), (datetime(2026, 10, 24, 22, tzinfo=UTC), 5)],
    ids=["spring", "autumn"],
)
def test_a_night_of_changing_clocks_lasts_as_long_as_it_does(begins: datetime, hours: int) -> None:
    night = cron("0 1 * * *", "0 5 * * *", 1, "Europe/Prague")
    timeline = the("ScaledObject/app", look(app(night, cooldownPeriod=0), begins=begins, length=DAY)).timeline
    assert timeline.up_seconds == hours * 3600


def test_a_formula_over_windows_is_computed() -> None:
    triggers = [
        {**cron("0 8 * * *", "0 18 * * *", 2), "name": "a"},
        {**cron("0 9 * * *", "0 18 * * *", 3), "name": "b"},
    ]
    advanced = {"scalingModifiers": {"formula": "a + b", "target": "1"}}
    subject = the("ScaledObject/app", look(app(*triggers, advanced=advanced, cooldownPeriod=0), length=DAY))
    assert moves(subject) == [("Mon 08:00:00", 0, 2), ("Mon 09:00:00", 2, 5), ("Mon 18:00:00", 5, 0)]


def test_a_trigger_that_no_preview_can_know_is_named_and_taken_to_have_no_work() -> None:
    timeline = the(
        "ScaledObject/app", look(app(WINDOW, metrics_api("http://x"), cooldownPeriod=0), length=DAY)
    ).timeline
    assert timeline.assumes == ("metrics-api",)
    assert timeline.up_seconds == 10 * 3600


def test_cpu_keeps_what_the_window_has_woken_within_its_bounds() -> None:
    subject = the("ScaledObject/app", look(app(WINDOW, cpu(), cooldownPeriod=0), length=DAY))
    assert moves(subject) == [("Mon 08:00:00", 0, 5), ("Mon 18:00:00", 5, 0)]


def test_cpu_alone_is_always_up() -> None:
    assert the("ScaledObject/app", look(app(cpu(), minReplicaCount=1), length=DAY)).timeline.replicas == 1


def test_bounds_that_fight_for_ever_are_told_and_end() -> None:
    subject = the("ScaledObject/app", look(app(WINDOW, minReplicaCount=3, idleReplicaCount=1)))
    assert not subject.settles


def test_windows_of_each_minute_end_as_well() -> None:
    often = app(cron("*/2 * * * *", "1-59/2 * * * *", 9), cooldownPeriod=0, pollingInterval=5)
    subject = the("ScaledObject/app", look(often))
    assert (subject.settles, len(subject.timeline.steps) <= 400) == (False, True)


def test_many_windows_that_take_turns_end_without_a_change() -> None:
    turns = [cron(f"{minute} * * * *", f"{(minute + 1) % 60} * * * *", 1) for minute in range(60)]
    subject = the("ScaledObject/app", look(app(*turns), length=timedelta(days=2)))
    assert not subject.settles


def test_a_year_of_two_windows_a_day_is_told_to_its_end() -> None:
    twice = app(cron("0 6 * * *", "0 9 * * *", 3), cron("0 15 * * *", "0 18 * * *", 3), cooldownPeriod=2_000_000_000)
    year = timedelta(days=366)
    assert the("ScaledObject/app", look(twice)).settles
    busy = app(cron("0 6 * * *", "0 9 * * *", 3), cron("0 15 * * *", "0 18 * * *", 3))
    subject = the("ScaledObject/app", look(busy, length=year))
    assert subject.settles
    assert subject.timeline.a_week(subject.timeline.up_seconds) == pytest.approx(6 * 7, rel=0.1)


def test_what_validate_knows_of_a_window_stands_beside_it() -> None:
    subject = the("ScaledObject/app", look(app(cron("0 8 * * 1-5", "0 1 * * 1-5", 1))))
    assert [finding.code for finding in subject.findings] == ["window-over-weekend"]
    annotations = {"keda-py.dev/ignore": "window-over-weekend"}
    assert not the(
        "ScaledObject/app", look(app(cron("0 8 * * 1-5", "0 1 * * 1-5", 1), annotations=annotations))
    ).findings


@pytest.mark.parametrize(
    ("trigger", "field"),
    [
        (cron("0 8 * *"), "spec.triggers[0].metadata.start"),
        (cron(timezone="Mars/Base"), "spec.triggers[0].metadata.timezone"),
        (cron(desired=0), "spec.triggers[0].metadata.desiredReplicas"),
    ],
)
def test_a_window_that_cannot_be_read_is_a_problem_and_no_guess(trigger: dict[str, Any], field: str) -> None:
    found = look(app(trigger))
    assert not found.subjects
    assert [problem.startswith(f"ScaledObject shop/app: {field}") for problem in found.problems] == [True]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"selectPolicy": "Most"}}}}},
            "selectPolicy",
        ),
        (
            {
                "advanced": {
                    "horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"policies": [{"type": "Pods"}]}}}
                }
            },
            "policies",
        ),
        ({"annotations": {"autoscaling.keda.sh/paused-replicas": "many"}}, "is not a number of replicas"),
        ({"minReplicaCount": 9, "maxReplicaCount": 1}, "must be less than"),
    ],
)
def test_what_an_operator_could_not_scale_is_a_problem(spec: dict[str, Any], words: str) -> None:
    found = look(app(WINDOW, **spec), app(WINDOW, name="other"))
    assert [one.name for one in found.subjects] == ["other"]
    assert words in found.problems[0]
