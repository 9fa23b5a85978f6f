"""`--since`: what people say, in their own zone, on the days when clocks are changed, too."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from keda_py.errors import ConfigError
from keda_py.explanation.command import parse_since

SEOUL, BERLIN = ZoneInfo("Asia/Seoul"), ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("20:30", "2026-11-20T20:30:00+09:00"),
        ("21:30", "2026-11-19T21:30:00+09:00"),
        ("9:05", "2026-11-20T09:05:00+09:00"),
        ("21:00:00", "2026-11-20T21:00:00+09:00"),
        ("today", "2026-11-20T00:00:00+09:00"),
        ("yesterday", "2026-11-19T00:00:00+09:00"),
        ("12h", "2026-11-20T00:00:00+00:00"),
        ("1d2h30m", "2026-11-19T09:30:00+00:00"),
        ("2026-11-18", "2026-11-18T00:00:00+09:00"),
        ("2026-11-18 22:00", "2026-11-18T22:00:00+09:00"),
        ("2026-11-18T22:00:00Z", "2026-11-18T22:00:00+00:00"),
    ],
)
def test_a_time_is_read_as_people_say_it(text: str, at: str) -> None:
    assert parse_since(text, NOW, SEOUL) == datetime.fromisoformat(at)


def test_yesterdays_midnight_is_25_hours_before_todays_where_the_clocks_were_set_back() -> None:
    now = datetime(2026, 10, 26, 0, 0, tzinfo=BERLIN)
    assert parse_since("yesterday", now, BERLIN).isoformat() == "2026-10-25T00:00:00+02:00"


@pytest.mark.parametrize("text", ["", " ", "soon", "25:00", "22:99", "5", "h", "99999d", "2026-13-01", "-5m"])
def test_what_is_not_a_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigError, match="22:00, yesterday, 12h"):
        parse_since(text, NOW, SEOUL)


def test_what_has_yet_to_come_is_refused() -> None:
    with pytest.raises(ConfigError, match="has yet to come"):
        parse_since("2026-11-21", NOW, SEOUL)
