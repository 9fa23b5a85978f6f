"""Calendar and ClusterCalendar: when an environment is open, its holidays and its exceptions.

Hours, days, dates and zones are texts here; `core/environment/calendar/reading.py` reads and refuses them.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.schema_marks import Timestamp, rule
from keda_py.apis.wire import Condition, Name, ObjectMeta, Wire

MOST_HOURS, MOST_HOLIDAYS, MOST_EXCEPTIONS, MOST_DATES = 50, 50, 200, 200

Dates = Annotated[list[str], Field(max_length=MOST_DATES)]


class Span(Wire):
    """A part of a day; where `to` is not after `from`, it ends on the next day."""

    from_: Annotated[Name, Field(alias="from", description="Local time, such as 08:30.")]
    to: Name
    """Local time, such as 19:30 or 24:00."""


class Hours(Span):
    """A part of some days of each week."""

    days: str = ""
    """Days or ranges of days, such as Mon-Fri or Sat,Sun; every day where they are left out."""


class KeyRef(Wire):
    """A key of a ConfigMap or Secret."""

    name: Name
    key: Name
    namespace: str = ""
    """Only of a ClusterCalendar; the operator's own where it is left out."""


class IcsSource(Wire):
    """An iCalendar file."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "has(self.configMapKeyRef) != has(self.secretKeyRef)", "give one of configMapKeyRef and secretKeyRef"
        )
    )

    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class HolidaySource(Wire):
    """Days on which it is closed: those of a country, of an iCalendar file, or dates."""

    country: str = ""
    """ISO 3166-1 code, such as KR."""
    subdivision: str = ""
    """ISO 3166-2 code without the country, such as BY."""
    ics: IcsSource | None = None
    dates: Dates = []
    """Dates and ranges, such as 2026-12-24 or 2026-12-28/2027-01-03."""
    name: str = ""
    """What the dates are, for messages."""


class CalendarException(Wire):
    """Days that are not as the hours and the holidays say."""

    dates: Annotated[list[str], Field(min_length=1, max_length=MOST_DATES)]
    """Dates and ranges, such as 2026-12-24 or 2026-12-28/2027-01-03."""
    hours: Annotated[list[Span], Field(max_length=MOST_HOURS)] = []
    """When it is open on them."""
    closed: bool = False
    """All day."""
    reason: str = ""


class CalendarSpec(Wire):
    """When it is open."""

    time_zone: Name
    """IANA name, such as Europe/Prague."""
    hours: Annotated[list[Hours], Field(min_length=1, max_length=MOST_HOURS)]
    holidays: Annotated[list[HolidaySource], Field(max_length=MOST_HOLIDAYS)] = []
    exceptions: Annotated[list[CalendarException], Field(max_length=MOST_EXCEPTIONS)] = []
    """They win over hours and holidays; of two for one day the first does."""


class CalendarRef(Wire):
    """Which calendar."""

    name: Name
    kind: Literal["", "Calendar", "ClusterCalendar"] = ""
    """Calendar where it is left out."""


class ChangeStatus(Wire):
    """A change that is known in advance."""

    at: Timestamp = ""
    to: str = ""
    """Open or Closed of a calendar, Awake or Asleep of an environment, a period of a schedule."""
    because: str = ""


class HolidayStatus(Wire):
    """A holiday to come."""

    date: str
    name: str = ""


class CalendarStatus(Wire):
    """What the calendar says now."""

    open: bool | None = None
    next_change: ChangeStatus | None = None
    next_holidays: list[HolidayStatus] = []
    hours_a_week: str = ""
    """Hours that it is open in a week without holidays."""
    conditions: list[Condition] = []


class Calendar(Wire):
    """When the environments of a namespace are open."""

    metadata: ObjectMeta
    spec: CalendarSpec
    status: CalendarStatus = CalendarStatus()


class ClusterCalendar(Wire):
    """When environments are open, shared by all namespaces."""

    metadata: ObjectMeta
    spec: CalendarSpec
    status: CalendarStatus = CalendarStatus()
