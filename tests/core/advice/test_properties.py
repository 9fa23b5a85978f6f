"""What holds for every history: weeks shift nothing, missing data makes nothing idle, use makes no hours shorter."""

import math
import random
from array import array
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.advice.candidates import Candidate
from keda_py.core.advice.history import History
from tests.core.advice.habits import Habit, Window, awake_minutes, changed, first_candidate, without
from tests.properties import examples

DAYS = st.sampled_from(("Mon-Fri", "Mon-Sun", "Sat-Sun", "Fri-Sat", "Mon,Wed,Fri", "Sun"))
WEEK = 7 * 288


@st.composite
def windows(draw: st.DrawFn) -> list[Window]:
    """One or two windows a day, also past midnight, of two to eight hours, with two hours between them."""
    first = draw(st.integers(0, 23 * 4))
    length = draw(st.integers(8, 32))
    days = draw(DAYS)
    found = [(days, _clock(first), _clock(first + length))]
    if draw(st.booleans()):
        second = first + length + draw(st.integers(8, 16))
        found.append((days, _clock(second), _clock(second + draw(st.integers(8, 16)))))
    return found


def _clock(quarters: int) -> str:
    return f"{quarters // 4 % 24:02}:{quarters % 4 * 15:02}"


@st.composite
def habits(draw: st.DrawFn, jitters: tuple[int, ...] = (0, 0, 10, 20)) -> Habit:
    return Habit(
        windows=draw(windows()),
        weeks=draw(st.integers(4, 8)),
        floor=draw(st.sampled_from((0.0, 0.0, 0.2, 2.0))),
        rough=draw(st.sampled_from((0.05, 0.05, 0.4))),
        jitter=draw(st.sampled_from(jitters)),
        seed=draw(st.integers(0, 10_000)),
    )


ALL = frozenset(range(7 * 24 * 60))


def awake(history: History) -> frozenset[int]:
    """Minutes of a week in which it would be awake; where nothing is proposed, all of them."""
    found = first_candidate(history)
    return frozenset(awake_minutes(found.hours)) if isinstance(found, Candidate) else ALL


spans = st.lists(st.tuples(st.integers(0, 8 * WEEK), st.integers(4, 3 * 288)), min_size=1, max_size=12)
"""Gaps of 20 minutes to three days."""


@examples(40)
@given(habits(), st.integers(-60, 60))
def test_shifting_a_history_by_whole_weeks_changes_nothing(habit: Habit, weeks: int) -> None:
    history = habit.history()
    shifted = History(origin=history.origin + timedelta(weeks=weeks), step=history.step, values=history.values)
    assert first_candidate(shifted) == first_candidate(history)


@examples(60)
@given(habits(jitters=(0,)), spans)
def test_losing_samples_makes_no_minute_idle(habit: Habit, gaps: list[tuple[int, int]]) -> None:
    history = habit.history()
    less = without(history, *((start, start + length) for start, length in gaps))
    assert awake(less) >= awake(history)


@examples(60)
@given(habits(), spans)
def test_losing_samples_moves_ends_that_vary_by_a_quarter_of_an_hour_or_two_at_most(
    habit: Habit, gaps: list[tuple[int, int]]
) -> None:
    """Where each day ends at another minute, the day that was lost may have been the longest."""
    history = habit.history()
    less = without(history, *((start, start + length) for start, length in gaps))
    kept = awake(less)
    lost = awake(history) - kept
    assert all(any((minute + step) % len(ALL) in kept for step in (-30, 30)) for minute in lost)


@examples(40)
@given(habits(), st.floats(0.01, 0.9), st.integers(0, 1000))
def test_losing_samples_at_random_makes_no_minute_idle(habit: Habit, share: float, seed: int) -> None:
    history, chance = habit.history(), random.Random(seed)

    def lose(values: "array[float]") -> None:
        for at in range(len(values)):
            if chance.random() < share:
                values[at] = math.nan

    assert awake(changed(history, lose)) >= awake(history)


@examples(60)
@given(habits(), st.integers(0, WEEK), st.integers(1, 48), st.booleans(), st.floats(2.0, 9.0))
def test_more_use_shortens_no_hours(habit: Habit, first: int, length: int, weekly: bool, value: float) -> None:
    history = habit.history()

    def use(values: "array[float]") -> None:
        for week in range(0, len(values), WEEK if weekly else len(values)):
            for at in range(week + first, min(week + first + length, len(values))):
                values[at] += value

    assert awake(changed(history, use)) >= awake(history)
