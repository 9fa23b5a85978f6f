"""What benches draw."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.bench import growth, soak
from tests.bench.lab.chart import draw_growth, draw_over_time, growth_exponent

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed (pip: matplotlib)")


def test_the_benches_that_draw_say_what_they_measure() -> None:
    assert [(one.__doc__ or "").partition(":")[0] for one in (growth, soak)] == ["Growth", "Soak"]


@pytest.mark.parametrize(("costs", "exponent"), [([3, 6, 12], 1.0), ([3, 12, 48], 2.0), ([7, 7, 7], 0.0)])
def test_the_growth_exponent_of_a_power_law_is_its_power(costs: list[float], exponent: float) -> None:
    assert growth_exponent(list(zip([10, 20, 40], costs, strict=True))) == pytest.approx(exponent)


def test_the_growth_of_costs_is_drawn(tmp_path: Path) -> None:
    draw_growth(tmp_path / "growth.svg", "cost", {"memory": [(10, 2.0), (20, 3.0)]})
    assert "<svg" in (tmp_path / "growth.svg").read_text()


def test_lines_over_time_are_drawn(tmp_path: Path) -> None:
    draw_over_time(tmp_path / "new" / "soak.svg", "memory", "MiB", {"resident": [(0.0, 90.0), (0.5, 91.0)]})
    assert "<svg" in (tmp_path / "new" / "soak.svg").read_text()
