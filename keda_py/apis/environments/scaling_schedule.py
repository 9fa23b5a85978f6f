"""ScalingSchedule: other bounds for ScaledObjects at other times, without a change to their manifests."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.environments.calendar import MOST_HOURS, CalendarRef, ChangeStatus, Hours
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.schema_marks import BY_NAME, rule
from keda_py.apis.wire import Condition, Count, Name, ObjectMeta, Positive, Wire

MOST_PERIODS, MOST_NAMES = 50, 500


class Bounds(Wire):
    """Other bounds, an exact count, or closed triggers."""

    model_config = ConfigDict(
        json_schema_extra=rule(
            "!has(self.replicas) || !(has(self.minReplicas) || has(self.maxReplicas))",
            "give replicas, or minReplicas and maxReplicas",
        )
    )

    min_replicas: Count | None = None
    """It may be lower than the manifest's."""
    max_replicas: Positive | None = None
    replicas: Count | None = None
    """Exact number of replicas, regardless of triggers."""
    triggers: Literal["", "Closed"] = ""
    """Closed: triggers are not read; the lower bound applies."""


class Period(Bounds):
    """Bounds for a part of the time."""

    name: Name
    calendar_ref: CalendarRef | None = None
    """In force while this calendar is open."""
    hours: Annotated[list[Hours], Field(max_length=MOST_HOURS)] = []
    """In force during these hours; instead of a calendar."""


class ScalingScheduleSpec(Wire):
    """ScaledObjects, and their bounds by time."""

    names: Annotated[list[Name], Field(max_length=MOST_NAMES)] = []
    """ScaledObjects by name."""
    selector: LabelSelector | None = None
    """ScaledObjects with these labels of their own, besides those of `names`."""
    time_zone: str = ""
    """Time zone of `hours`: an IANA name such as Europe/Prague; UTC by default."""
    periods: Annotated[list[Period], Field(min_length=1, max_length=MOST_PERIODS, json_schema_extra=BY_NAME)]
    """The first period that matches the time is in force."""
    otherwise: Bounds | None = None
    """Bounds at all other times; the manifest's by default."""


class ScalingScheduleStatus(Wire):
    """Period in force now, and the next change."""

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
