"""Calendars and ClusterCalendars: whether they are open now, what comes next, and whether they can be read at all."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.apis.environments.calendar import CalendarStatus
from keda_py.core.environment.calendar.questions import next_change
from keda_py.core.environment.calendar.report import invalid_status, status_of
from keda_py.errors import ConfigError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.after_look import LATE_SECONDS
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered, fingerprint_of
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.state import LONGEST_RETRY
from keda_py.operator.environments.wire import fields_of

LONGEST_WAIT = timedelta(hours=1)
"""Holidays to come change at midnight, wherever that is; and a file may have changed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """There is a look at each change."""

    polling_interval: timedelta = LONGEST_RETRY


@dataclass(slots=True)
class CalendarMemory(Remembered):
    """Of one calendar; nothing has to survive."""

    spec: Standing | None = None


class CalendarObjects(Kind[CalendarMemory]):
    """The kind for `Controller`, of either scope."""

    new = CalendarMemory

    def __init__(self, parts: EnvironmentDependencies, live: Informer) -> None:
        self._parts, self.live = parts, live

    async def reconcile(self, state: CalendarMemory, live: Obj) -> None:
        """There is nothing to prepare."""
        state.spec, state.next_look, state.fingerprint = Standing(), 0.0, fingerprint_of(live)

    async def look(self, state: CalendarMemory) -> None:
        """What it says now. Raises KubeError."""
        live = self.live.get(state.key.namespace, state.key.name)
        if live is None:
            return
        now = self._parts.clock.now()
        at: datetime | None = None
        try:
            calendar = await self._parts.calendars.of_live(live)
        except ConfigError as error:
            status = invalid_status(str(error))
        else:
            status, change = status_of(calendar, now), next_change(calendar, now)
            at = None if change is None else change.at
        await self._parts.status.write(state, fields_of(CalendarStatus, status))
        wait = LONGEST_WAIT if at is None else min(max(at - now, timedelta(0)), LONGEST_WAIT)
        state.next_look = self._parts.clock.monotonic() + wait.total_seconds() + LATE_SECONDS

    async def finalize(self, state: CalendarMemory, live: Obj) -> None:
        """It has no finalizer of ours."""
        state.stop()

    def forget(self, state: CalendarMemory) -> None:
        """What was built of it."""
        self._parts.calendars.forget(state.key)
