"""What every controller works with, made once by `operator/assembly.py`; each kind adds what it needs alone."""

from dataclasses import dataclass
from typing import Final

from keda_py.auth.cluster_resolver import ClusterResolver
from keda_py.clock import Clock
from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder, EventType
from keda_py.kube.resources import Obj
from keda_py.operator.controller.activations import Activations
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import DecisionRecord
from keda_py.operator.process.quarantine import Quarantine
from keda_py.readings.readings import Readings
from keda_py.telemetry.prometheus import OperatorMetrics

WATCH_STARTED: Final = ("Normal", "KEDAScalersStarted", "Started scalers watch", "ScalersWatchStarted")
WATCH_STOPPED: Final = ("Normal", "KEDAScalersStopped", "Stopped scalers watch")
"""What a scale loop's begin and end are told with: `events.record(live, *WATCH_STARTED)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What a controller works with, the same for every kind; the dependencies of a kind have it as `shared`.

    `client` refuses to write while this process does not lead.
    """

    clock: Clock
    client: KubeClient
    readings: Readings
    resolver: ClusterResolver
    status: StatusWriter
    events: EventRecorder
    instruments: OperatorMetrics
    record: DecisionRecord
    quarantine: Quarantine
    activations: Activations
    tells_unknown_keys: bool

    def tell(self, live: Obj, kind: EventType, reason: str, note: str) -> None:
        """An Event about an object as a whole: its `action` is the note, as in KEDA."""
        self.events.record(live, kind, reason, note, action=note)
