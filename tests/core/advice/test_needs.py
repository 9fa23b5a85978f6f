"""Replicas that triggers asked for, and the hours in which fewer than the minimum were enough."""

import math
from array import array
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.advice.candidates import Candidate, candidates, look_at
from keda_py.core.advice.history import History
from keda_py.core.advice.hours import AwakeHours
from keda_py.core.advice.needs import Tier, choices, levels_below, marks_above, needed_replicas, saved_by
from tests.core.advice.habits import Habit, awake_minutes, changed, without
from tests.core.advice.test_properties import ALL, WEEK, habits, spans
from tests.properties import examples

LEVEL = 3


def of(*values: float) -> History:
    return History(origin=Habit().history().origin, step=300, values=array("d", values))


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ((0.0, 0.0), 0),
        ((10.0, 0.0), 1),
        ((10.001, 0.0), 2),
        ((10.0001, 0.0), 1),  # the HPA reads thousandths
        ((10.0, 0.9), 3),
        ((500.0, 0.0), 20),
        ((1e300, 0.0), 20),
        ((math.nan, 3.0), None),
        ((10.0, math.nan), None),
    ],
)
def test_the_metric_that_asks_for_most_decides_within_the_maximum(
    values: tuple[float, float], replicas: int | None
) -> None:
    need = needed_replicas([(of(values[0]), 10_000), (of(values[1]), 300)], 20)
    assert need.values[0] == replicas if replicas is not None else math.isnan(need.values[0])


def test_levels_lie_below_the_minimum_and_not_below_the_least() -> None:
    need = of(*(float(number) for number in range(40)), math.nan)
    levels = levels_below(need, 30, 2)
    assert len(levels) <= 8
    assert (levels[0], levels[-1]) == (2, 29)
    assert levels_below(of(30.0, 31.0, math.nan), 30, 1) == []


def test_tiers_that_save_most_come_first() -> None:
    day = Tier(level=6, candidate=Candidate(hours=()))
    night = Tier(level=2, candidate=Candidate(hours=(AwakeHours(540, 1080, (0, 1, 2, 3, 4)),)))
    assert saved_by((day,), 12) == pytest.approx(168 * 6)
    assert saved_by((night, day), 12) == pytest.approx(168 * 6 + 123 * 4)
    assert next(iter(choices((night, day), 12))) == (night, day)


def low_minutes(need: History) -> frozenset[int]:
    """Minutes of a week in which the level would be kept."""
    use = look_at(need, marks_above(need, LEVEL), ZoneInfo("UTC"), {})
    found = next(candidates(use))
    return ALL - awake_minutes(found.hours) if isinstance(found, Candidate) else frozenset()


def needs_of(habit: Habit) -> History:
    def count(values: "array[float]") -> None:
        for at, value in enumerate(values):
            values[at] = 7.0 if value > habit.floor + 1 else 2.0

    return changed(habit.history(), count)


@examples(20)
@given(habits(jitters=(0,)), spans)
def test_data_that_is_lost_makes_no_more_hours_low(habit: Habit, lost: list[tuple[int, int]]) -> None:
    need = needs_of(habit)
    assert low_minutes(without(need, *((at, at + count) for at, count in lost))) <= low_minutes(need)


@examples(20)
@given(habits(), st.integers(0, WEEK), st.integers(1, 48), st.booleans())
def test_more_need_makes_no_more_hours_low(habit: Habit, first: int, length: int, weekly: bool) -> None:
    need = needs_of(habit)

    def add(values: "array[float]") -> None:
        for week in range(0, len(values), WEEK if weekly else len(values)):
            for at in range(week + first, min(week + first + length, len(values))):
                values[at] += 6

    assert low_minutes(changed(need, add)) <= low_minutes(need)
