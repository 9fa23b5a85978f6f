"""What is told nowhere: statuses and Events of objects that belong to the other side."""

from collections.abc import Mapping
from typing import Any

from keda_py.kube.events import EventRecorder, EventType
from keda_py.kube.resources import Obj
from keda_py.operator.controller.state import Remembered
from keda_py.operator.controller.status import StatusWriter
from keda_py.operator.decisions.record import Entry


class SilentStatus(StatusWriter):
    """Writes no status."""

    def note(self, state: Remembered, entry: Entry) -> None:
        """Nothing is kept either."""

    async def write(self, state: Remembered, wanted: Mapping[str, Any], *, exactly: bool = False) -> bool:
        """Nothing was needed."""
        return False


class SilentEvents(EventRecorder):
    """Records no Event, and announces none."""

    def record(self, regarding: Obj, event_type: EventType, reason: str, note: str, action: str = "") -> None:
        """Nothing."""
