"""The objects of a namespace under Environments, Overrides and ScalingSchedules."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.builders import config_map, cron, deployment, obj, override, scaling_schedule
from tests.preview.builders import app, dev, look, moves, the

DAY = timedelta(days=1)
ALL_DAY = cron("0 6 * * *", "0 22 * * *", 3)


def test_an_environment_puts_a_scaled_object_to_sleep_and_gives_its_window_back() -> None:
    found = look(app(ALL_DAY), dev(), length=DAY)
    assert moves(the("Environment/dev", found)) == [("Mon 08:00:00", 0, 1), ("Mon 18:00:00", 1, 0)]
    assert moves(the("ScaledObject/app", found)) == [("Mon 08:00:00", 0, 3), ("Mon 18:00:00", 3, 0)]


def test_workloads_get_their_count_back_and_cron_jobs_are_resumed() -> None:
    job = obj("batch/v1", "CronJob", "report", "shop", spec={})
    found = look(deployment("plain", 3, namespace="shop"), job, dev(), length=DAY)
    assert moves(the("Deployment/plain", found)) == [("Mon 08:00:00", 0, 3), ("Mon 18:00:00", 3, 0)]
    assert moves(the("CronJob/report", found)) == [("Mon 08:00:00", 0, 1), ("Mon 18:00:00", 1, 0)]


def test_waves_wake_after_their_pause_and_fall_asleep_in_reverse() -> None:
    waves = [{"name": "first", "pause": "90s", "selector": {"matchLabels": {"wave": "first"}}}]
    first = deployment("db", 1, namespace="shop")
    first["metadata"]["labels"] = {"wave": "first"}
    found = look(first, deployment("web", 1, namespace="shop"), dev(waves=waves), length=DAY)
    assert moves(the("Deployment/db", found)) == [("Mon 08:00:00", 0, 1), ("Mon 18:01:30", 1, 0)]
    assert moves(the("Deployment/web", found)) == [("Mon 08:01:30", 0, 1), ("Mon 18:00:00", 1, 0)]


def test_a_holiday_of_a_file_keeps_it_asleep() -> None:
    event = (
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261124\r\nSUMMARY:Fair\r\nEND:VEVENT\r\nEND:VCALENDAR"
    )
    source = {"ics": {"configMapKeyRef": {"name": "fair", "key": "ics"}}}
    calendar = {
        "timeZone": "UTC",
        "hours": [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}],
        "holidays": [{"country": "US"}, source],
    }
    found = look(config_map("fair", "shop", ics=event), dev(calendar=calendar))
    days = [at.partition(" ")[0] for at, _, up in moves(the("Environment/dev", found)) if up]
    assert days == ["Mon", "Wed", "Fri"]  # the 26th is Thanksgiving


def test_an_override_wakes_an_environment_for_its_time() -> None:
    late = override("late", "shop", state="Awake", **{"from": "2026-11-23T20:00:00Z", "for": "2h", "reason": "release"})
    subject = the("Environment/dev", look(dev(), late, length=DAY))
    assert moves(subject)[2:] == [("Mon 20:00:00", 0, 1), ("Mon 22:00:00", 1, 0)]
    assert "release" in subject.timeline.moves[2].because


def test_an_override_of_a_scaled_object_needs_no_environment() -> None:
    target = {"kind": "ScaledObject", "name": "app"}
    exact = override("late", "shop", target=target, replicas=7, **{"from": "2026-11-23T10:00:00Z", "for": "1h"})
    asleep = override("nap", "shop", target=target, state="Asleep", **{"from": "2026-11-23T12:00:00Z", "for": "1h"})
    found = look(app(ALL_DAY, cooldownPeriod=0), exact, asleep, length=DAY)
    assert moves(the("ScaledObject/app", found)) == [
        ("Mon 06:00:00", 0, 3),
        ("Mon 10:00:00", 3, 7),
        ("Mon 11:00:00", 7, 3),
        ("Mon 12:00:00", 3, 0),
        ("Mon 13:00:00", 0, 3),
        ("Mon 22:00:00", 3, 0),
    ]


def test_a_schedule_moves_the_bounds_below_what_an_environment_lays() -> None:
    period = {"name": "noon", "hours": [{"from": "12:00", "to": "19:00"}], "minReplicas": 4}
    schedule = scaling_schedule("noon", "shop", names=["app"], periods=[period])
    found = look(app(ALL_DAY), dev(), schedule, length=DAY)
    assert moves(the("ScaledObject/app", found)) == [
        ("Mon 08:00:00", 0, 3),
        ("Mon 12:00:00", 3, 4),
        ("Mon 18:00:00", 4, 0),
    ]


def test_a_sleeping_workload_of_a_cluster_gets_back_what_its_environment_remembers() -> None:
    live = dev()
    live["status"] = {"phase": "Asleep", "members": {"Deployment/plain": {"stage": "Down", "replicas": 6}}}
    live["status"]["members"]["Deployment/plain"]["since"] = "2026-11-22T18:00:00Z"
    found = look(deployment("plain", 0, namespace="shop"), live, length=DAY)
    assert moves(the("Deployment/plain", found))[0] == ("Mon 08:00:00", 0, 6)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (dev(calendar=None, calendarRef={"name": "gone"}), "there is no Calendar 'gone' here"),
        (dev(waves=[{"name": "rest"}]), "is taken"),
        (override("late", "shop", state="Awake", until="soon"), "is not a time"),
    ],
)
def test_what_cannot_be_read_is_a_problem(body: dict[str, Any], words: str) -> None:
    found = look(app(ALL_DAY), dev() if body["kind"] == "Override" else body, body)
    assert words in " ".join(found.problems)
    assert the("ScaledObject/app", found).timeline.up_seconds


def test_namespaces_do_not_meddle_with_each_other() -> None:
    elsewhere = deployment("plain", 3, namespace="other")
    assert not [one for one in look(elsewhere, dev(), length=DAY).subjects if one.kind == "Deployment"]


def test_a_workload_that_cannot_be_read_is_a_problem() -> None:
    odd = deployment("odd", 3, namespace="shop")
    odd["metadata"]["creationTimestamp"] = "yesterday"
    found = look(odd, dev(), length=DAY)
    assert found.problems[0].startswith("Deployment shop/odd: metadata.creationTimestamp: 'yesterday'")
    assert found.subjects


@pytest.mark.timeout(60)
def test_a_preview_that_begins_between_two_milliseconds_comes_to_its_end() -> None:
    """Whole microseconds since such a beginning may lie before the engine's own seconds: the same look was due for ever."""
    for microsecond in (961_492, *range(7, 1_000_000, 40_009)):
        begins = datetime(2026, 11, 26, 7, 4, 6, microsecond, tzinfo=UTC)
        found = look(app(cron("0 1 * * *", "0 4 * * *", 6)), begins=begins, length=3 * DAY)
        assert [up for _, _, up in moves(the("ScaledObject/app", found))] == [6, 0] * 3
