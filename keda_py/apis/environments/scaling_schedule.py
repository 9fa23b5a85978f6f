"""ScalingSchedule: other bounds for ScaledObjects at other times; their manifests stay as they are."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.environments.calendar import MOST_HOURS, CalendarRef, ChangeStatus, Hours
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.schema_marks import BY_NAME, rule
from keda_py.apis.wire import Condition, Count, Name, ObjectMeta, Positive, Wire

MOST_PERIODS, MOST_NAMES = 50, 500


class Bounds(Wire):
    """What holds: other bounds, an exact count, or no triggers."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "!has(self.replicas) || !(has(self.minReplicas) || has(self.maxReplicas))",
            "give replicas, or minReplicas and maxReplicas",
        )
    )

    min_replicas: Count | None = None
    """May be lower than the manifest's."""
    max_replicas: Positive | None = None
    replicas: Count | None = None
    """Exactly this many, whatever the triggers say."""
    triggers: Literal["", "Closed"] = ""
    """Closed: triggers are not asked; the lowest count holds."""


class Period(Bounds):
    """Bounds for some of the time."""

    name: Name
    calendar_ref: CalendarRef | None = None
    """While this calendar is open."""
    hours: Annotated[list[Hours], Field(max_length=MOST_HOURS)] = []
    """Or during these hours."""


class ScalingScheduleSpec(Wire):
    """Which ScaledObjects, and what holds for them when."""

    names: Annotated[list[Name], Field(max_length=MOST_NAMES)] = []
    """ScaledObjects by name."""
    selector: LabelSelector | None = None
    """ScaledObjects with these labels of their own, besides those of `names`."""
    time_zone: str = ""
    """Of `hours`: IANA name, such as Europe/Prague; UTC where it is left out."""
    periods: Annotated[list[Period], Field(min_length=1, max_length=MOST_PERIODS, json_schema_extra=BY_NAME)]
    """The first whose time it is holds."""
    otherwise: Bounds | None = None
    """At all other times; the manifest holds where it is left out."""


class ScalingScheduleStatus(Wire):
    """What holds now."""

    period: str = ""
    """Name of the period in force; `otherwise` between them."""
    next_change: ChangeStatus | None = None
    scaled_objects: Count = 0
    conditions: list[Condition] = []


class ScalingSchedule(Wire):
    """Bounds of ScaledObjects by time."""

    metadata: ObjectMeta
    spec: ScalingScheduleSpec
    status: ScalingScheduleStatus = ScalingScheduleStatus()
