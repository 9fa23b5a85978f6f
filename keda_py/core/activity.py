"""The last activity of an object, from which its cooldown is measured, on monotonic time.

The wall clock may be stepped; a cooldown must then end neither early nor late. So activity is remembered on the
monotonic clock and translated to a wall-clock instant only for `decide` and for `status.lastActiveTime`. A schedule's
last activity is the end of its window, a polled trigger's its last active reading.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

SCALING_IN = "ScalingIn"
"""Reason of a decision to leave scaling in to the HPA (`core/decision.py`)."""
_MILLISECOND, _SECOND = timedelta(milliseconds=1), timedelta(seconds=1)
# Bound on the age of a stored activity: a status may say the year 1, or 9999. None counts as older, or as in the
# future.
_LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityState:
    """`last` is in monotonic seconds, None: never active. `until` is the announced end of the schedule that was active,
    on both clocks.

    `inherited` marks an object whose cooldown begins at our next observation: one that was active when we took over,
    because no replica saw what happened in between (late is safe, early is not), and one that its HPA scales in first.
    """

    active: bool = False
    last: float | None = None
    until: tuple[datetime, float] | None = None
    inherited: bool = False


def restore_activity(status: Mapping[str, Any], now: datetime, monotonic: float) -> ActivityState:
    """Restore the state after a start or a take-over from the status."""
    conditions = status.get("conditions") or ()
    active = any(entry.get("type") == "Active" and entry.get("status") == "True" for entry in conditions)
    # An object that its HPA was scaling in may have got there meanwhile: its cooldown begins at our first look.
    own = status.get("kedaPy")
    active = active or (isinstance(own, Mapping) and own.get("reason") == SCALING_IN)
    text = status.get("lastActiveTime")
    # The wire has whole seconds: "12:00:00Z" may have been 12:00:00.999, and no cooldown may end early.
    ago = min(max(now - datetime.fromisoformat(text) - _SECOND, -_SECOND), _LONGEST) if text else None
    last = monotonic - ago.total_seconds() if ago is not None else None
    return ActivityState(active=active, last=last, inherited=active)


def last_active_before(state: ActivityState, now: datetime, monotonic: float) -> datetime | None:
    """The instant of the last activity before this observation, on today's wall clock."""
    if state.inherited:
        return now
    if state.last is None:
        return None
    last = state.last
    if state.active and state.until is not None and state.until[0] <= now:
        # The window is over by the wall clock. If that clock was stepped, the window was open until just now.
        last = max(last, min(state.until[1], monotonic))
    return _to_millisecond(now - timedelta(seconds=monotonic - last))


def note_activity(
    last_active: datetime | None, *, now: datetime, monotonic: float, until: datetime | None
) -> ActivityState:
    """Return the state after a decision: `last_active` is the decision's, `until` the end of the active schedule."""
    if last_active is None:
        return ActivityState(active=False)
    active = last_active == now
    last = monotonic - (now - last_active).total_seconds()
    if not active or until is None:
        return ActivityState(active=active, last=last)
    return ActivityState(active=True, last=last, until=(until, monotonic + (until - now).total_seconds()))


def renew_activity(state: ActivityState, now: datetime, monotonic: float) -> ActivityState:
    """Return the state of an active object after another active round at `now`; the end of its schedule stays."""
    until = (state.until[0], monotonic + (state.until[0] - now).total_seconds()) if state.until else None
    return replace(state, active=True, last=monotonic, until=until)


def _to_millisecond(at: datetime) -> datetime:
    """Round to milliseconds, since floats cost microseconds: 19:29:59.999999 is half past seven."""
    return at + (_MILLISECOND / 2) - timedelta(microseconds=(at + _MILLISECOND / 2).microsecond % 1000)
