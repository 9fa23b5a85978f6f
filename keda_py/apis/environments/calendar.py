"""Calendar and ClusterCalendar: opening hours of an environment, holidays and exceptions.

Hours, days, dates and zones are texts here; `core/environment/calendar/reading.py` parses them.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.schema_marks import Timestamp, rule
from keda_py.apis.wire import Condition, Name, ObjectMeta, Wire

MOST_HOURS, MOST_HOLIDAYS, MOST_EXCEPTIONS, MOST_DATES = 50, 50, 200, 200

Dates = Annotated[list[str], Field(max_length=MOST_DATES)]


class Span(Wire):
    """Part of a day; if `to` is not after `from`, it ends on the next day."""

    from_: Annotated[Name, Field(alias="from", description="Local time, such as 08:30.")]
    to: Name
    """Local time, such as 19:30 or 24:00."""


class Hours(Span):
    """Part of some days of each week."""

    days: str = ""
    """Days or ranges of days, such as Mon-Fri or Sat,Sun; every day by default."""


class KeyRef(Wire):
    """Key of a ConfigMap or Secret."""

    name: Name
    key: Name
    namespace: str = ""
    """For a ClusterCalendar only; the operator's own namespace by default."""


class IcsSource(Wire):
    """iCalendar file in a ConfigMap or Secret."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "has(self.configMapKeyRef) != has(self.secretKeyRef)", "give one of configMapKeyRef and secretKeyRef"
        )
    )

    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class HolidaySource(Wire):
    """Days on which it is closed: holidays of a country, of an iCalendar file, or dates."""

    country: str = ""
    """ISO 3166-1 code, such as KR."""
    subdivision: str = ""
    """ISO 3166-2 code without the country, such as BY."""
    ics: IcsSource | None = None
    dates: Dates = []
    """Dates and ranges, such as 2026-12-24 or 2026-12-28/2027-01-03."""
    name: str = ""
    """Name of the dates, for messages."""


class CalendarException(Wire):
    """Days with other hours than usual, or none."""

    dates: Annotated[list[str], Field(min_length=1, max_length=MOST_DATES)]
    """Dates and ranges, such as 2026-12-24 or 2026-12-28/2027-01-03."""
    hours: Annotated[list[Span], Field(max_length=MOST_HOURS)] = []
    """Opening hours on these days."""
    closed: bool = False
    """Closed all day."""
    reason: str = ""


class CalendarSpec(Wire):
    """Time zone, opening hours, holidays and exceptions."""

    time_zone: Name
    """IANA name, such as Europe/Prague."""
    hours: Annotated[list[Hours], Field(min_length=1, max_length=MOST_HOURS)]
    holidays: Annotated[list[HolidaySource], Field(max_length=MOST_HOLIDAYS)] = []
    exceptions: Annotated[list[CalendarException], Field(max_length=MOST_EXCEPTIONS)] = []
    """They override hours and holidays; for one day the first exception counts."""


class CalendarRef(Wire):
    """Reference to a calendar."""

    name: Name
    kind: Literal["", "Calendar", "ClusterCalendar"] = ""
    """Calendar by default."""


class ChangeStatus(Wire):
    """Change that is known in advance."""

    at: Timestamp = ""
    to: str = ""
    """Open or Closed for a calendar, Awake or Asleep for an environment, a period's name for a schedule."""
    because: str = ""


class HolidayStatus(Wire):
    """Upcoming holiday."""

    date: str
    name: str = ""


class CalendarStatus(Wire):
    """Whether it is open now, and what comes next."""

    open: bool | None = None
    next_change: ChangeStatus | None = None
    next_holidays: list[HolidayStatus] = []
    hours_a_week: str = ""
    """Opening hours of a week without holidays."""
    conditions: list[Condition] = []


class Calendar(Wire):
    """Opening hours for the environments of a namespace."""

    metadata: ObjectMeta
    spec: CalendarSpec
    status: CalendarStatus = CalendarStatus()


class ClusterCalendar(Wire):
    """Opening hours for environments of all namespaces."""

    metadata: ObjectMeta
    spec: CalendarSpec
    status: CalendarStatus = CalendarStatus()
