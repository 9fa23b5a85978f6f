"""The account of what sleeping saves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.savings.ledger import Ledger, note, read_ledger, write_ledger
from tests.properties import examples

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def over(*steps: tuple[int, timedelta], instead: int = 2) -> Ledger:
    """That many replicas for so long, one after the other."""
    ledger, now = None, NOON
    for count, length in steps:
        ledger, now = note(ledger, now, count=count, instead=instead), now + length
    return note(ledger, now, count=steps[-1][0], instead=instead)


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
    stored = read_ledger(write_ledger(note(None, NOON, count=0, instead=1)))
    assert note(stored, NOON + HOUR, count=1, instead=1, before=seen).month.asleep == asleep


@pytest.mark.parametrize("by", [-HOUR, timedelta(days=400)], ids=["back", "a year on"])
def test_a_stepped_clock_saves_nothing(by: timedelta) -> None:
    ledger = note(over((0, HOUR)), NOON + by, count=0, instead=1)
    assert ledger.total_saved == 2 * 3600
    assert note(ledger, NOON + by + HOUR, count=0, instead=1).total_saved == 2 * 3600 + 3600


@pytest.mark.parametrize(
    "broken",
    [{}, {"at": "soon"}, {"replicas": "1"}, {"month": None}, {"totalSavedSeconds": -1}, {"totalSavedSeconds": 2**60}],
)
def test_what_was_edited_by_hand_begins_anew(broken: dict[str, Any]) -> None:
    stored = write_ledger(over((0, HOUR))) | broken if broken else {}
    assert read_ledger(stored) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10**6)), min_size=1, max_size=9))
@examples(100)
def test_it_is_read_as_it_was_written_and_no_second_is_lost(steps: list[tuple[int, int]]) -> None:
    ledger = over(*((count, timedelta(seconds=seconds)) for count, seconds in steps))
    assert read_ledger(write_ledger(ledger)) == replace(ledger, stored=True)
    assert ledger.total_replicas == sum(count * seconds for count, seconds in steps)
    assert ledger.total_saved == sum(2 * seconds for count, seconds in steps if count == 0)
