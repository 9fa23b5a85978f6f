"""Grids: never later than a polling interval, together for one source, apart for different ones."""

from hypothesis import given
from hypothesis import strategies as st

from keda_py.metrics.phases import grid_of

intervals = st.sampled_from([1.0, 5.0, 15.0, 30.0, 60.0, 300.0])
moments = st.floats(min_value=0, max_value=1e7)


@given(key=st.text(), interval=intervals, at=moments)
def test_the_next_poll_comes_within_one_polling_interval_and_not_at_once(key, interval, at):
    due = grid_of(key, interval).next_after(at)
    assert at < due <= at + interval + 1e-5


@given(key=st.text(), interval=intervals, first=moments, late=st.floats(min_value=0, max_value=0.5))
def test_a_poll_on_the_grid_is_followed_by_one_exactly_an_interval_later(key, interval, first, late):
    grid = grid_of(key, interval)
    due = grid.next_after(first)
    assert abs(grid.next_after(due + late) - (due + interval)) < 1e-5


def test_one_source_has_one_phase_and_a_hundred_sources_are_spread():
    assert grid_of(("redis", "a"), 15) == grid_of(("redis", "a"), 15)
    offsets = {int(grid_of(("redis", str(number)), 15).offset) for number in range(100)}
    assert len(offsets) == 15
