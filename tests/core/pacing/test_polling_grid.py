"""Grids: never later than a polling interval, together for one source, apart for different ones."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.pacing.polling_grid import Grid, Phases

intervals = st.sampled_from([1.0, 5.0, 15.0, 30.0, 60.0, 300.0])
moments = st.floats(min_value=0, max_value=1e7)
grids = st.builds(lambda interval, origin: Grid(interval=interval, offset=origin % interval), intervals, moments)


@given(grid=grids, at=moments)
def test_the_next_poll_comes_within_one_polling_interval_and_not_at_once(grid, at):
    assert at < grid.next_after(at) <= at + grid.interval + 1e-5


@given(grid=grids, first=moments, late=st.floats(min_value=0, max_value=0.5))
def test_a_poll_on_the_grid_is_followed_by_one_exactly_an_interval_later(grid, first, late):
    due = grid.next_after(first)
    assert abs(grid.next_after(due + late) - (due + grid.interval)) < 1e-5


@given(interval=intervals, at=moments, seconds=st.floats(min_value=0, max_value=0.5))
def test_a_source_that_comes_alone_is_polled_one_interval_after_its_first_poll(interval, at, seconds):
    grid = Phases().join("a", interval, at)
    assert abs(grid.next_after(at + seconds) - (at + interval)) < 1e-5


def test_objects_of_one_source_share_a_phase_whatever_their_interval():
    phases = Phases()
    first = phases.join("a", 15.0, 1000.0)
    assert phases.join("a", 15.0, 1007.0) == first
    assert phases.join("a", 30.0, 1009.0).next_after(1009.0) in (1015.0, 1030.0)


def test_every_thousand_objects_of_a_source_have_points_of_their_own():
    phases = Phases()
    grids = [phases.join("a", 15.0, 1000.0) for _ in range(2500)]
    first, second, third = sorted({grid.next_after(1000.0) for grid in grids})
    assert (first, second, third) == (1000.5, 1001.0, 1015.0)
    assert sorted(Counter(grid.offset for grid in grids).values()) == [500, 1000, 1000]


def test_an_object_that_comes_takes_the_place_of_one_that_went():
    phases = Phases()
    grids = [phases.join("a", 15.0, 1000.0) for _ in range(2500)]
    phases.leave("a", grids[0].group)
    assert phases.join("a", 15.0, 1003.0) == grids[0]
    assert phases.join("a", 15.0, 1003.0) == grids[-1]


def test_a_source_that_nobody_uses_any_more_begins_anew():
    phases = Phases()
    phases.join("a", 15.0, 1000.0)
    phases.leave("a")
    assert phases.join("a", 15.0, 1007.0).next_after(1007.0) == 1022.0


def test_a_hundred_sources_at_once_are_spread_the_same_in_every_process():
    def offsets():
        phases = Phases()
        return [phases.join(("redis", str(number)), 15.0, 1000.0).offset for number in range(100)]

    assert len({int(offset) for offset in offsets()}) == 15
    assert offsets() == offsets()
