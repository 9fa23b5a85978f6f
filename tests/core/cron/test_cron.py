"""Cron windows and expressions, one rule at a time; recordings and brute force have files of their own."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.cron.windows import (
    CronWindow,
    check_expression,
    is_open,
    next_change,
    next_fire,
    parse_window,
)
from keda_py.core.cron.zones import load_zone
from keda_py.errors import ConfigError

SEOUL, PRAGUE = ZoneInfo("Asia/Seoul"), ZoneInfo("Europe/Prague")
OFFICE = parse_window("30 08 * * *", "30 19 * * *", "Asia/Seoul")
NIGHT = parse_window("0 22 * * *", "0 6 * * *", "Europe/Prague")
WEEK = parse_window("0 8 * * 1", "0 18 * * 5", "Europe/Prague")


def seoul(*moment: int) -> datetime:
    return datetime(*moment, tzinfo=SEOUL)


def prague(*moment: int) -> datetime:
    return datetime(*moment, tzinfo=PRAGUE)


@pytest.mark.parametrize(
    ("window", "now", "open"),
    [
        pytest.param(OFFICE, seoul(2026, 5, 4, 8, 29, 59), False, id="a second before the start"),
        pytest.param(OFFICE, seoul(2026, 5, 4, 8, 30), True, id="at the start"),
        pytest.param(OFFICE, seoul(2026, 5, 4, 19, 29, 59), True, id="a second before the end"),
        pytest.param(OFFICE, seoul(2026, 5, 4, 19, 30), False, id="at the end"),
        pytest.param(NIGHT, prague(2026, 5, 4, 1), True, id="over midnight, at one in the morning"),
        pytest.param(NIGHT, prague(2026, 5, 4, 12), False, id="over midnight, at noon"),
        pytest.param(WEEK, prague(2026, 5, 6, 3), True, id="Monday to Friday, on Wednesday night"),
        pytest.param(WEEK, prague(2026, 5, 9, 12), False, id="Monday to Friday, on Saturday"),
    ],
)
def test_a_window_is_open_from_its_start_until_just_before_its_end(
    window: CronWindow, now: datetime, open: bool
) -> None:
    assert is_open(window, now) is open


@pytest.mark.parametrize(
    ("now", "change"),
    [
        pytest.param(seoul(2026, 5, 4, 8, 29, 59), seoul(2026, 5, 4, 8, 30), id="closed: it opens"),
        pytest.param(seoul(2026, 5, 4, 8, 30), seoul(2026, 5, 4, 19, 30), id="just opened: it closes"),
        pytest.param(seoul(2026, 5, 4, 19, 30), seoul(2026, 5, 5, 8, 30), id="just closed: tomorrow"),
    ],
)
def test_the_next_change_is_known_to_the_second(now: datetime, change: datetime) -> None:
    assert next_change(OFFICE, now) == change


def test_a_weekday_schedule_with_both_days_restricted_wakes_on_saturday_too() -> None:
    # Day of month `1-31` has no star, so either side suffices and the weekdays restrict nothing.
    assert next_fire("30 8 1-31 * 1-5", "UTC", datetime(2026, 5, 8, 9, tzinfo=UTC)) == datetime(
        2026, 5, 9, 8, 30, tzinfo=UTC
    )


def test_a_range_with_equal_ends_is_that_one_value() -> None:
    assert next_fire("0 9-9 * * *", "UTC", datetime(2026, 5, 8, 10, tzinfo=UTC)) == datetime(2026, 5, 9, 9, tzinfo=UTC)


def test_a_zone_in_the_expression_overrides_the_zone_of_the_trigger() -> None:
    window = parse_window("CRON_TZ=Asia/Seoul 0 9 * * *", "TZ=Europe/Prague 0 9 * * *", "UTC")
    opens, closes = seoul(2026, 5, 4, 9), prague(2026, 5, 4, 9)
    assert [is_open(window, opens), is_open(window, closes)] == [True, False]
    assert next_change(window, opens) == closes


class TestNever:
    """An expression that never fires within five years."""

    NEVER, DAILY = "0 0 30 2 *", "0 8 * * *"
    NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)

    def test_an_end_that_never_comes_leaves_the_window_closed(self) -> None:
        window = parse_window(self.DAILY, self.NEVER, "UTC")
        assert not is_open(window, self.NOW)
        assert next_change(window, self.NOW) == datetime(2026, 5, 5, 8, tzinfo=UTC)

    def test_a_start_that_never_comes_leaves_the_window_open(self) -> None:
        window = parse_window(self.NEVER, self.DAILY, "UTC")
        assert is_open(window, self.NOW)
        assert next_change(window, self.NOW) == datetime(2026, 5, 5, 8, tzinfo=UTC)

    def test_a_window_without_any_firing_never_changes(self) -> None:
        window = parse_window(self.NEVER, "0 0 31 4 *", "UTC")
        assert next_change(window, self.NOW) is None
        assert not is_open(window, self.NOW)

    @pytest.mark.parametrize(
        ("year", "fires"),
        [
            (2095, datetime(2096, 2, 29, tzinfo=UTC)),
            (2097, None),
            (2099, datetime(2104, 2, 29, tzinfo=UTC)),
        ],
    )
    def test_the_search_ends_with_the_fifth_year(self, year: int, fires: datetime | None) -> None:
        assert next_fire("0 0 29 2 *", "UTC", datetime(year, 6, 1, tzinfo=UTC)) == fires

    def test_a_list_without_entries_is_accepted_and_never_fires(self) -> None:
        assert next_fire(", * * * *", "UTC", self.NOW) is None


class TestClockChanges:
    """Europe/Prague skips 02:00-03:00 on 2026-03-29 and repeats it on 2026-10-25."""

    def test_a_window_that_starts_in_the_gap_loses_no_day(self) -> None:
        window = parse_window("30 2 * * *", "0 20 * * *", "Europe/Prague")
        hours = [prague(2026, 3, 28, 21), prague(2026, 3, 29, 1), prague(2026, 3, 29, 3), prague(2026, 3, 29, 19)]
        assert [is_open(window, now) for now in hours] == [False, False, True, True]

    def test_a_window_that_ends_in_the_gap_gains_no_day(self) -> None:
        window = parse_window("0 22 * * *", "30 2 * * *", "Europe/Prague")
        hours = [prague(2026, 3, 28, 23), prague(2026, 3, 29, 1), prague(2026, 3, 29, 3), prague(2026, 3, 29, 12)]
        assert [is_open(window, now) for now in hours] == [True, True, False, False]

    @pytest.mark.parametrize("end", ["50 2 * * *", "0 3 * * *"])
    def test_a_window_that_lies_in_the_gap_is_not_open_the_whole_day_before(self, end: str) -> None:
        window = parse_window("10 2 * * *", end, "Europe/Prague")
        assert not any(is_open(window, prague(2026, 3, 28, 4) + timedelta(hours=h)) for h in range(23))

    def test_a_break_that_lies_in_the_gap_interrupts_nothing(self) -> None:
        window = parse_window("50 2 * * *", "10 2 * * *", "Europe/Prague")
        assert all(is_open(window, prague(2026, 3, 28, 4) + timedelta(hours=h)) for h in range(40) if h != 22)

    def test_an_hourly_schedule_fires_once_for_the_hour_that_is_skipped(self) -> None:
        fires = [prague(2026, 3, 29, 1, 8)]
        for _ in range(3):
            fires.append((next_fire("8 * * * *", "Europe/Prague", fires[-1]) or fires[-1]).astimezone(PRAGUE))
        assert [f"{fire:%H:%M}" for fire in fires] == ["01:08", "03:00", "03:08", "04:08"]

    def test_a_local_time_that_is_repeated_fires_twice(self) -> None:
        first = next_fire("30 2 * * *", "Europe/Prague", prague(2026, 10, 25, 1))
        assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
        assert next_fire("30 2 * * *", "Europe/Prague", first) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "expected exactly 5 fields, found 0"),
        ("* * * * * *", "expected exactly 5 fields, found 6"),
        ("@daily", "write five fields"),
        ("TZ=UTC", "nothing follows TZ=UTC"),
        ("61 * * * *", "minute '61' is outside of 0-59"),
        ("0 0 0 * *", "day of month '0' is outside of 1-31"),
        ("0 0 * * 7", "day of week '7' is outside of 0-6"),
        ("0 22-4 * * *", "write two ranges: 22-23,0-4"),
        ("*/0 * * * *", "write a positive step"),
        ("1/2/3 * * * *", "more than one '/'"),
        ("1-2-3 * * * *", "more than one '-'"),
        ("0 0 * foo *", "month 'foo' is not a number or jan, feb"),
        ("1_0 * * * *", "minute '1_0' is not a number"),
        ("٣ * * * *", "is not a number"),
        ("9999999999999999999999 * * * *", "is not a number"),
    ],
)
def test_a_wrong_expression_is_refused_with_field_value_and_remedy(expression: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        check_expression(expression, field="start")
    assert refusal.value.field == "start"
    assert f"start: {expression!r} is not a cron expression" in str(refusal.value)
    assert reason in str(refusal.value)


@pytest.mark.parametrize("timezone", ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "a\0b"])
def test_an_unknown_zone_is_refused(timezone: str) -> None:
    with pytest.raises(ConfigError, match="is not a known time zone; write an IANA name"):
        load_zone(timezone)


def test_an_unknown_zone_in_an_expression_names_the_expression() -> None:
    with pytest.raises(ConfigError, match="end: 'Mars/Olympus' is not a known time zone"):
        parse_window("0 8 * * *", "TZ=Mars/Olympus 0 9 * * *", "UTC")


def test_a_start_equal_to_the_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="both are '0 8 \\* \\* \\*'; give the window an end of its own"):
        parse_window("0 8 * * *", "0 8 * * *", "UTC")


@given(st.text(alphabet="0123456789*?/-,+ LW#@TZ=jansu", max_size=24))
def test_whatever_is_accepted_also_has_an_answer(expression: str) -> None:
    try:
        check_expression(expression, field="start")
    except ConfigError:
        return
    now = datetime(2026, 5, 4, 12, 0, 30, tzinfo=UTC)
    fire = next_fire(expression, "Europe/Prague", now)
    assert fire is None or fire > now
