"""Controller of Calendars and ClusterCalendars: writes whether they are open, what comes next, and whether they are
valid.
"""

from datetime import datetime, timedelta

from keda_py.apis.environments.calendar import CalendarStatus
from keda_py.core.environment.calendar.queries import invalid_status, moment_of, status_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.operator.controller.kind import LookOnlyKind, LookOnlyMemory
from keda_py.operator.controller.state import LATE_SECONDS
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.wire import fields_of

# The upcoming holidays in a status change at midnight of the calendar's zone, and files with holidays are not watched.
LONGEST_WAIT = timedelta(hours=1)


class CalendarObjects(LookOnlyKind[LookOnlyMemory]):
    """The kind for `Controller`; `live` has the objects of either scope."""

    new = LookOnlyMemory

    def __init__(self, parts: EnvironmentDependencies, live: Informer) -> None:
        self._parts, self.live = parts, live
        self._shared = parts.shared

    async def look(self, state: LookOnlyMemory) -> None:
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

    def forget(self, state: LookOnlyMemory) -> None:
        self._parts.calendars.forget(state.key)
