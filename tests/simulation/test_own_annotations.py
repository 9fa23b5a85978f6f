"""Annotations of keda-py in a simulation: replayed by the rules of the operator and its HPA."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from keda_py.replay.engine.setting import Cluster
from keda_py.replay.engine.source import Source
from keda_py.simulation.loads.load import Need
from keda_py.simulation.recording import Figures
from keda_py.simulation.runs.run import Run, carry_out
from keda_py.simulation.sources import Column, Rows
from tests.simulation.worked import Written, figures_of, on_queue

HOUR = 3600.0
PEAK = {0.0: 0.0, 600.0: 25.0, 1200.0: 0.0}


def annotated(annotations: dict[str, str], triggers: int = 1, **spec: Any) -> dict[str, Any]:
    body = on_queue(**spec)
    only = body["spec"]["triggers"][0]
    body["spec"]["triggers"] = [{**only, "name": f"q{index}"} for index in range(triggers)]
    body["metadata"]["annotations"] = annotations
    return body


def on_two(annotations: dict[str, str], rows: dict[float, tuple[float, ...]], **spec: Any) -> Figures:
    load = _Columns(list(rows.items()), HOUR)
    run = Run(title="shop/web", body=annotated(annotations, 2, **spec), load=load, cluster=Cluster(sync_seconds=15.0))
    return carry_out(run).figures


class _Columns(Written):
    """A column for each trigger."""

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        return {need.index: Column(Rows(self.rows), need.index) for need in needs}


def test_a_trigger_asks_for_no_more_than_its_own_maximum() -> None:
    plain, bounded = (
        figures_of(annotated(one), PEAK, HOUR) for one in ({}, {"keda-py.dev/max-replicas-per-trigger": "q0=2"})
    )
    assert (plain.peak, bounded.peak) == (5, 2)
    assert bounded.seconds_short <= plain.seconds_short, "it is short of pods that it may not ask for"


def test_after_a_peak_the_last_pod_stays_for_the_cooldown_and_the_others_go_first() -> None:
    after = {"keda-py.dev/cooldown": "after-scale-in"}
    plain, stepwise = (figures_of(annotated(one, cooldownPeriod=60), PEAK, HOUR) for one in ({}, after))
    # The HPA scales in five minutes after the peak: without the annotation all pods are gone by then.
    assert stepwise.seconds_at_zero == pytest.approx(plain.seconds_at_zero - 300, abs=30)
    assert stepwise.scalings == plain.scalings + 1


def test_one_queue_alone_scales_nothing_where_all_have_to_be_active() -> None:
    together = {"keda-py.dev/active-when": "all"}
    rows = {0.0: (25.0, 0.0), 600.0: (25.0, 5.0), 1200.0: (25.0, 0.0)}
    assert on_two(together, {0.0: (25.0, 0.0)}).peak == 0
    found = on_two(together, rows, cooldownPeriod=60)
    assert (found.peak, found.wakes) == (5, 1)
    assert on_two(together, rows, cooldownPeriod=60, minReplicaCount=1).peak == 5
    assert on_two({}, rows, cooldownPeriod=60).seconds_at_zero < found.seconds_at_zero
