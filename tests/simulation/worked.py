"""A ScaledObject on one queue, and loads written as rows, for tests of whole runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keda_py.replay.engine.setting import Cluster
from keda_py.replay.engine.source import Source
from keda_py.simulation.loads.load import Need
from keda_py.simulation.recording import Figures
from keda_py.simulation.runs.run import Run, carry_out
from keda_py.simulation.sources import Column, Row, Rows

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)


def on_queue(name: str = "web", target: str = "5", **spec: Any) -> dict[str, Any]:
    trigger = {"type": "metrics-api", "metadata": {"url": "http://jobs/", "valueLocation": "v", "targetValue": target}}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"scaleTargetRef": {"name": name}, "pollingInterval": 10, "triggers": [trigger], **spec},
    }


@dataclass(frozen=True)
class Written:
    """A load of one column."""

    rows: Sequence[Row]
    end: float
    origin: datetime = MONDAY

    def bind(self, needs: Sequence[Need]) -> Mapping[int, Source]:
        return {need.index: Column(Rows(self.rows), 0) for need in needs}


def figures_of(body: Mapping[str, Any], steps: Mapping[float, float], end: float, ready_after: float = 0.0) -> Figures:
    load = Written([(at, (value,)) for at, value in steps.items()], end)
    cluster = Cluster(ready_after=ready_after, sync_seconds=10.0)
    return carry_out(Run(title="shop/web", body=body, load=load, cluster=cluster)).figures
