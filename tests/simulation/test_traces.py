"""Scenarios that KEDA 2.20 and the real HPA controller went through, second by second, simulated; see traces.py."""

import pytest

from keda_py.replay.engine.world import Cause, World
from keda_py.simulation.runs.run import simulate
from tests.simulation.traces import SCENARIOS, Path, apart, plan_of

CREATED = (-20.0, -26.1, -33.3, -44.9)
"""Polls and syncs have phases of their own, which no recording tells: every one has to do."""


class Counts:
    """The counts that were asked for."""

    def __init__(self, replicas: int) -> None:
        self.path: list[tuple[float, int]] = [(0.0, replicas)]

    def changed(self, at: float, world: World, cause: Cause) -> None:
        self.path.append((max(at, 0.0), world.pods.replicas))

    def passed(self, at: float, world: World) -> None:
        pass


async def path_of(name: str, created: float) -> Path:
    counts = Counts(SCENARIOS[name]["startReplicas"])
    simulate(await plan_of(name, created=created), counts)
    return counts.path


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_simulated_counts_are_the_recorded_ones(name: str) -> None:
    for created in CREATED:
        path = await path_of(name, created)
        assert apart(name, path) <= 1.0, f"created at {created}: {path}"


def test_every_recorded_scenario_is_simulated() -> None:
    assert len(SCENARIOS) >= 36


async def test_a_schedule_cools_down_from_the_end_of_its_window() -> None:
    path = await path_of("cron-two-minutes", -20.0)
    assert path[-1][0] == pytest.approx(180 + 20, abs=0.1)
