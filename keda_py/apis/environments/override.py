"""Override: keeps something awake, asleep or as it is for a while, whatever calendar and schedule say."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.schema_marks import Timestamp, rule
from keda_py.apis.wire import Condition, Count, Int64, Name, ObjectMeta, Wire

NEXT_CHANGE = "NextChange"
REQUESTED_BY = "keda-py.dev/requested-by"
"""Annotation with the user who created an Override; an admission refuses any other name."""


class OverrideTarget(Wire):
    """What is overridden."""

    kind: Literal["Environment", "ScaledObject", "Deployment", "StatefulSet"]
    name: Name


class OverrideSpec(Wire):
    """What shall be, from when, until when, and why."""

    model_config = ConfigDict(
        json_schema_extra=rule("has(self.state) != has(self.replicas)", "give one of state and replicas")
    )

    target: OverrideTarget | None = None
    """The namespace's only Environment where it is left out."""
    state: Literal["", "Awake", "Asleep", "Hold"] = ""
    """Awake: up, whatever the calendar says. Asleep: down. Hold: left as it is, neither up nor down."""
    replicas: Count | None = None
    """Exactly this many; not for an Environment."""
    from_: Annotated[Timestamp, Field(alias="from", description="When it begins; at once where it is left out.")] = ""
    until: str = ""
    """A time, such as 2026-11-23T22:00:00+01:00, or NextChange: the calendar's next change."""
    for_: Annotated[str, Field(alias="for", description="How long, such as 3h or 1h30m.")] = ""
    reason: str = ""
    """Why, for people; it is shown wherever the Override is."""


class OverrideStatus(Wire):
    """Whether it rules."""

    phase: Literal["", "Pending", "Active", "Outranked", "Ended", "Invalid"] = ""
    because: str = ""
    requested_by: str = ""
    """The user who created it, as the API server knew them."""
    starts: Timestamp = ""
    ends: Timestamp = ""
    """Of NextChange fixed once, when it was looked up; an edit of the spec has it looked up anew."""
    ends_of: str = ""
    """What NextChange was looked up for; an edit that leaves that as it is, as one of the reason, moves no end."""
    observed_generation: Int64 = 0
    """Of the spec that all this was told of."""
    conditions: list[Condition] = []


class Override(Wire):
    """An exception for a while, which ends by itself."""

    metadata: ObjectMeta
    spec: OverrideSpec
    status: OverrideStatus = OverrideStatus()

    @property
    def end_is_fixed(self) -> bool:
        """Whether NextChange was looked up for the spec as it is now."""
        return bool(self.status.ends) and is_told(self.status.observed_generation, self.metadata.generation)


def is_told(observed: int, generation: int) -> bool:
    """Whether a status is of that spec; one that names no generation is."""
    return not observed or observed == generation
