"""Figures of two commits are compared, and counts of an object with those that are known."""

import math

import pytest

from tests.bench.compare import figures_of, ratio_of, report
from tests.bench.counts import regressions


def test_every_number_of_a_row_is_a_figure_named_by_the_way_to_it() -> None:
    row = {"bench": "scale", "phase": "idle", "late_s": {"p99": 0.1, "max": 2}, "client_bound": True, "objects": 5}
    assert dict(figures_of(row)) == {"idle late_s p99": 0.1, "idle late_s max": 2.0, "idle objects": 5.0}


def test_the_interval_of_a_ratio_is_as_wide_as_the_pairs_differ() -> None:
    steady = ratio_of([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert steady == pytest.approx((0.5, 0.5, 0.5))
    ratio, low, high = ratio_of([1.0, 1.0], [1.0, 4.0])
    assert ratio == pytest.approx(2.0)
    assert low < 1 < 4 < high
    assert ratio_of([1.0], [3.0])[1:] == (0.0, math.inf)


def test_what_has_changed_is_marked_and_what_is_always_the_same_left_out() -> None:
    runs = [
        ({"cpu": 1.0, "noise": 1.0, "objects": 5.0}, {"cpu": 2.0, "noise": one, "objects": 5.0}) for one in (0.5, 2.0)
    ]
    cpu, noise = report(runs)
    assert cpu.split()[:4] == ["cpu", "1", "2", "2.000"]
    assert cpu.endswith("*")
    assert not noise.endswith("*")


def test_a_count_that_has_grown_by_more_than_a_twentieth_is_a_regression() -> None:
    known = {"calls": 1000.0, "requests": 1.0, "bytes": 100.0}
    assert regressions(known, {"calls": 1049.0, "requests": 1.2, "bytes": 10.0}) == []
    assert regressions(known, {"calls": 1051.0, "requests": 2.0, "new": 1.0}) == [
        "calls: 1051, and 1000 before",
        "requests: 2, and 1 before",
        "new: 1, and 0 before",
    ]
