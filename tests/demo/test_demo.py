"""The demo's own parts: what is expected, what counts as missed, and how it is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from keda_py.clock import SteppedClock
from keda_py.demo.command import four_days, perform
from keda_py.demo.evening import Visitor
from keda_py.demo.phases import WatchedPhase, draw_environment
from keda_py.demo.picture import draw
from keda_py.demo.play import Act, Stage
from keda_py.demo.recorder import explain
from keda_py.demo.scenario import NIGHTLY, QUEUE, SEOUL, WEEKDAYS, expected_changes, queue_length
from keda_py.demo.screen import PlainScreen
from keda_py.demo.timeline import Timeline, TimelineChange, missed
from keda_py.demo.week import MONDAY, NAMES, week

START = datetime(2026, 11, 17, 3, tzinfo=UTC)  # Tuesday noon in Seoul
END = START + timedelta(days=4)
NO_CLUSTER: Any = None


def expected_times(name: str, *, up: bool) -> list[str]:
    found = expected_changes(START, END)
    return [f"{one.at.astimezone(SEOUL):%a %H:%M}" for one in found if one.name == name and one.up is up]


def test_an_onlooker_sees_the_replicas_follow_a_metric_within_a_minute() -> None:
    assert four_days(1).hpa_sync_seconds <= 60


def test_the_nightly_workload_is_expected_every_morning_and_evening() -> None:
    assert expected_times(NIGHTLY, up=True) == ["Wed 08:30", "Thu 08:30", "Fri 08:30", "Sat 08:30"]
    assert expected_times(NIGHTLY, up=False) == ["Tue 19:35", "Wed 19:35", "Thu 19:35", "Fri 19:35"]


def test_the_weekday_workload_is_not_expected_on_saturday() -> None:
    assert expected_times(WEEKDAYS, up=True) == ["Wed 08:30", "Thu 08:30", "Fri 08:30"]


def test_jobs_wait_in_the_queue_only_while_a_batch_lasts() -> None:
    at = datetime(2026, 11, 18, 10, 30, tzinfo=SEOUL)
    assert queue_length(at) == 40
    assert queue_length(at + timedelta(hours=1)) == 0


def changes_as_expected() -> list[TimelineChange]:
    return [
        TimelineChange(at=one.at, name=one.name, before=0 if one.up else 1, after=1 if one.up else 0)
        for one in expected_changes(START, END)
    ]


def test_what_happens_on_time_is_not_missed() -> None:
    assert missed(expected_changes(START, END), changes_as_expected()) == []


@pytest.mark.parametrize("late", [timedelta(minutes=5), -timedelta(minutes=5)], ids=["late", "early"])
def test_a_change_at_the_wrong_time_is_missed_and_unexpected(late: timedelta) -> None:
    changes = changes_as_expected()
    index = next(i for i, change in enumerate(changes) if change.name == NIGHTLY and i > 5)
    wrong = changes[index]
    changes[index] = TimelineChange(at=wrong.at + late, name=wrong.name, before=wrong.before, after=wrong.after)
    problems = missed(expected_changes(START, END), changes)
    assert len(problems) == 2
    assert problems[0].startswith(f"{NIGHTLY}: no ")
    assert problems[1].startswith(f"{NIGHTLY}: unexpected ")


def test_replica_hours_are_counted_from_start_to_end() -> None:
    hour = timedelta(hours=1)
    changes = [
        TimelineChange(at=START + hour, name=NIGHTLY, before=1, after=3),
        TimelineChange(at=START + 2 * hour, name=NIGHTLY, before=3, after=0),
    ]
    timeline = Timeline(start=START, end=START + 4 * hour, changes=changes, first={NIGHTLY: 1})
    assert timeline.replica_hours(NIGHTLY) == 1 + 3
    assert timeline.always_on_hours() == 4


def test_the_picture_is_well_formed_and_names_every_workload() -> None:
    timeline = Timeline(start=START, end=END, changes=changes_as_expected(), first={NIGHTLY: 1})
    picture = draw(timeline, [NIGHTLY, WEEKDAYS, QUEUE], SEOUL, title="t")
    texts = [node.text for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {NIGHTLY, WEEKDAYS, QUEUE} <= set(texts)


def shapes(timeline: Timeline, tag: str) -> list[ElementTree.Element]:
    picture = draw(timeline, [NIGHTLY, WEEKDAYS, QUEUE], SEOUL, title="t")
    return list(ElementTree.fromstring(picture).iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def test_the_picture_has_a_scale_of_hours_in_the_zone() -> None:
    timeline = Timeline(start=START, end=END, changes=changes_as_expected(), first={NIGHTLY: 1})
    texts = [node.text for node in shapes(timeline, "text")]
    assert [texts.count(hour) for hour in ("00", "06", "12", "18")] == [4, 4, 4, 4]
    assert "hours in Asia/Seoul" in texts


def test_a_replica_is_as_high_in_every_lane_of_the_picture() -> None:
    up = [
        TimelineChange(at=START, name=NIGHTLY, before=1, after=3),
        TimelineChange(at=START, name=WEEKDAYS, before=0, after=1),
        TimelineChange(at=START, name=QUEUE, before=0, after=5),
    ]
    timeline = Timeline(start=START - timedelta(hours=1), end=END, changes=up)
    heights = [float(node.attrib["height"]) for node in shapes(timeline, "rect") if node.get("class") == "bar"]
    assert [height / heights[1] for height in heights] == [3, 1, 5]


def test_the_names_stand_clear_of_the_chart() -> None:
    timeline = Timeline(start=START, end=END, changes=changes_as_expected(), first={NIGHTLY: 1})
    begin = min(float(node.attrib["x1"]) for node in shapes(timeline, "line"))
    widest = 8 * len(NIGHTLY)  # pixels: more than a bold letter of 12 pixels takes on average
    assert 16 + widest < begin


@pytest.mark.parametrize(
    ("reason", "note", "metric", "decision"),
    [
        (
            "KEDAScaleTargetActivated",
            "Scaled apps/v1.Deployment a/b from 0 to 1, triggered by s0-cron",
            "s0-cron",
            "activated",
        ),
        ("KEDAScaleTargetDeactivated", "Deactivated apps/v1.Deployment a/b from 1 to 0", "", "deactivated"),
        (
            "SuccessfulRescale",
            "New size: 3; reason: external metric s0-q(&LabelSelector{x:map[string]string{a: b,},}) above target",
            "s0-q",
            "above target",
        ),
        (
            "SuccessfulRescale",
            "New size: 3; reason: memory resource utilization (percentage of request) above target",
            "memory",
            "above target",
        ),
        ("SuccessfulRescale", "New size: 1; reason: All metrics below target", "", "all metrics below target"),
    ],
)
def test_an_event_is_told_in_a_few_words(reason: str, note: str, metric: str, decision: str) -> None:
    assert explain(reason, note)[0] == metric
    assert decision in explain(reason, note)[1]


async def test_an_act_that_fails_is_told_and_the_days_go_on() -> None:
    clock, done = SteppedClock(START), list[datetime]()
    stage = Stage(client=NO_CLUSTER, store=NO_CLUSTER, clock=clock, tell=lambda *_: None, namespace="demo")

    async def note(seen: Stage) -> None:
        done.append(seen.clock.now())

    hour = timedelta(hours=1)
    acts = [Act(at=START + hour, does=Visitor("web").see_answer), Act(at=START + 2 * hour, does=note)]
    play = replace(four_days(1), acts=acts, end=START + 3 * hour)
    screen = PlainScreen(Console(), SEOUL)
    assert await perform(play, stage, clock, screen) == ["Tue 17 Nov 04:00:00: no request waits"]
    assert (done, clock.now()) == ([START + 2 * hour], START + 3 * hour)


def week_times(name: str, *, up: bool) -> list[str]:
    found = [one for one in week(7).expected if one.name == name and one.up is up]
    return [f"{one.at:%a %H:%M:%S}" for one in sorted(found, key=lambda one: one.at)]


def test_the_week_has_a_late_evening_with_a_visitor_and_a_holiday() -> None:
    assert week_times("cache", up=True) == [
        "Mon 08:30:00",
        "Mon 22:10:00",
        "Tue 08:30:00",
        "Wed 08:30:00",
        "Fri 08:30:00",
        "Mon 08:30:00",
    ]
    asleep = ["Mon 22:00:00", "Tue 00:10:00", "Tue 19:30:00", "Wed 19:30:00", "Fri 19:30:00"]
    assert week_times("cache", up=False) == asleep
    assert week_times("mail", up=True)[0] == "Mon 08:32:50"


def test_what_another_controller_puts_back_once_goes_down_again_and_twice_stays() -> None:
    assert week_times("web", up=True)[3:6] == ["Tue 19:40:00", "Tue 19:50:00", "Fri 08:32:50"]
    assert week_times("web", up=False)[2:5] == ["Tue 19:30:00", "Tue 19:40:00", "Wed 19:30:00"]


def test_no_word_of_the_picture_of_an_environment_stands_on_another() -> None:
    hour, play = timedelta(hours=1), week(7)
    names = [("override", 13), ("", 16), ("request", 16.2), ("", 18), ("contested", 34), ("", 50), ("holiday", 51)]
    ends = [*(at for _, at in names[1:]), 80]
    phases = [
        WatchedPhase(at=MONDAY + hour * at, until=MONDAY + hour * end, name="Awake", because="holiday: X", note=note)
        for (note, at), end in zip(names, ends, strict=True)
    ]
    changes = [TimelineChange(at=MONDAY, name=name, before=0, after=2) for name in NAMES]
    timeline = Timeline(start=MONDAY, end=MONDAY + 170 * hour, changes=changes)
    root = ElementTree.fromstring(draw_environment(timeline, phases, play))
    texts = [node for node in root.iter("{http://www.w3.org/2000/svg}text") if node.get("text-anchor") is None]
    places = sorted((float(one.attrib["y"]), float(one.attrib["x"]), one.text or "") for one in texts)
    assert {"woken by a request", "kept awake", "up to 18 replicas"} <= {text for *_, text in places}
    for (y, x, text), (below, right, _) in pairwise(places):
        assert below - y >= 10 or x + 5 * len(text) <= right  # pixels: a letter of 10 pixels is 5 wide on average
    begin = min(float(node.attrib["x1"]) for node in root.iter("{http://www.w3.org/2000/svg}line"))
    assert max(x + 6 * len(text) for _, x, text in places if x == 16 and text.startswith(("up to", "shop"))) < begin


def test_the_picture_of_an_environment_is_one_lane_with_its_phases_above() -> None:
    hour, play = timedelta(hours=1), week(7)
    changes = [
        TimelineChange(at=MONDAY + hour * number, name=name, before=0, after=2)
        for number, name in enumerate(NAMES, start=8)
    ]
    phases = [
        WatchedPhase(at=MONDAY, until=MONDAY + 20 * hour, name="Awake", because="hours"),
        WatchedPhase(at=MONDAY + 20 * hour, until=MONDAY + 22 * hour, name="Awake", because="release", note="override"),
        WatchedPhase(
            at=MONDAY + 22 * hour, until=MONDAY + 48 * hour, name="Asleep", because="holiday: X", note="holiday"
        ),
    ]
    timeline = Timeline(start=MONDAY, end=MONDAY + 48 * hour, changes=changes)
    root = ElementTree.fromstring(draw_environment(timeline, phases, play))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"shop", "up to 18 replicas", "kept awake", "holiday: X", "always on: 864"} <= set(texts)
    assert [node.get("class") for node in root.iter() if node.get("class")].count("strip") == 3
