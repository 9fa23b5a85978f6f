"""What reconciler and scale loop work with, made once by `assembly.py`."""

from dataclasses import dataclass
from typing import Final

from keda_py.auth.cluster_resolver import ClusterResolver
from keda_py.clock import Clock
from keda_py.kube.client import KubeClient
from keda_py.kube.events import EventRecorder, EventType
from keda_py.kube.resources import Obj
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.cluster.namespaces import Namespaces
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.controller.record import DecisionRecord
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.process.quarantine import Quarantine
from keda_py.operator.scaled_objects.hpas import Hpas
from keda_py.operator.scaled_objects.targets import Targets
from keda_py.readings.readings import Readings
from keda_py.telemetry.prometheus import OperatorMetrics

WATCH_STARTED: Final = ("Normal", "KEDAScalersStarted", "Started scalers watch", "ScalersWatchStarted")
WATCH_STOPPED: Final = ("Normal", "KEDAScalersStopped", "Stopped scalers watch")
"""What a scale loop's begin and end are told with: `events.record(live, *WATCH_STARTED)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The surroundings of one operator process."""

    clock: Clock
    client: KubeClient
    caches: Caches
    namespaces: Namespaces
    targets: Targets
    hpas: Hpas
    reader: ClusterReader
    readings: Readings
    resolver: ClusterResolver
    status: StatusWriter
    events: EventRecorder
    instruments: OperatorMetrics
    record: DecisionRecord
    quarantine: Quarantine
    tells_unknown_keys: bool


def tell(parts: Parts, live: Obj, kind: EventType, reason: str, note: str) -> None:
    """An Event about a ScaledObject as a whole: its `action` is the note, as in KEDA."""
    parts.events.record(live, kind, reason, note, action=note)
