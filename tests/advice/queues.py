"""ScaledObjects of invented queues, and the ScalingSchedule that is proposed for them."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from keda_py.advice.proposals.advise import Advice
from keda_py.advice.proposals.minimum_schedules import Found, minimum_schedule
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.workload import Observed, TriggerHistory, WorkloadKey
from keda_py.apis.foreign import name_of, namespace_of
from keda_py.core.advice.history import History
from keda_py.sdk.offline import shared_context
from keda_py.simulation.subject import build_object
from tests.builders import bare_scaled_object
from tests.core.advice.habits import Habit, changed


@dataclass(slots=True, kw_only=True)
class QueueLoad(Habit):
    """A queue that is as long as `busy` in the windows, and as `quiet` besides; ten of it ask for a replica."""

    busy: float = 75.0
    quiet: float = 25.0

    def history(self) -> History:
        return changed(Habit.history(self), self._fill)

    def _fill(self, values: "array[float]") -> None:
        for at, value in enumerate(values):
            values[at] = self.busy if value > 1 else self.quiet


def asks(query: str = "queue_length", **metadata: str) -> dict[str, Any]:
    fields = {"serverAddress": "http://prometheus:9090", "query": query, "threshold": "10", **metadata}
    return {"type": "prometheus", "metadata": fields}


def worker(*triggers: dict[str, Any], minimum: int = 8, **spec: Any) -> dict[str, Any]:
    counts = {"minReplicaCount": minimum, "maxReplicaCount": 20, **spec}
    return bare_scaled_object(*(triggers or (asks(),)), name="worker", namespace="shop", **counts)


async def found_for(
    body: dict[str, Any], *histories: History, written: Sequence[Any] = (), waits: float = 2.0
) -> Found:
    """What is proposed where its triggers read this."""
    async with shared_context() as shared:
        triggers = TriggerHistory(subject=build_object(body, shared).subject, histories=histories)
    key = WorkloadKey(namespace_of(body), body["kind"], name_of(body))
    advice = Advice(observed=Observed(workload=key, triggers=triggers))
    zone = ZoneInfo("UTC")
    found = minimum_schedule(advice, (body, *written), PlaceRule(own=zone, zone=zone), waits)
    assert found is not None
    return found
