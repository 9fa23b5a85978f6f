"""Openings of a cycle, their words, and the gaps of summer time: compared with the rule of each moment."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.cron.fields import CronFields, parse_fields
from keda_py.core.cron.openings import MOST_FIRINGS, Openings, gaps_between, openings_of, shared_minutes, union
from keda_py.core.cron.windows import CronWindow, gap_of, is_open
from keda_py.core.cron.words import in_words

A_MONDAY, A_LEAP_YEAR = datetime(2029, 1, 1, tzinfo=UTC), datetime(2032, 1, 1, tzinfo=UTC)

times = st.sampled_from(["0 8", "30 8", "0 12,18", "15 20", "0 0", "59 23", "*/20 6-8", "0 */6", "0 22"])
weekdays = st.sampled_from(["* * *", "* * 1-5", "* * 0", "* * 6,0", "* * fri", "? * 2-4", "1-31 * 1-5"])
days = st.sampled_from(["1 * *", "*/2 * *", "31 * *", "13 * 5", "* 2-3 *", "29 2 *", "30 2 *", "* 6 1-5"])
weekly = st.builds(lambda time, day: f"{time} {day}", times, weekdays)
yearly = st.builds(lambda time, day: f"{time} {day}", times, days)


def fields(text: str) -> CronFields:
    return parse_fields(text, field="schedule")


def openings(start: str, end: str) -> Openings:
    found = openings_of(fields(start), fields(end))
    assert found is not None
    return found


@given(start=weekly, end=weekly, minute=st.integers(0, 7 * 24 * 60 - 1))
def test_a_week_is_open_when_its_window_is(start: str, end: str, minute: int) -> None:
    now = A_MONDAY + timedelta(minutes=minute)
    found = openings(start, end)
    assert found.weekly
    assert found.covers(minute) == is_open(CronWindow(start=start, end=end, timezone="UTC"), now)


@given(start=yearly, end=yearly | weekly, day=st.integers(40, 320), minute=st.integers(0, 1439))
def test_a_year_is_open_when_its_window_is(start: str, end: str, day: int, minute: int) -> None:
    found = openings_of(fields(start), fields(end))
    if found is None or gone_over_new_year(found):
        return  # too many firings; or the year after is no leap year, and has other weekdays
    now = A_LEAP_YEAR + timedelta(days=day, minutes=minute)
    assert found.covers(day * 1440 + minute) == is_open(CronWindow(start=start, end=end, timezone="UTC"), now)


def gone_over_new_year(found: Openings) -> bool:
    return any(closes - opens > 40 * 1440 for opens, closes in (*found.spans, *gaps_between(found)))


@given(one=st.tuples(weekly, weekly), other=st.tuples(weekly, weekly), minute=st.integers(0, 7 * 24 * 60 - 1))
def test_a_union_is_open_when_one_of_its_windows_is(one: tuple[str, str], other: tuple[str, str], minute: int) -> None:
    first, second = openings(*one), openings(*other)
    both = union((first, second), first.cycle)
    assert both.covers(minute) == (first.covers(minute) or second.covers(minute))
    assert 0 <= shared_minutes(first, second) <= min(first.minutes, second.minutes)
    closed = sum(closes - opens for opens, closes in gaps_between(both))
    assert not both.spans or both.minutes + closed == both.cycle


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("30 8 * * 1-5", "30 19 * * 1-5", "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week"),
        ("30 8 * * *", "30 19 * * *", "daily 08:30-19:30 Asia/Seoul, 77 h a week"),
        ("0 22 * * 1,3", "0 6 * * 2,4", "Mon, Wed 22:00-06:00 Asia/Seoul, 16 h a week"),
        ("0 8 * * 6,0", "0 0 * * 0,1", "Sat, Sun 08:00-24:00 Asia/Seoul, 32 h a week"),
        ("0 8 * * 1-5", "0 1 * * 1-5", "Mon-Thu 08:00-01:00, Fri 08:00 to Mon 01:00 Asia/Seoul, 133 h a week"),
        ("0 8 * * 1-5", "0 20 * * *", "Mon-Thu 08:00-20:00, Fri 08:00 to Sun 20:00 Asia/Seoul, 108 h a week"),
        ("0 8 * * 1", "0 20 * * 5", "Mon 08:00 to Fri 20:00 Asia/Seoul, 108 h a week"),
        ("0 9 1 * *", "0 17 1 * *", "12 times a year, 96 h; first 1 Jan 09:00-17:00 Asia/Seoul"),
        ("0 9 29 2 *", "0 17 29 2 *", "once a year, 8 h; first 29 Feb 09:00-17:00 Asia/Seoul"),
        ("0 8 * * *", "0 9 30 2 *", "never open"),
        ("0 8 * * 1-5", "0 8 * * mon-fri", "always open"),
    ],
)
def test_a_window_in_words(start: str, end: str, words: str) -> None:
    assert in_words(openings(start, end), "Asia/Seoul") == words


@pytest.mark.parametrize("start", ["* * * * *", "*/2 * * * *", "0-59 0-23 1-31 1-12 *"])
def test_what_fires_too_often_is_not_looked_at(start: str) -> None:
    assert openings_of(fields(start), fields("0 8 * * *")) is None
    assert MOST_FIRINGS < 7 * 1440


@pytest.mark.parametrize(
    ("expression", "zone", "gap"),
    [
        ("30 2 * * *", "Europe/Prague", "02:00-03:00"),
        ("30 2 * * 0", "America/New_York", "02:00-03:00"),
        ("0 0 * * *", "Africa/Cairo", "00:00-01:00"),
        ("30 2 * * 1-5", "Europe/Prague", ""),
        ("0 3 * * *", "Europe/Prague", ""),
        ("30 2 * * *", "Asia/Seoul", ""),
        ("30 * * * *", "Europe/Prague", ""),
    ],
)
def test_a_boundary_that_summer_time_skips(expression: str, zone: str, gap: str) -> None:
    found = gap_of(fields(expression), zone)
    assert (f"{found.begins:%H:%M}-{found.ends:%H:%M}" if found else "") == gap
