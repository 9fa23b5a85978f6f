"""The benches run; what they measure is nobody's verdict."""

import pytest

from tests.bench import decide
from tests.bench.__main__ import BENCHES, load_bench
from tests.bench.figures import percentile
from tests.bench.load import Load
from tests.bench.options import Options


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_says_what_it_measures(name: str) -> None:
    assert (load_bench(name).__doc__ or "").startswith(f"{name.capitalize()}: ")


async def test_decisions_are_measured() -> None:
    told: list[str] = []
    row = await decide.run(Options(), told.append)
    assert set(row) == {f"{name}_us" for name in told}


def test_the_99th_percentile_of_a_hundred_times_is_the_longest() -> None:
    assert percentile([float(number) for number in range(100)], 0.99) == 99.0


def test_a_run_near_the_ceiling_of_its_client_says_so() -> None:
    def load(requests: int) -> Load:
        return Load(clients=1, seconds=1.0, times=[0.001] * requests, failed=0, cpu=0.1)

    assert load(400).row(ceiling=load(1000))["client_bound"] is True
    assert load(300).row(ceiling=load(1000))["client_bound"] is False
