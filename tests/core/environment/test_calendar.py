from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.environments.calendar import CalendarSpec
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import (
    hours_a_week,
    invalid_status,
    moment_of,
    next_holidays,
    openings,
    status_of,
)
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.values.durations import in_words, parse_duration
from keda_py.errors import ConfigError
from tests.calls import calls_of
from tests.costs import cpu_of
from tests.properties import examples

WEEK = [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]


def calendar(hours: list[dict[str, str]], zone: str = "Europe/Prague", **more: Any) -> Calendar:
    return read_calendar(CalendarSpec.model_validate({"timeZone": zone, "hours": hours} | more))


def at(text: str, zone: str = "Europe/Prague") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def spans(cal: Calendar, since: str, count: int, zone: str = "Europe/Prague") -> list[str]:
    """List local times of the next openings."""
    found = openings(cal, at(since, zone))
    return [
        f"{each.start.astimezone(ZoneInfo(zone)):%a %d %H:%M}-{each.end.astimezone(ZoneInfo(zone)):%a %d %H:%M}"
        for each, _ in zip(found, range(count), strict=False)
    ]


def test_a_working_week_opens_in_the_morning_and_closes_in_the_evening() -> None:
    cal = calendar(WEEK)
    assert spans(cal, "2026-11-26T12:00", 3) == [
        "Thu 26 08:30-Thu 26 19:30", "Fri 27 08:30-Fri 27 19:30", "Mon 30 08:30-Mon 30 19:30",
    ]  # fmt: skip
    assert [moment_of(cal, at(f"2026-11-27T{time}")).open for time in ("08:29:59", "08:30", "19:29:59", "19:30")] == [
        False,
        True,
        True,
        False,
    ]
    change = moment_of(cal, at("2026-11-27T19:30"))
    assert (change.changes_at, change.opens, change.because) == (
        at("2026-11-30T08:30"),
        True,
        "hours Mon-Fri 08:30-19:30",
    )
    closing = moment_of(cal, at("2026-11-27T12:00"))
    assert (closing.changes_at, closing.opens, closing.because) == (
        at("2026-11-27T19:30"),
        False,
        "end of the hours Mon-Fri 08:30-19:30",
    )
    assert hours_a_week(cal) == 55.0


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([{"days": "Mon,Wed", "from": "08:00", "to": "12:00"}, {"days": "Mon", "from": "13:00", "to": "17:00"}],
         ["Mon 23 08:00-Mon 23 12:00", "Mon 23 13:00-Mon 23 17:00", "Wed 25 08:00-Wed 25 12:00"]),
        ([{"days": "Fri-Mon", "from": "22:00", "to": "06:00"}],
         ["Mon 23 22:00-Tue 24 06:00", "Fri 27 22:00-Sat 28 06:00", "Sat 28 22:00-Sun 29 06:00"]),
        ([{"days": "Sat,Sun", "from": "00:00", "to": "24:00"}], ["Sat 28 00:00-Mon 30 00:00", "Sat 05 00:00-Mon 07 00:00"]),
        ([{"days": "Mon", "from": "08:00", "to": "24:00"}, {"days": "Tue", "from": "00:00", "to": "02:00"}],
         ["Mon 23 08:00-Tue 24 02:00"]),
        ([{"from": "18:00", "to": "18:30"}], ["Mon 23 18:00-Mon 23 18:30", "Tue 24 18:00-Tue 24 18:30"]),
    ],
    ids=["several a day", "past midnight, over the week's end", "24:00 joins the next day", "what touches is one", "every day"],
)  # fmt: skip
def test_hours_mean_what_they_say(hours: list[dict[str, str]], expected: list[str]) -> None:
    assert spans(calendar(hours), "2026-11-23T07:00", len(expected)) == expected


def test_always_open_has_no_next_change() -> None:
    cal = calendar([{"from": "00:00", "to": "24:00"}])
    assert moment_of(cal, at("2026-03-29T02:30")).open
    assert moment_of(cal, at("2026-03-29T02:30")).changes_at is None


SPRING, AUTUMN = "2026-03-28T12:00", "2026-10-24T12:00"


@pytest.mark.parametrize(
    ("since", "begin", "end", "expected"),
    [
        (SPRING, "02:30", "06:00", "Sun 29 03:00-Sun 29 06:00 3h"),
        (SPRING, "20:00", "02:30", "Sat 28 20:00-Sun 29 03:00 6h"),
        (SPRING, "02:10", "02:50", "Mon 30 02:10-Mon 30 02:50 0h"),
        (SPRING, "22:00", "06:00", "Sat 28 22:00-Sun 29 06:00 7h"),
        (AUTUMN, "02:30", "06:00", "Sun 25 02:30-Sun 25 06:00 4h"),
        (AUTUMN, "20:00", "02:30", "Sat 24 20:00-Sun 25 02:30 6h"),
        (AUTUMN, "02:10", "02:50", "Sun 25 02:10-Sun 25 02:50 0h"),
        (AUTUMN, "22:00", "06:00", "Sat 24 22:00-Sun 25 06:00 9h"),
        (AUTUMN, "02:00", "03:00", "Sun 25 02:00-Sun 25 03:00 2h"),
    ],
)
def test_summer_time_neither_loses_nor_gains_a_night(since: str, begin: str, end: str, expected: str) -> None:
    cal = calendar([{"from": begin, "to": end}])
    first = next(openings(cal, at(since)))
    (told,) = spans(cal, since, 1)
    assert f"{told} {(first.end - first.start) // timedelta(hours=1)}h" == expected


def test_a_boundary_in_the_repeated_hour_happens_once() -> None:
    cal = calendar([{"from": "02:10", "to": "02:50"}])
    first, second = (each for each, _ in zip(openings(cal, at(AUTUMN)), range(2), strict=False))
    assert (first.start, first.end) == (
        datetime(2026, 10, 25, 0, 10, tzinfo=UTC),
        datetime(2026, 10, 25, 0, 50, tzinfo=UTC),
    )
    assert second.start == datetime(2026, 10, 26, 1, 10, tzinfo=UTC)


CHRISTMAS = {"dates": ["2026-12-24", "2026-12-28/2027-01-03"], "name": "Christmas"}
EXCEPTIONS = [
    {"dates": ["2026-12-24"], "hours": [{"from": "08:30", "to": "13:00"}], "reason": "early Christmas Eve"},
    {"dates": ["2026-11-28"], "hours": [{"from": "09:00", "to": "15:00"}], "reason": "working Saturday"},
    {"dates": ["2026-11-26/2026-11-27"], "closed": True, "reason": "move of the office"},
]


def test_holidays_close_and_exceptions_win_over_all() -> None:
    cal = calendar(WEEK, holidays=[CHRISTMAS], exceptions=EXCEPTIONS)
    assert spans(cal, "2026-11-25T20:00", 1) == ["Sat 28 09:00-Sat 28 15:00"]
    assert spans(cal, "2026-12-23T20:00", 3) == [
        "Thu 24 08:30-Thu 24 13:00",
        "Fri 25 08:30-Fri 25 19:30",
        "Mon 04 08:30-Mon 04 19:30",
    ]
    assert moment_of(cal, at("2026-11-26T12:00")).why == "exception: move of the office"
    assert moment_of(cal, at("2026-11-28T10:00")).why == "exception: working Saturday"
    assert moment_of(cal, at("2026-12-29T10:00")).why == "holiday: Christmas"
    assert moment_of(cal, at("2026-12-06T10:00")).why == "no hours on this day of the week"
    assert moment_of(cal, at("2026-11-25T22:00")).why == "outside of the hours"
    holidays = next_holidays(cal, at("2026-12-01T00:00"))
    assert [str(holiday.day) for holiday in holidays] == [f"2026-12-{day}" for day in (28, 29, 30, 31)] + ["2027-01-01"]


def test_a_night_that_began_goes_on_into_a_holiday() -> None:
    cal = calendar([{"from": "22:00", "to": "06:00"}], holidays=[{"dates": ["2026-11-28"], "name": "x"}])
    assert spans(cal, "2026-11-27T12:00", 2) == ["Fri 27 22:00-Sat 28 06:00", "Sun 29 22:00-Mon 30 06:00"]


def test_found_holidays_are_laid_over_the_hours_and_the_first_name_stays() -> None:
    spec = CalendarSpec.model_validate(
        {"timeZone": "Asia/Seoul", "hours": WEEK, "holidays": [{"country": "KR"}, CHRISTMAS]}
    )
    cal = read_calendar(spec, [{date(2026, 12, 24): "Eve", date(2026, 12, 25): "Christmas Day"}])
    assert [holiday.name for holiday in next_holidays(cal, at("2026-12-24T01:00", "Asia/Seoul"), 3)] == [
        "Eve",
        "Christmas Day",
        "Christmas",
    ]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"timeZone": "Mars/Olympus"}, "spec.timeZone: 'Mars/Olympus' is not a known time zone; write an IANA name, e.g. Europe/Prague or UTC"),
        ({"hours": [{"days": "Mon-Fri", "from": "8:75", "to": "18:00"}]}, "spec.hours[0].from: '8:75' is not a time of day; write 00:00 to 24:00, such as 08:30"),
        ({"hours": [{"from": "08:00", "to": "25:00"}]}, "spec.hours[0].to: '25:00' is not a time of day; write 00:00 to 24:00, such as 08:30"),
        ({"hours": [{"days": "Mon" + " " * 500_000, "from": "08:00", "to": "18:00"}]}, f"spec.hours[0].days: {'Mon' + ' ' * 197!r} has more than 200 characters; write for example Mon-Fri"),
        ({"hours": [{"days": "Mon-Fry", "from": "08:00", "to": "18:00"}]}, "spec.hours[0].days: 'Mon-Fry' are not days of the week; write for example Mon-Fri or Sat,Sun"),
        ({"hours": [{"from": "08:00", "to": "08:00"}]}, "spec.hours[0]: 08:00 to 08:00 has no length; write 00:00 to 24:00 for the whole day"),
        ({"hours": [{"days": "Mon", "from": "08:00", "to": "12:00"}, {"days": "Mon-Fri", "from": "11:00", "to": "17:00"}]}, "spec.hours[1]: on Mon these overlap with the hours Mon 08:00-12:00; let one end where the other begins"),
        ({"hours": [{"days": "Sun", "from": "22:00", "to": "06:00"}, {"days": "Mon", "from": "05:00", "to": "07:00"}]}, "spec.hours[1]: on Mon these overlap with the hours Sun 22:00-06:00; let one end where the other begins"),
        ({"holidays": [{"dates": ["24.12.2026"]}]}, "spec.holidays[0].dates[0]: '24.12.2026' is not a date or a range; write for example 2026-12-24 or 2026-12-28/2027-01-03"),
        ({"holidays": [{"dates": ["2026-12-24/2026-12-01"]}]}, "spec.holidays[0].dates[0]: '2026-12-24/2026-12-01' ends before it begins; write FIRST/LAST"),
        ({"holidays": [{"dates": ["1970-01-01/2199-01-01"]}]}, "spec.holidays[0].dates[0]: '1970-01-01/2199-01-01' makes more than 3660 days; write shorter ranges"),
        ({"holidays": [{"dates": ["2020-01-01/2028-12-31"]}, {"dates": ["2027-01-01", "2028-01-01/2029-01-06"]}]}, "spec.holidays[1].dates[1]: '2028-01-01/2029-01-06' and the dates before it make more than 3660 days; write shorter ranges"),
        ({"exceptions": [{"closed": True, "dates": ["2020-01-01/2028-12-31"]}, {"closed": True, "dates": ["2028-01-01/2029-01-06", "2020-01-01"]}]}, "spec.exceptions[1].dates[1]: '2020-01-01' and the dates before it make more than 3660 days; write shorter ranges"),
        ({"holidays": [{"name": "Christmas"}]}, "spec.holidays[0]: has nothing; give one of country, ics and dates"),
        ({"holidays": [{"country": "KR", "dates": ["2026-12-24"]}]}, "spec.holidays[0]: has country and dates; give one of country, ics and dates"),
        ({"exceptions": [{"dates": ["2026-12-24"]}]}, "spec.exceptions[0]: has neither; give one of closed: true and hours"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_field_value_and_remedy(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_calendar(CalendarSpec.model_validate({"timeZone": "UTC", "hours": WEEK} | spec))
    assert str(refused.value) == text
    assert text.startswith(refused.value.field)


@pytest.mark.parametrize(
    "hours",
    [
        [{"from": f"{minute // 60:02}:{minute % 60:02}", "to": f"{(minute + 29) // 60:02}:{(minute + 29) % 60:02}"} for minute in range(0, 1440, 30)],
        [{"from": f"{minute // 60:02}:{minute % 60:02}", "to": f"{(minute + 30) // 60:02}:{(minute + 30) % 60:02}"} for minute in range(0, 1440, 30)],
    ],
    ids=["fifty spans a day", "always, in fifty pieces"],
)  # fmt: skip
def test_an_answer_costs_under_10_ms_whatever_the_hours_are(hours: list[dict[str, str]]) -> None:
    cal = calendar(hours, holidays=[{"dates": ["2026-12-01/2027-11-30"], "name": "long"}])
    moments = iter([at("2026-12-01T00:00") + timedelta(minutes=step) for step in range(9)])
    assert cpu_of(lambda: moment_of(cal, next(moments)), ConfigError) < 0.01


ZONES = ("Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Seoul", "Pacific/Apia")
TIMES = st.integers(0, 47).map(lambda half: f"{half // 2:02}:{half % 2 * 30:02}")
DAYS = st.sampled_from(["Mon", "Mon-Fri", "Sat,Sun", "Fri-Mon", "Tue,Thu", ""])


@examples(60)
@given(
    zone=st.sampled_from(ZONES),
    days=DAYS,
    begin=TIMES,
    end=TIMES,
    minutes=st.integers(0, 19 * 365 * 1440),
)
def test_changes_alternate_and_agree_with_what_is_open(
    zone: str, days: str, begin: str, end: str, minutes: int
) -> None:
    if begin == end:
        return
    cal = calendar([{"days": days, "from": begin, "to": end}], zone)
    now = datetime(2011, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    for _ in range(6):
        moment = moment_of(cal, now)
        changes_at = moment.changes_at
        assert changes_at is not None
        assert changes_at > now
        assert moment.opens is not moment.open
        assert moment_of(cal, changes_at - timedelta(seconds=1)).open is moment.open
        assert moment_of(cal, changes_at).open is moment.opens
        local, before = (time.astimezone(ZoneInfo(zone)) for time in (changes_at, changes_at - timedelta(days=1)))
        if local.utcoffset() == before.utcoffset():
            assert f"{local:%H:%M}" == (begin if moment.opens else end)
        now = changes_at


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), ("", 7)])
def test_durations_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert parse_duration(text, timedelta(seconds=7), field="spec.grace") == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["5", "m", "5 m", "5m5m", "-5m", "1.5h", "9999999d", "٣m", "5m" * 30])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(
        ConfigError, match="spec.grace: .* is not a duration up to 366d; write for example 90s, 5m or 1h30m"
    ):
        parse_duration(text, timedelta(0), field="spec.grace")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (7_800, "2 h 10 min"), (183_900, "2 d 3 h"), (-5, "0 s")]
)
def test_spans_are_told_in_words(seconds: int, words: str) -> None:
    assert in_words(timedelta(seconds=seconds)) == words


def test_the_status_says_what_is_and_what_comes() -> None:
    cal = calendar(WEEK, holidays=[CHRISTMAS])
    evening = at("2026-12-23T20:00")
    status = status_of(cal, moment_of(cal, evening), evening)
    assert status.model_dump(by_alias=True, exclude_defaults=True) == {
        "open": False,
        "nextChange": {"at": "2026-12-25T07:30:00Z", "to": "Open", "because": "hours Mon-Fri 08:30-19:30"},
        "nextHolidays": [{"date": f"2026-12-{day}", "name": "Christmas"} for day in (24, 28, 29, 30, 31)],
        "hoursAWeek": "55",
        "conditions": [{"type": "Valid", "status": "True", "reason": "Valid"}],
    }
    assert calls_of(lambda: status_of(cal, moment_of(cal, evening), evening), moment_of) == 1
    assert invalid_status("spec.hours: wrong").open is None
    assert invalid_status("spec.hours: wrong").conditions[0].message == "spec.hours: wrong"


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Prague", "Africa/Cairo", "Asia/Beirut", "America/Santiago", "Pacific/Apia"]
)
def test_a_calendar_that_never_closes_says_what_a_walk_over_all_its_days_says(zone: str) -> None:
    """A day with hours of its own, which are all of it, has the days walked."""
    hours = [{"from": "00:00", "to": "24:00"}]
    whole = calendar(hours, zone)
    walked = calendar(hours, zone, exceptions=[{"dates": ["2027-02-03"], "hours": hours}])
    assert walked.exceptions
    for text in ("2026-03-28T23:59:00", "2026-04-24T00:30:00", "2026-11-26T00:00:00", "2026-11-26T12:00:00"):
        (one,), (other,) = (list(openings(each, at(text, zone))) for each in (whole, walked))
        assert one == other
        assert moment_of(whole, at(text, zone)) == moment_of(walked, at(text, zone))
    closing = calendar(hours, zone, exceptions=[{"dates": ["2027-02-03"], "closed": True}])
    assert moment_of(closing, at("2026-11-26T12:00:00", zone)).changes_at == at("2027-02-03T00:00:00", zone)
