"""The status of a Calendar: a pure function of the calendar and the time, written only when it differs."""

from datetime import datetime

from keda_py.apis.environments.calendar import CalendarStatus, ChangeStatus, HolidayStatus
from keda_py.apis.wire import Condition
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.questions import hours_a_week, is_open, next_change, next_holidays
from keda_py.core.values.times import write_time


def status_of(calendar: Calendar, now: datetime) -> CalendarStatus:
    """Of a calendar that could be read; the controller writes it again at `next_change`, and after midnight there."""
    change = next_change(calendar, now)
    told = None
    if change is not None:
        told = ChangeStatus(at=write_time(change.at), to="Open" if change.opens else "Closed", because=change.because)
    return CalendarStatus(
        open=is_open(calendar, now),
        next_change=told,
        next_holidays=[
            HolidayStatus(date=each.day.isoformat(), name=each.name) for each in next_holidays(calendar, now)
        ],
        hours_a_week=f"{hours_a_week(calendar):g}",
        conditions=[Condition(type="Valid", status="True", reason="Valid")],
    )


def invalid_status(error: str) -> CalendarStatus:
    """Of one that cannot be used; `error` names field, value and remedy. Whether it is open is not known then."""
    return CalendarStatus(conditions=[Condition(type="Valid", status="False", reason="CalendarInvalid", message=error)])
