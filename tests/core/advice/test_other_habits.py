"""Habits that no recorded trace has: several windows, nights, southern summer time, noise, gaps, moves, spikes."""

import math
import random
from dataclasses import replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from keda_py.core.advice.candidates import Candidate, NoCandidate, Use, measure
from keda_py.core.advice.history import History, sample_history
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.advice.zones import sharpest_zone
from tests.core.advice.habits import (
    Habit,
    Window,
    awake_minutes,
    changed,
    first_candidate,
    found_in,
    hours,
    index_of,
    is_right,
    without,
)

DAY = 288
OFFICE: tuple[Window, ...] = (("Mon-Fri", "09:00", "18:00"),)
HABITS: dict[str, Habit] = {
    "two windows a day": Habit(windows=[("Mon-Fri", "08:00", "12:00"), ("Mon-Fri", "14:00", "18:00")]),
    "a lunch break of an hour": Habit(windows=[("Mon-Fri", "08:00", "12:00"), ("Mon-Fri", "13:00", "17:00")]),
    "three windows": Habit(
        windows=[("Mon-Sun", "06:00", "08:00"), ("Mon-Fri", "11:00", "14:00"), ("Mon-Sat", "17:00", "21:30")]
    ),
    "past midnight": Habit(windows=[("Fri-Sat", "20:00", "03:00")]),
    "every night past midnight": Habit(windows=[("Mon-Sun", "22:00", "05:30")]),
    "from Sunday night to Monday": Habit(windows=[("Sun", "22:00", "04:00")]),
    "a night shift from Sunday to Thursday": Habit(windows=[("Mon-Thu,Sun", "21:00", "06:00")]),
    "a whole weekend": Habit(windows=[("Sat-Sun", "00:00", "24:00")]),
    "six days": Habit(windows=[("Mon-Fri", "07:00", "22:00"), ("Sat", "09:00", "14:00")]),
    "a batch on Sundays": Habit(windows=[*OFFICE, ("Sun", "03:00", "05:00")]),
    "a short batch each night": Habit(windows=[*OFFICE, ("Mon-Sun", "01:30", "01:45")]),
    "southern summer time": Habit(zone="Australia/Sydney", start=date(2026, 9, 14), weeks=6),
    "the end of southern summer time": Habit(zone="America/Santiago", start=date(2026, 3, 16), weeks=6),
    "the end of northern summer time": Habit(zone="America/New_York", start=date(2026, 10, 5), weeks=7),
    "past midnight, over the change of clocks": Habit(
        zone="Europe/Berlin", start=date(2026, 3, 2), windows=[("Fri-Sat", "20:00", "04:00")]
    ),
    "a zone of half an hour": Habit(zone="Asia/Kolkata", windows=[("Mon-Fri", "09:30", "18:30")]),
    "a zone of three quarters": Habit(zone="Asia/Kathmandu", windows=[("Mon-Fri,Sun", "10:00", "17:00")]),
    "a zone far east": Habit(zone="Pacific/Auckland", windows=[("Mon-Fri", "08:00", "17:00")]),
    "days that begin when they begin": Habit(jitter=25),
    "rough health checks": Habit(floor=0.2, rough=0.3),
    "a request now and then": Habit(density=0.15, weeks=8),
    "many weeks": Habit(weeks=12, jitter=20),
    "three weeks": Habit(weeks=3),
    "four weeks": Habit(weeks=4),
    "health checks": Habit(floor=0.2),
    "many health checks": Habit(floor=3.0, windows=[("Mon-Fri", "06:30", "20:00")]),
    "a history that begins on a Thursday": Habit(start=date(2026, 8, 6)),
    "days off": Habit(off=[date(2026, 8, 10), date(2026, 8, 11), date(2026, 8, 26)]),
}


@pytest.mark.parametrize("name", HABITS)
def test_hours_have_each_habit_and_not_more_than_half_an_hour_besides(name: str) -> None:
    habit = HABITS[name]
    found = first_candidate(habit.history(), habit.zone)
    assert isinstance(found, Candidate), found
    assert is_right(found.hours, habit.windows), [str(each) for each in found.hours]


@pytest.mark.parametrize("name", ["southern summer time", "the end of southern summer time", "days off"])
def test_the_sharpest_zone_is_found_where_summer_time_begins_or_ends(name: str) -> None:
    habit = HABITS[name]
    found = measure(habit.history())
    assert not isinstance(found, NoCandidate)
    zone, _ = sharpest_zone(habit.history(), found[1].steps, ZoneInfo("UTC"))
    assert zone.key == habit.zone


def test_of_zones_that_fit_alike_the_first_one_stays() -> None:
    history = Habit(zone="Europe/Prague", start=date(2026, 3, 2)).history()
    found = measure(history)
    assert not isinstance(found, NoCandidate)
    assert sharpest_zone(history, found[1].steps, ZoneInfo("Europe/Prague"))[0].key == "Europe/Prague"
    assert sharpest_zone(history, found[1].steps, ZoneInfo("Asia/Tokyo"))[0].key == "Europe/Berlin"


def dropping(history: History, share: float, seed: int = 3) -> History:
    chance = random.Random(seed)
    return without(history, *[(at, at + 1) for at in range(len(history.values)) if chance.random() < share])


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_samples_that_are_missing_here_and_there_change_little(share: float) -> None:
    found = first_candidate(dropping(Habit().history(), share))
    assert isinstance(found, Candidate), found
    assert is_right(found.hours, OFFICE)


@pytest.mark.parametrize(
    ("gap", "remaining"),
    [((5 * DAY, 6 * DAY), 5), ((10 * DAY + 60, 12 * DAY + 200), 5), ((14 * DAY, 21 * DAY), 5)],
    ids=["a day", "two days", "a week"],
)
def test_a_gap_of_one_week_is_outweighed_by_the_others(gap: tuple[int, int], remaining: int) -> None:
    assert is_right(first_hours(without(Habit().history(), gap)), OFFICE)


def test_nights_of_which_nothing_is_known_are_not_idle() -> None:
    nights = [(day * DAY + 20 * 12, (day + 1) * DAY + 7 * 12) for day in range(-1, 42)]
    found = first_candidate(without(Habit().history(), *[(max(start, 0), end) for start, end in nights]))
    assert isinstance(found, NoCandidate)
    assert "missing is not idle" in found.because


def test_a_weekday_of_which_nothing_is_known_is_awake_all_day() -> None:
    wednesdays = [(day * DAY, (day + 1) * DAY) for day in range(2, 42, 7)]
    found = first_candidate(without(Habit().history(), *wednesdays))
    assert isinstance(found, Candidate), found
    assert is_right(found.hours, [("Wed", "00:00", "24:00"), ("Mon-Tue,Thu-Fri", "09:00", "18:00")])


def test_no_use_in_a_history_with_great_gaps_is_not_called_never() -> None:
    unused = Habit(windows=()).history()
    assert first_candidate(unused) == Candidate(hours=())
    gaps = [(day * DAY, day * DAY + 4 * 12) for day in range(0, 42, 2)]
    assert isinstance(first_candidate(without(unused, *gaps)), NoCandidate)


def test_a_steady_level_without_more_may_be_use() -> None:
    found = first_candidate(Habit(windows=(), floor=0.2).history())
    assert isinstance(found, NoCandidate)
    assert "which may be use or health checks" in found.because


def test_spikes_of_health_checks_are_no_use() -> None:
    chance = random.Random(5)

    def spike(values: "list[float]") -> None:
        for at in range(len(values)):
            if values[at] < 0.4 and chance.random() < 0.01:
                values[at] = 0.7

    use = found_in(changed(Habit(floor=0.2).history(), spike))  # type: ignore[arg-type]
    assert isinstance(use, Use)
    assert use.marks.spikes > 50
    assert is_right(first_hours(use.history), OFFICE)


def test_a_job_of_each_hour_is_part_of_the_floor_and_is_told() -> None:
    def tick(values: "list[float]") -> None:
        for at in range(0, len(values), 12):
            values[at] += 4.0

    use = found_in(changed(Habit().history(), tick))  # type: ignore[arg-type]
    assert isinstance(use, Use)
    assert use.marks.hourly == (0,)
    assert hours(use.history) == ["Mon-Fri 09:00-18:00"]


def joined(*parts: History) -> History:
    first = parts[0]
    values = first.values[:0]
    for part in parts:
        values += part.values
    return History(origin=first.origin, step=first.step, values=values)


@pytest.mark.parametrize("before", [2, 4, 9])
@pytest.mark.parametrize("after", [2, 3, 4])
def test_the_weeks_before_a_move_count_no_more(before: int, after: int) -> None:
    start = date(2026, 6, 1)
    moved = start + timedelta(weeks=before)
    later = Habit(windows=[("Mon-Fri", "06:30", "15:30")], start=moved, weeks=after)
    history = joined(Habit(start=start, weeks=before).history(), later.history())
    use = found_in(history)
    assert isinstance(use, Use)
    assert use.change is not None
    assert use.change.since == moved
    assert hours(history) == ["Mon-Fri 06:30-15:30"]


def test_a_move_within_a_week_is_dated_to_the_day() -> None:
    old = Habit(weeks=8).history()
    new = Habit(weeks=8, windows=[("Mon-Fri", "12:00", "20:00")]).history()
    cut = (4 * 7 + 2) * DAY
    use = found_in(History(origin=old.origin, step=300, values=old.values[:cut] + new.values[cut:]))
    assert isinstance(use, Use)
    assert use.change is not None
    assert use.change.since == date(2026, 9, 2)


EARLY: tuple[Window, ...] = (("Mon-Fri", "06:30", "15:30"),)
LATELY: dict[str, tuple[Habit, list[str]]] = {
    "hours that begin when they begin": (Habit(windows=EARLY, jitter=20), ["Mon-Fri 06:30-15:30"]),
    "an hour later": (Habit(windows=[("Mon-Fri", "10:00", "19:00")]), ["Mon-Fri 10:00-19:00"]),
    "other days": (Habit(windows=[("Tue-Sat", "09:00", "18:00")]), ["Tue-Sat 09:00-18:00"]),
    "away": (Habit(windows=()), ["Mon-Fri 09:00-18:00"]),
    "half days": (Habit(windows=[("Mon-Fri", "09:00", "13:00")]), ["Mon-Fri 09:00-18:00"]),
    "longer days": (Habit(windows=[("Mon-Fri", "07:00", "20:00")]), ["Mon-Fri 07:00-20:00"]),
    "away, while a test runs at night": (
        Habit(windows=[("Mon-Fri", "01:00", "05:00")]),
        ["Mon-Fri 01:00-05:00", "Mon-Fri 09:00-18:00"],
    ),
}


@pytest.mark.parametrize("name", LATELY)
def test_two_weeks_show_hours_that_have_moved_and_nothing_else(name: str) -> None:
    """Hours that only went may be those of people who are away: they stay until a third week shows the same."""
    later, wanted = LATELY[name]
    later = replace(later, start=date(2026, 9, 14), weeks=2)
    assert hours(joined(Habit(weeks=6).history(), later.history())) == wanted


def test_a_move_twelve_days_ago_is_not_known_yet() -> None:
    """Mondays and Tuesdays were seen once since."""
    old, new = Habit(weeks=8).history(), Habit(weeks=8, windows=EARLY).history()
    cut = (6 * 7 + 2) * DAY
    history = History(origin=old.origin, step=300, values=old.values[:cut] + new.values[cut:])
    use = found_in(history)
    assert isinstance(use, Use)
    assert use.change is None or not use.change.forgets
    assert awake_minutes(first_hours(history)) >= awake_minutes(first_hours(Habit(weeks=8).history()))


def test_shifts_that_change_each_week_have_not_moved() -> None:
    early, late = (Habit(weeks=8, windows=each).history().values for each in (EARLY, OFFICE))
    week = 7 * DAY
    values = early[:0]
    for number in range(8):
        values += (early, late)[number % 2][number * week : (number + 1) * week]
    assert hours(History(origin=Habit().history().origin, step=300, values=values)) == ["Mon-Fri 06:30-18:00"]


def test_a_habit_of_the_last_week_alone_is_added_to_the_old_one() -> None:
    history = joined(Habit(weeks=7).history(), Habit(weeks=1, windows=[("Mon-Fri", "07:00", "16:00")]).history())
    assert hours(history) == ["Mon-Fri 07:00-18:00"]


def test_holidays_without_use_are_closed_and_those_with_use_are_not() -> None:
    day = date(2026, 8, 19)
    assert first_candidate(Habit(off=[day]).history(), holidays={day: "Feast"}) == Candidate(
        hours=first_hours(Habit().history()), closed=True
    )
    assert first_candidate(Habit().history(), holidays={day: "Feast"}) == Candidate(
        hours=first_hours(Habit().history())
    )


def first_hours(history: History) -> tuple[AwakeHours, ...]:
    found = first_candidate(history)
    assert isinstance(found, Candidate)
    return found.hours


def test_a_job_of_the_last_two_sundays_is_added() -> None:
    sunday = Habit(weeks=2, windows=[("Mon-Fri", "09:00", "18:00"), ("Sun", "03:00", "05:00")])
    assert hours(joined(Habit(weeks=8).history(), sunday.history())) == ["Sun 03:00-05:00", "Mon-Fri 09:00-18:00"]


def test_evenings_that_began_last_week_are_added() -> None:
    evenings = Habit(weeks=1, windows=[("Mon-Fri", "09:00", "18:00"), ("Mon-Thu", "20:00", "22:00")])
    found = hours(joined(Habit(weeks=8).history(), evenings.history()))
    assert found == ["Mon-Fri 09:00-18:00", "Mon-Thu 20:00-22:00"]


def test_an_odd_use_at_the_hours_of_other_days_is_no_new_habit() -> None:
    def odd(values: "list[float]") -> None:
        values[(5 * 7 + 6) * DAY + 12 * 12] = 4.0

    assert hours(changed(Habit().history(), odd)) == ["Mon-Fri 09:00-18:00"]  # type: ignore[arg-type]


def test_a_monthly_job_is_no_weekly_habit() -> None:
    habit = Habit(weeks=8)
    history = habit.history()

    def monthly(values: "list[float]") -> None:
        for day in (date(2026, 9, 1),):
            at = (day - habit.start).days * DAY
            values[at : at + 24] = type(values)("d", [5.0] * 24)  # type: ignore[call-overload]

    assert hours(changed(history, monthly)) == ["Mon-Fri 09:00-18:00"]  # type: ignore[arg-type]


def test_every_other_sunday_is_a_habit() -> None:
    history = Habit(weeks=8).history()

    def biweekly(values: "list[float]") -> None:
        for week in range(0, 8, 2):
            at = (week * 7 + 6) * DAY + 36
            for step in range(at, at + 24):
                values[step] = 5.0

    assert hours(changed(history, biweekly)) == ["Sun 03:00-05:00", "Mon-Fri 09:00-18:00"]  # type: ignore[arg-type]


def test_what_is_not_used_any_more_is_asked_about() -> None:
    found = first_candidate(joined(Habit(weeks=5).history(), Habit(weeks=3, windows=()).history()))
    assert isinstance(found, NoCandidate)
    assert found.because == "it was used until 2026-09-07 and never since; is it still needed?"


@pytest.mark.parametrize("first", [0, 14, 21])
def test_two_weeks_without_data_of_six_leave_enough(first: int) -> None:
    history = without(Habit().history(), (first * DAY, (first + 14) * DAY))
    assert is_right(first_hours(history), OFFICE)


def test_use_of_a_known_instant_lies_in_its_step() -> None:
    habit = Habit(zone="Asia/Kolkata")
    history = habit.history()
    assert index_of(history.origin, history.origin) == 0
    assert math.isfinite(history.values[0])


def test_a_step_of_which_half_is_unknown_is_missing() -> None:
    history = sample_history([0.0, 60.0, 120.0, 180.0, 240.0, 300.0], [1.0, math.nan, math.nan, math.nan, 3.0, 4.0])
    assert math.isnan(history.values[0])
    history = sample_history([0.0, 60.0, 120.0, 180.0, 240.0, 300.0], [1.0, math.nan, 2.0, math.nan, 3.0, 4.0])
    assert history.values[0] == 2.0


def test_a_row_that_is_left_out_is_missing_data() -> None:
    history = sample_history([0.0, 300.0, 600.0, 1800.0, 2100.0], [1.0, 1.0, 1.0, 1.0, 1.0])
    assert [math.isnan(value) for value in history.values] == [False, False, False, True, True, True, False, False]
