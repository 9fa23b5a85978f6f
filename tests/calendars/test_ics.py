"""iCalendar files: the days they mean, against a plain walk of `dateutil.rrule`, and what hostile ones cost."""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from keda_py.calendars.countries import country_holidays
from keda_py.calendars.ics import MOST_BYTES, answer_with_holidays, read_ics
from keda_py.calendars.recurrence import days_of_rule, parse_rule
from keda_py.errors import ConfigError
from tests.calls import calls_of
from tests.properties import examples

PRAGUE = ZoneInfo("Europe/Prague")
SINCE, UNTIL = date(2026, 11, 1), date(2027, 12, 5)


def event(*lines: str, uid: str = "1", start: str = ";VALUE=DATE:20261224", summary: str = "Day") -> str:
    return "\r\n".join(
        ["BEGIN:VEVENT", f"UID:{uid}", f"DTSTART{start}", f"SUMMARY:{summary}", *lines, "END:VEVENT", ""]
    )


def file(*events: str) -> bytes:
    return "\r\n".join(
        ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", "".join(events) + "END:VCALENDAR", ""]
    ).encode()


def read(*events: str) -> Mapping[date, str]:
    return read_ics(file(*events), SINCE, UNTIL, PRAGUE, field="spec.holidays[0].ics")


@pytest.mark.parametrize(
    ("events", "days"),
    [
        ([event()], ["2026-12-24"]),
        ([event("DTEND;VALUE=DATE:20261227")], ["2026-12-24", "2026-12-25", "2026-12-26"]),
        ([event("DURATION:P2D")], ["2026-12-24", "2026-12-25"]),
        ([event(start=":20261224T230000Z")], ["2026-12-25"]),
        ([event(start=";TZID=Europe/Prague:20261224T230000")], ["2026-12-24"]),
        ([event("RRULE:FREQ=YEARLY", start=";VALUE=DATE:19930101")], ["2027-01-01"]),
        ([event("RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", start=";VALUE=DATE:20001123")], ["2026-11-26", "2027-11-25"]),
        ([event("RRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO", start=";VALUE=DATE:20000529")], ["2027-05-31"]),
        ([event("RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE;VALUE=DATE:20261231", "RDATE;VALUE=DATE:20270203")], ["2026-12-24", "2027-01-07", "2027-02-03"]),
        ([event("RRULE:FREQ=WEEKLY;UNTIL=20270101"), event("RECURRENCE-ID;VALUE=DATE:20261231", start=";VALUE=DATE:20270102")], ["2026-12-24", "2027-01-02"]),
        ([event("STATUS:CANCELLED")], []),
        ([event("RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", start=";VALUE=DATE:19000101")], []),
        ([event("RRULE:FREQ=MONTHLY;INTERVAL=6;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", start=";VALUE=DATE:20200131")], ["2027-01-29", "2027-07-30"]),
        ([event("RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", start=";VALUE=DATE:19961105")], ["2026-11-03", "2027-11-02"]),
        ([event("RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", start=";VALUE=DATE:19970512")], ["2027-05-17"]),
        ([event("RRULE:FREQ=YEARLY;BYYEARDAY=1,-1", start=";VALUE=DATE:19970101")], ["2026-12-31", "2027-01-01"]),
        ([event("RRULE:FREQ=DAILY;COUNT=1000000;UNTIL=20261225", start=";VALUE=DATE:20261224")], ["2026-12-24", "2026-12-25"]),
    ],
    ids=["a day", "until a day", "for days", "in another zone", "with its zone", "each year", "a Thursday", "the last Monday",
         "left out and added", "moved", "cancelled", "never again", "the last working day", "election day", "a week of the year",
         "days of the year", "a million times"],
)  # fmt: skip
def test_events_are_holidays(events: list[str], days: list[str]) -> None:
    assert [str(day) for day in read(*events)] == days


def test_names_are_kept_within_bounds() -> None:
    assert read(event(summary="Štědrý den\\, večer")) == {date(2026, 12, 24): "Štědrý den, večer"}
    assert read(event(summary="x" * 5000)) == {date(2026, 12, 24): "x" * 120}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"x" * (MOST_BYTES + 1), "1000001 bytes; 1000000 at most: leave out years that are over"),
        (file(event("RRULE:FREQ=DAILY") * 1000), "1000 events that recur; 200 at most: leave out years that are over"),
        (file(event() * 1001), "1001 events; 1000 at most: leave out years that are over"),
        (b"<html>", "not an iCalendar file; it begins with BEGIN:VCALENDAR"),
        (file("BEGIN:VEVENT\r\n"), "event 1 does not end; write it anew"),
        (file(event("X-A:" + "a" * 20_000)), "event 1 has more than 8192 bytes or 300 lines; write it anew"),
        (file(event(*["X-A:b"] * 301)), "event 1 has more than 8192 bytes or 300 lines; write it anew"),
        (file(event("RRULE:FREQ=DAILY;BYDAY=" + ",".join(["MO"] * 61))), "event 1: RRULE has more than 60 values; write single events"),
        (file("BEGIN:VEVENT\r\nEND:VEVENT\r\n"), "event 1 cannot be read; it needs DTSTART and lines as RFC 5545 has them"),
        (file(event(start=":tomorrow")), "event 1 cannot be read; it needs DTSTART and lines as RFC 5545 has them"),
        (file(event("DTEND;VALUE=DATE:29990101")), "event 1 lasts 355024 days; 62 at most: split it"),
        (file(event("RRULE:FREQ=SECONDLY")), "event 1: FREQ=SECONDLY is not understood in RRULE; use FREQ=DAILY to YEARLY, INTERVAL, COUNT, UNTIL, WKST, BYDAY, BYMONTHDAY, BYYEARDAY, BYWEEKNO, BYMONTH and BYSETPOS, or write single events"),
        (file(event("RRULE:FREQ=DAILY;BYHOUR=1")), "event 1: BYHOUR is not understood in RRULE; use FREQ=DAILY to YEARLY, INTERVAL, COUNT, UNTIL, WKST, BYDAY, BYMONTHDAY, BYYEARDAY, BYWEEKNO, BYMONTH and BYSETPOS, or write single events"),
        (file(event("RRULE:FREQ=YEARLY;COUNT=99", start=";VALUE=DATE:19930101")), "event 1 counts from 1993-01-01, over ten years ago; write UNTIL for COUNT"),
        (file(event("RRULE:FREQ=MONTHLY;BYMONTHDAY=0")), "event 1: RRULE cannot be read; write it as RFC 5545 has it"),
        (file(event("RRULE:FREQ=MONTHLY;BYSETPOS=367")), "event 1: RRULE cannot be read; write it as RFC 5545 has it"),
    ],
    ids=["too long", "a thousand rules", "too many events", "a web page", "no end", "a long event", "many lines", "many values", "no start", "no date", "centuries", "each second", "hours", "old count", "day 0", "position 367"],
)  # fmt: skip
def test_a_file_that_cannot_be_read_in_little_time_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_ics(text, SINCE, UNTIL, PRAGUE, field="spec.holidays[0].ics")
    message = str(refused.value)
    assert message.startswith("spec.holidays[0].ics")
    assert message.removeprefix("spec.holidays[0].ics").removeprefix(": ") == told


@pytest.mark.parametrize(
    "lines",
    [
        ("RECURRENCE-ID:20261124", "RECURRENCE-ID:20261125"),
        ("RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"),
        ("RDATE:99991231T235959Z",),
        ("RDATE;VALUE=PERIOD:20261125T100000Z/PT1H", "DTEND:20261224T100000Z"),
        ("DTEND;VALUE=PERIOD:20261224T100000Z/PT1H",),
        ("DURATION:PT1H", "DURATION:PT2H"),
    ],
    ids=["two ids", "two rules", "the last day of all", "a period", "an end that is a period", "two durations"],
)
def test_lines_that_the_library_reads_as_another_type_are_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="event 1 cannot be read"):
        read(event(*lines, start=":20261224T090000Z"))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=WEEKLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYDAY=MO;BYSETPOS=54",
        "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=7",
        "FREQ=DAILY;COUNT=1000000;BYMONTHDAY=31;BYDAY=MO,TU,WE,TH,FR,SA,SU",
    ],
)
def test_a_rule_is_followed_no_further_than_the_window(rule: str) -> None:
    read(event())  # loads the library
    assert calls_of(lambda: read(event(f"RRULE:{rule}", start=";VALUE=DATE:20170101"))) < 40_000  # 10 ms at most


RULES = st.builds(
    lambda freq, interval, parts, end: ";".join([f"FREQ={freq}", f"INTERVAL={interval}", *parts, *end]),
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.integers(1, 4),
    st.lists(
        st.sampled_from(["BYDAY=MO,FR", "BYDAY=SU", "BYMONTH=2,11", "BYMONTHDAY=13,-1", "WKST=SU", "BYSETPOS=1,-2", "BYYEARDAY=1,60,-1", "BYWEEKNO=1,53,-9"]), max_size=3, unique_by=lambda part: part.partition("=")[0]
    ),
    st.sampled_from([[], ["COUNT=7"], ["UNTIL=20270601"]]),
)  # fmt: skip


@examples(150)
@given(text=RULES, start=st.dates(date(2019, 1, 1), date(2026, 12, 31)))
def test_a_rule_has_the_days_that_a_walk_from_its_first_day_finds(text: str, start: date) -> None:
    parts = dict(part.split("=") for part in text.split(";"))
    values: dict[str, object] = {key: value.split(",") for key, value in parts.items()}
    if "UNTIL" in parts:
        values["UNTIL"] = [date(2027, 6, 1)]
    rule = parse_rule(values, start, PRAGUE, field="f")
    first = datetime.combine(start, datetime.min.time())
    window = (datetime.combine(SINCE, datetime.min.time()), datetime.combine(UNTIL, datetime.min.time()))
    expected = [found.date() for found in rrulestr(text, dtstart=first).between(*window, inc=True)]
    assert list(days_of_rule(rule, start, SINCE, UNTIL)) == expected


def test_the_answer_of_a_worker_has_room_for_a_holiday_each_day() -> None:
    text = file(
        *(
            event(uid=str(n), start=f";VALUE=DATE:{SINCE + timedelta(days=n):%Y%m%d}", summary="쉬는날" * 50)
            for n in range(400)
        )
    )
    answer = answer_with_holidays(text, str(SINCE), str(UNTIL), "Europe/Prague", "f")
    assert len(answer["days"]) == 400
    assert len(json.dumps(answer)) <= 64 * 1024


def test_countries_have_their_holidays() -> None:
    korea = country_holidays("KR", "", (2026,), field="spec.holidays[0]")
    assert korea[date(2026, 2, 17)] == "Korean New Year"
    assert date(2026, 1, 6) in country_holidays("DE", "BY", (2026,), field="f")
    assert date(2026, 1, 6) not in country_holidays("DE", "BE", (2026,), field="f")


@pytest.mark.parametrize(
    ("country", "subdivision", "told"),
    [
        ("XX", "", "f.country: 'XX' is unknown"),
        ("DE", "ZZ", "f.subdivision: 'ZZ' is unknown"),
        ("x" * 99, "", "f: a code of more than 20"),
        ("APR", "", "f.country: 'APR' is unknown"),
        ("HolidayBase", "", "f.country: 'HolidayBase' is unknown"),
    ],
)
def test_an_unknown_country_is_refused(country: str, subdivision: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        country_holidays(country, subdivision, (2026,), field="f")


def test_days_are_those_of_the_window() -> None:
    assert all(SINCE <= day <= UNTIL for day in read(event("RRULE:FREQ=DAILY", start=";VALUE=DATE:20261020")))
    assert (
        len(read(event("RRULE:FREQ=DAILY", start=";VALUE=DATE:20261020"))) == (UNTIL - SINCE + timedelta(days=1)).days
    )
