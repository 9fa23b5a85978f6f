"""The account of what sleeping saves."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.savings.ledger import (
    MOST_DAYS,
    Ledger,
    LedgerState,
    is_due,
    kept,
    note,
    read_ledger,
    seconds_until_due,
    write_ledger,
)
from tests.properties import examples

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def over(*steps: tuple[int, timedelta], instead: int = 2) -> Ledger:
    """That many replicas for so long, one after the other."""
    ledger, now = None, NOON
    for count, length in steps:
        ledger, now = note(ledger, now, LedgerState(count=count, instead=instead)), now + length
    return note(ledger, now, LedgerState(count=steps[-1][0], instead=instead))


def test_what_sleeps_saves_what_the_hpa_alone_would_have() -> None:
    month = over((5, HOUR), (0, 2 * HOUR), (1, HOUR)).month
    assert (month.seconds, month.asleep, month.replicas, month.saved) == (4 * 3600, 7200, 6 * 3600, 2 * 7200)


def test_a_night_over_the_end_of_a_month_counts_for_both() -> None:
    ledger = over((0, timedelta(days=12)))
    assert ledger.previous is not None
    assert (ledger.previous.name, ledger.previous.asleep) == ("2026-11", timedelta(days=10.5).total_seconds())
    assert (ledger.month.name, ledger.month.asleep) == ("2026-12", timedelta(days=1.5).total_seconds())
    assert ledger.total_saved == 2 * timedelta(days=12).total_seconds()


@pytest.mark.parametrize(("seen", "asleep"), [(0, 3600), (3, 0)], ids=["still so", "changed meanwhile"])
def test_after_a_restart_time_counts_where_the_count_is_still_the_same(seen: int, asleep: int) -> None:
    stored = read_ledger(write_ledger(note(None, NOON, LedgerState(count=0, instead=1))))
    assert note(stored, NOON + HOUR, LedgerState(count=1, instead=1), before=seen).month.asleep == asleep


@pytest.mark.parametrize("by", [-HOUR, timedelta(days=400)], ids=["back", "a year on"])
def test_a_stepped_clock_saves_nothing(by: timedelta) -> None:
    asleep = LedgerState(count=0, instead=1)
    ledger = note(over((0, HOUR)), NOON + by, asleep)
    assert ledger.total_saved == 2 * 3600
    assert note(ledger, NOON + by + HOUR, asleep).total_saved == 2 * 3600 + 3600


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"at": "soon"},
        {"replicas": "1"},
        {"month": None},
        {"totalSavedSeconds": -1},
        {"totalSavedSeconds": 2**60},
        {"days": [{}]},
        {"days": "2026"},
    ],
)
def test_what_was_edited_by_hand_begins_anew(broken: dict[str, Any]) -> None:
    stored = write_ledger(over((0, HOUR))) | broken if broken else {}
    assert read_ledger(stored) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10**6)), min_size=1, max_size=9))
@examples(100)
def test_it_is_read_as_it_was_written_and_no_second_is_lost(steps: list[tuple[int, int]]) -> None:
    ledger = over(*((count, timedelta(seconds=seconds)) for count, seconds in steps))
    assert read_ledger(write_ledger(ledger)) == replace(kept(ledger), restored=True)
    assert ledger.total_replicas == sum(count * seconds for count, seconds in steps)
    assert ledger.total_saved == sum(2 * seconds for count, seconds in steps if count == 0)
    assert sum(day.seconds for day in ledger.days) <= sum(seconds for _, seconds in steps)
    assert len(ledger.days) <= MOST_DAYS


def test_a_day_has_its_own_sums() -> None:
    days = over((1, timedelta(hours=12)), (3, timedelta(hours=6)), (0, timedelta(hours=19))).days
    told = [(day.name, day.seconds, day.asleep, day.replicas) for day in days]
    noon, whole = timedelta(hours=12).total_seconds(), timedelta(hours=24).total_seconds()
    assert told == [
        ("2026-11-20", noon, 0, noon),
        ("2026-11-21", whole, timedelta(hours=18).total_seconds(), 3 * timedelta(hours=6).total_seconds()),
        ("2026-11-22", 3600, 3600, 0),
    ]


def test_what_failing_sources_keep_up_is_summed_apart() -> None:
    ledger = note(None, NOON, LedgerState(count=2, instead=1, failing=True))
    month = note(
        note(ledger, NOON + HOUR, LedgerState(count=2, instead=1)), NOON + 3 * HOUR, LedgerState(count=2, instead=1)
    ).month
    assert (month.seconds, month.failing) == (3 * 3600, 3600)
    assert read_ledger(write_ledger(ledger)) == replace(kept(ledger), restored=True)


def test_it_is_stored_by_itself_once_in_six_hours_where_counts_have_moved_and_else_never() -> None:
    two, three = LedgerState(count=2, instead=1), LedgerState(count=3, instead=1)
    new = note(None, NOON, two)
    assert is_due(new, NOON)
    steady = note(kept(new), NOON + timedelta(days=9), two)
    assert not is_due(steady, NOON + timedelta(days=9))
    moved = note(kept(new), NOON + timedelta(minutes=1), three)
    assert [is_due(moved, NOON + timedelta(minutes=at)) for at in (1, 359, 360)] == [False, False, True]
    back = note(moved, NOON + timedelta(minutes=30), two)
    assert is_due(back, NOON + 6 * HOUR)  # a restart would not know of the minutes between
    assert not is_due(None, NOON)
    later = [seconds_until_due(moved, NOON + timedelta(minutes=at)) for at in (1, 359, 360, 400)]
    assert later == [359 * 60.0, 60.0, 0.0, 0.0]
    assert [seconds_until_due(one, NOON) for one in (steady, None)] == [math.inf, math.inf]
    assert seconds_until_due(new, NOON) == 0.0


def test_fifteen_days_and_two_months_fit_two_kibibytes() -> None:
    """It stands in the status of every object."""
    stored = write_ledger(over((999, timedelta(days=31)), (0, timedelta(days=31))))
    assert (len(stored["days"]), len(orjson.dumps(stored)) < 2048) == (MOST_DAYS, True)
