"""What the passes over a ScaledJob work with, made once by `controller.py`."""

from dataclasses import dataclass

from keda_py.auth.cluster_resolver import ClusterResolver
from keda_py.clock import Clock
from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder, EventType
from keda_py.kube.resources import Obj
from keda_py.operator.controller.record import DecisionRecord
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.process.quarantine import Quarantine
from keda_py.operator.scaled_jobs.caches import JobCaches
from keda_py.readings.readings import Readings
from keda_py.telemetry.prometheus import OperatorMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """The surroundings of all ScaledJobs; `readings` are theirs alone, so that names do not meet ScaledObjects'."""

    clock: Clock
    client: KubeClient
    caches: JobCaches
    readings: Readings
    resolver: ClusterResolver
    status: StatusWriter
    events: EventRecorder
    instruments: OperatorMetrics
    record: DecisionRecord
    quarantine: Quarantine
    tells_unknown_keys: bool

    def tell(self, live: Obj, kind: EventType, reason: str, note: str) -> None:
        """An Event about a ScaledJob as a whole: its `action` is the note, as in KEDA."""
        self.events.record(live, kind, reason, note, action=note)
