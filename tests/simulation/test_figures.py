"""Figures of runs, on examples that can be worked out by hand."""

import pickle
import random

import pytest

from keda_py.errors import ConfigError
from keda_py.simulation.runs.run import Run, carry_out, carry_out_all
from keda_py.simulation.runs.variants import cheapest, read_sweep
from tests.simulation.worked import Written, figures_of, on_queue

HOUR = 3600.0


def test_replica_hours_are_the_area_under_the_counts() -> None:
    figures = figures_of(on_queue(cooldownPeriod=600), {0.0: 0.0, 600.0: 4.0, 1200.0: 0.0}, HOUR)
    # Awake from the poll at 600 to ten minutes after the last active reading, before 1200.
    awake = figures.seconds - figures.seconds_at_zero
    assert awake == pytest.approx(600 + 600, abs=11)
    assert figures.replica_hours == pytest.approx(awake / HOUR)
    assert (figures.peak, figures.wakes, figures.scalings, figures.flaps) == (1, 1, 2, 0)


def test_the_wait_from_zero_lasts_from_the_value_to_the_first_ready_pod() -> None:
    figures = figures_of(on_queue(), {0.0: 0.0, 603.0: 4.0}, HOUR, ready_after=40.0)
    assert figures.longest_wait == pytest.approx(7 + 40)  # the next poll is at 610
    assert figures.seconds_short == pytest.approx(40)  # seen at 610


def test_a_value_that_rose_between_two_polls_waits_from_when_it_rose() -> None:
    steps = {0.0: 0.0, 601.0: 4.0, 605.0: 5.0, 609.0: 4.0}
    assert figures_of(on_queue(), steps, HOUR).longest_wait == pytest.approx(9)


def test_what_never_sleeps_never_waits() -> None:
    figures = figures_of(on_queue(minReplicaCount=1), {0.0: 4.0}, HOUR)
    assert (figures.longest_wait, figures.seconds_at_zero, figures.wakes) == (None, 0.0, 0)


def test_a_maximum_that_is_too_low_is_time_under_capacity() -> None:
    figures = figures_of(on_queue(maxReplicaCount=2), {0.0: 0.0, 600.0: 30.0, 1200.0: 0.0}, HOUR)
    assert figures.seconds_short == pytest.approx(600, abs=20)
    assert figures.peak == 2


def test_what_the_hpa_tolerates_is_enough() -> None:
    figures = figures_of(on_queue(minReplicaCount=2), {0.0: 10.9}, HOUR)
    assert (figures.seconds_short, figures.scalings) == (0.0, 0)


def test_waking_again_within_ten_minutes_is_a_flap() -> None:
    steps = {0.0: 0.0, 600.0: 4.0, 700.0: 0.0, 900.0: 4.0, 1000.0: 0.0, 3000.0: 4.0}
    assert figures_of(on_queue(cooldownPeriod=60), steps, HOUR).flaps == 1


def test_cpu_is_shared_by_the_pods_that_are_ready() -> None:
    from keda_py.replay.engine.setting import Cluster

    body = on_queue(minReplicaCount=1)
    body["spec"]["triggers"] = [{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "50"}}]
    load = Written([(0.0, (0.05,)), (600.0, (1.0,))], HOUR)
    cluster = Cluster(sync_seconds=15.0, requests={"cpu": 500})
    figures = carry_out(Run(title="shop/web", body=body, load=load, cluster=cluster)).figures
    assert figures.peak == 4  # 1 core is 250m for each of 4, half of what each requests


def test_a_sweep_names_the_cheapest_value_that_misses_nothing() -> None:
    steps = [(float(at), (4.0 if at % 600 < 60 else 0.0,)) for at in range(0, 7200, 60)]
    sweep = read_sweep("cooldownPeriod=60,300,700,1200")
    variants = sweep.variants(on_queue())
    load = Written(steps, 7200.0)
    from keda_py.replay.engine.setting import Cluster

    cluster = Cluster(ready_after=60.0)
    results = carry_out_all(
        [Run(title="shop/web", variant=name, body=body, load=load, cluster=cluster) for name, body in variants], 1
    )
    assert [result.variant for result in results] == [f"cooldownPeriod={one}" for one in (60, 300, 700, 1200)]
    assert cheapest(results).variant == "cooldownPeriod=700"  # shorter ones sleep between the peaks


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("cooldownPeriod=60..900/240", (60, 300, 540, 780)),
        ("cooldownPeriod=0..7", tuple(range(8))),
        ("spec.minReplicaCount=0,2", (0, 2)),
        ("triggers.0.metadata.targetValue=0.5..2/0.5", (0.5, 1.0, 1.5, 2.0)),
    ],
)
def test_a_sweep_is_a_list_or_a_span(text: str, values: tuple[float, ...]) -> None:
    assert read_sweep(text).values == values


@pytest.mark.parametrize(
    "text", ["", "a", "a=", "a=x", "a=9..1", "a=1..2/0", "a=0..1e9/1", "a=0..inf", "a=nan..1", "=1..2"]
)
def test_what_is_no_sweep_is_told_so(text: str) -> None:
    with pytest.raises(ConfigError, match="--sweep"):
        read_sweep(text)


def test_a_sweep_reaches_into_triggers_and_behaviors() -> None:
    (_, changed), *_ = read_sweep("triggers.0.metadata.targetValue=7,8").variants(on_queue())
    assert changed["spec"]["triggers"][0]["metadata"]["targetValue"] == "7"
    path = "advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds"
    (_, changed), *_ = read_sweep(f"{path}=60,90").variants(on_queue())
    rules = changed["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert rules == {"stabilizationWindowSeconds": 60}


@pytest.mark.parametrize("field", ["triggers.0", "triggers.7.type", "scaleTargetRef.name.first", "triggers.x"])
def test_a_sweep_of_what_is_not_there_is_told_so(field: str) -> None:
    with pytest.raises(ConfigError, match="--sweep"):
        read_sweep(f"{field}=1,2").variants(on_queue())


def test_a_run_and_its_result_travel_between_processes() -> None:
    run = Run(title="shop/web", body=on_queue(), load=Written([(0.0, (4.0,))], 60.0))
    assert pickle.loads(pickle.dumps(carry_out(run))) == carry_out(pickle.loads(pickle.dumps(run)))


def test_a_manifest_that_contradicts_itself_is_told_with_its_object() -> None:
    run = Run(
        title="shop/web",
        body=on_queue(minReplicaCount=5, maxReplicaCount=2),
        load=Written([(0.0, (4.0,))], 60.0),
    )
    with pytest.raises(ConfigError, match=r"shop/web: .*[Mm]in"):
        carry_out(run)


@pytest.mark.parametrize("seed", range(6))
def test_looks_that_are_taken_as_decided_are_decided_so(seed: int) -> None:
    """Every look and sync of an object with a formula goes through the core; this formula gives the trigger's value."""
    plain, formula = on_queue(cooldownPeriod=120), on_queue(cooldownPeriod=120)
    formula["spec"]["triggers"][0]["name"] = "one"
    formula["spec"]["advanced"] = {"scalingModifiers": {"formula": "one", "target": "5"}}
    noise = random.Random(seed)
    steps = {float(at): noise.choice((0.0, 0.0, noise.uniform(0, 60))) for at in range(0, 6 * 3600, 97)}
    ours, theirs = (figures_of(body, steps, 6 * HOUR, ready_after=20.0) for body in (plain, formula))
    counts = [[(change.at, change.replicas, change.ready) for change in one.changes] for one in (ours, theirs)]
    assert counts[0] == counts[1]
    assert len(counts[0]) > 100


def test_a_workload_that_wakes_soon_is_given_what_was_recommended_before_it_slept() -> None:
    steps = {0.0: 0.0, 600.0: 15.0, 1800.0: 0.0, 1815.0: 4.0, 3000.0: 0.0}
    figures = figures_of(on_queue(cooldownPeriod=0), steps, HOUR)
    counts = [change.replicas for change in figures.changes if change.at >= 1800 and change.why != "PodReady"]
    assert counts[:4] == [0, 1, 3, 1]  # the HPA still remembers the three, for five minutes
