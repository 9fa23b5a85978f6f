"""Controller of Calendars and ClusterCalendars: writes whether they are open, what comes next, and whether they are
valid.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.apis.environments.calendar import CalendarStatus
from keda_py.core.environment.calendar.queries import invalid_status, moment_of, status_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import LATE_SECONDS, Remembered
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.state import LONGEST_RETRY
from keda_py.operator.environments.wire import fields_of

# The upcoming holidays in a status change at midnight of the calendar's zone, and files with holidays are not watched.
LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class CalendarPlaceholder:
    """Stands for a spec in the controller; the looks themselves set when the next one is due."""

    polling_interval: timedelta = LONGEST_RETRY


@dataclass(slots=True)
class CalendarMemory(Remembered):
    """State of one calendar between two looks; nothing of it has to survive a restart."""

    spec: CalendarPlaceholder | None = None


class CalendarObjects(Kind[CalendarMemory]):
    """The kind for `Controller`; `live` has the objects of either scope."""

    new = CalendarMemory

    def __init__(self, parts: EnvironmentDependencies, live: Informer) -> None:
        self._parts, self.live = parts, live
        self._shared = parts.shared

    async def reconcile(self, state: CalendarMemory, live: Obj) -> None:
        state.spec = CalendarPlaceholder()
        state.due.look_now()
        state.reconciled.finish(live)

    async def look(self, state: CalendarMemory) -> None:
        """Write what the calendar says now, and look again at its next change. Raises KubeError."""
        live = self.live.get(state.key.namespace, state.key.name)
        if live is None:
            return
        now = self._shared.clock.now()
        at: datetime | None = None
        try:
            calendar = await self._parts.calendars.of_live(live)
        except ConfigError as error:
            status = invalid_status(str(error))
        else:
            moment = moment_of(calendar, now)
            status, at = status_of(calendar, moment, now), moment.changes_at
        await self._shared.status.write(state, fields_of(CalendarStatus, status))
        wait = LONGEST_WAIT if at is None else min(max(at - now, timedelta(0)), LONGEST_WAIT)
        state.due.look_at(self._shared.clock.monotonic() + wait.total_seconds() + LATE_SECONDS)

    async def finalize(self, state: CalendarMemory, live: Obj) -> None:
        """Stop the work; there is no finalizer of ours to remove."""
        state.stop()

    def forget(self, state: CalendarMemory) -> None:
        self._parts.calendars.forget(state.key)
