"""The status of a Calendar: a pure function of the calendar and the time, written only when it differs."""

from datetime import datetime

from keda_py.apis.environments.calendar import CalendarStatus, ChangeStatus, HolidayStatus
from keda_py.apis.wire import Condition
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.questions import Moment, hours_a_week, next_holidays
from keda_py.core.values.times import write_time


def status_of(calendar: Calendar, moment: Moment, now: datetime) -> CalendarStatus:
    """Write the status of a valid calendar at its moment `now`; it is another at the next change, and at midnight."""
    change = None
    if moment.changes_at is not None:
        to = "Open" if moment.opens else "Closed"
        change = ChangeStatus(at=write_time(moment.changes_at), to=to, because=moment.because)
    return CalendarStatus(
        open=moment.open,
        next_change=change,
        next_holidays=[
            HolidayStatus(date=each.day.isoformat(), name=each.name) for each in next_holidays(calendar, now)
        ],
        hours_a_week=f"{hours_a_week(calendar):g}",
        conditions=[Condition(type="Valid", status="True", reason="Valid")],
    )


def invalid_status(error: str) -> CalendarStatus:
    """Write the status of an invalid one; `error` names field, value and remedy. Whether it is open is not known."""
    return CalendarStatus(conditions=[Condition(type="Valid", status="False", reason="CalendarInvalid", message=error)])
