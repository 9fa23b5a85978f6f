"""Times as people write them, on their own clock. It is Friday 2026-11-20 13:00 in Prague."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from keda_py.core.values.times import write_time
from keda_py.environments.moments import parse_length, parse_moment
from keda_py.errors import ConfigError

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PRAGUE = ZoneInfo("Europe/Prague")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("22:00", "2026-11-20T21:00:00Z"),
        ("9:30", "2026-11-21T08:30:00Z"),
        ("13:00", "2026-11-21T12:00:00Z"),
        ("24:00", "2026-11-20T23:00:00Z"),
        ("Mon", "2026-11-22T23:00:00Z"),
        ("monday 08:30", "2026-11-23T07:30:00Z"),
        ("Fri 14:00", "2026-11-20T13:00:00Z"),
        ("fri 12:00", "2026-11-27T11:00:00Z"),
        ("tomorrow", "2026-11-20T23:00:00Z"),
        ("today 18:00", "2026-11-20T17:00:00Z"),
        ("2026-11-23", "2026-11-22T23:00:00Z"),
        ("2026-11-23 22:00", "2026-11-23T21:00:00Z"),
        ("2026-11-23T22:00", "2026-11-23T21:00:00Z"),
        ("2026-11-23T22:00:00+09:00", "2026-11-23T13:00:00Z"),
        ("2026-11-23T22:00:00Z", "2026-11-23T22:00:00Z"),
        ("2027-03-28 02:30", "2027-03-28T01:00:00Z"),
    ],
)
def test_a_time_means_its_next_occurrence_on_the_users_clock(text: str, at: str) -> None:
    assert write_time(parse_moment(text, NOW, PRAGUE, field="--until")) == at


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not a time; write for example 22:00"),
        ("soon", "'soon' is not a time; write for example 22:00"),
        ("mo", "'mo' is not a time"),
        ("25:00", "'25:00' is not a time of day"),
        ("Mon 8.30", "'8.30' is not a time of day"),
        ("2026-11-19", "is over, it was 2026-11-18T23:00:00Z; write a later time"),
        ("today 12:00", "is over"),
        ("2026-13-40", "is not a time"),
        ("9999-06-01 12:00", "is too far away; write an earlier time"),
        ("9999-12-31 24:00", "is too far away; write an earlier time"),
        ("9" * 5000, "is not a time"),
    ],
)
def test_what_is_no_time_to_come_is_refused_with_its_field_and_a_remedy(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match="^--until: ") as error:
        parse_moment(text, NOW, PRAGUE, field="--until")
    assert words in str(error.value)


def test_a_length_is_one_or_more_of_days_hours_minutes_and_seconds() -> None:
    assert parse_length("1h30m", field="--for") == timedelta(minutes=90)
    for text in ("", "0s", "3", "3 hours", "400d"):
        with pytest.raises(ConfigError, match="^--for: "):
            parse_length(text, field="--for")
