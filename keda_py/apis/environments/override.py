"""Override: keeps something awake, asleep or unchanged for a while, regardless of calendar and schedule."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.schema_marks import Timestamp, rule
from keda_py.apis.wire import Condition, Count, Int64, Name, ObjectMeta, Wire

NEXT_CHANGE = "NextChange"
REQUESTED_BY = "keda-py.dev/requested-by"
"""Annotation with the user who created an Override; the webhook denies any other name."""


class OverrideTarget(Wire):
    """Object that is overridden."""

    kind: Literal["Environment", "ScaledObject", "Deployment", "StatefulSet"]
    name: Name


class OverrideSpec(Wire):
    """Target, desired state, time span and reason."""

    model_config = ConfigDict(
        json_schema_extra=rule("has(self.state) != has(self.replicas)", "give one of state and replicas")
    )

    target: OverrideTarget | None = None
    """The namespace's only Environment by default."""
    state: Literal["", "Awake", "Asleep", "Hold"] = ""
    """Awake: up, regardless of the calendar. Asleep: down. Hold: kept as it is, neither up nor down."""
    replicas: Count | None = None
    """Exact number of replicas; not for an Environment."""
    from_: Annotated[Timestamp, Field(alias="from", description="When it begins; at once by default.")] = ""
    until: str = ""
    """A time, such as 2026-11-23T22:00:00+01:00, or NextChange: the calendar's next change."""
    for_: Annotated[str, Field(alias="for", description="How long, such as 3h or 1h30m.")] = ""
    reason: str = ""
    """Reason, shown to people wherever the Override is."""


class OverrideStatus(Wire):
    """Whether it is in force, and until when."""

    phase: Literal["", "Pending", "Active", "Outranked", "Ended", "Invalid"] = ""
    because: str = ""
    requested_by: str = ""
    """User who created it, as the API server authenticated them."""
    request: str = ""
    """Request that woke the Environment, such as `web from 10.1.2.3, Mozilla`; only the operator writes it."""
    starts: Timestamp = ""
    ends: Timestamp = ""
    """For NextChange, determined once; determined again after an edit of the spec."""
    ends_of: str = ""
    """Fields that NextChange was determined for; an edit of others, such as the reason, keeps the end."""
    observed_generation: Int64 = 0
    """Generation of the spec that this status describes."""
    conditions: list[Condition] = []


class Override(Wire):
    """Temporary exception, which ends by itself."""

    metadata: ObjectMeta
    spec: OverrideSpec
    status: OverrideStatus = OverrideStatus()

    @property
    def end_is_fixed(self) -> bool:
        """Return whether NextChange was determined for the current spec."""
        return bool(self.status.ends) and describes_generation(
            self.status.observed_generation, self.metadata.generation
        )


def describes_generation(observed: int, generation: int) -> bool:
    """Return whether a status describes the spec of this generation; one without a generation does."""
    return not observed or observed == generation
