"""Environment: what sleeps together outside of its hours, and wakes in order.

The status is also what the operator remembers: it is read back after a restart, and what it says is written before
anything is scaled (`core/environment/decision/state.py`).
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.environments.calendar import CalendarRef, CalendarSpec, ChangeStatus
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.scaled_object import SavingsStatus
from keda_py.apis.schema_marks import BY_NAME, Timestamp, rule
from keda_py.apis.wire import Condition, Count, Int32, Name, ObjectMeta, Positive, Wire

MOST_WAVES, MOST_KINDS = 20, 20
MOST_WITH_DAYS = 100
"""Of workloads whose accounts have days, too: with more of them the status would outgrow what an object may hold."""
Phase = Literal["", "Asleep", "Waking", "Awake", "FallingAsleep"]
Stage = Literal["", "Falling", "Down", "Rising", "Kept", "Contested", "Pinned"]


class MemberKind(Wire):
    """A further kind with a scale subresource."""

    api_version: Name
    """Such as argoproj.io/v1alpha1."""
    kind: Name
    """Such as Rollout."""


class AsleepSpec(Wire):
    """How members sleep."""

    triggers_wake: bool = False
    """An active trigger wakes its ScaledObject, and that alone."""


class Wave(Wire):
    """Members that wake together."""

    name: Name
    """What the status and messages call it; `rest` is taken by the members of no wave."""
    selector: LabelSelector | None = None
    """Which members wake in this wave, by the labels of the ScaledObject or workload itself, not of its pods."""
    timeout: str = ""
    """How long the next wave waits for this one to be ready; 5m where it is left out."""
    pause: str = ""
    """Between this wave and the next, such as 10s."""


class EnvironmentSpec(Wire):
    """What sleeps, when, and how it wakes."""

    model_config = ConfigDict(
        json_schema_extra=rule("has(self.calendarRef) != has(self.calendar)", "give one of calendarRef and calendar")
    )

    calendar_ref: CalendarRef | None = None
    calendar: CalendarSpec | None = None
    selector: LabelSelector | None = None
    """Only members with these labels of their own, not of their pods; the whole namespace where it is left out."""
    exclude: LabelSelector | None = None
    """Members with these labels are left alone."""
    kinds: Annotated[list[MemberKind], Field(max_length=MOST_KINDS)] = []
    """Besides ScaledObjects, Deployments, StatefulSets and CronJobs."""
    asleep: AsleepSpec | None = None
    waves: Annotated[list[Wave], Field(max_length=MOST_WAVES, json_schema_extra=BY_NAME)] = []
    """In the order of waking; members of none come last. They fall asleep in reverse."""
    max_parallel: Positive | None = None
    """Members that wake at once; 50 where it is left out."""
    ready_by: bool = False
    """Begin to wake early enough to be ready when the hours begin."""
    max_lead: str = ""
    """How much earlier at most; 30m where it is left out."""
    grace: str = ""
    """A member created this long ago or less is left alone; 15m where it is left out."""


class MemberStatus(Wire):
    """What is remembered of a member that is not as its owner left it."""

    stage: Stage = ""
    """Falling and Rising: being taken down and given back; Down: asleep; Kept: a person scaled it up."""
    replicas: Count = 0
    """The count to be given back; of a CronJob 1, or 0 where it was suspended before."""
    from_: Annotated[Int32, Field(alias="from", description="The count that was seen when this stage began.")] = 0
    to: Count = 0
    """The count of an Override, in stage Pinned."""
    since: Timestamp = ""
    by: str = ""
    """Who scaled it up."""
    put_backs: Count = 0
    """How often another controller put the count back since the environment fell asleep."""
    workload: str = ""
    """Of a ScaledObject: apiVersion/KIND/NAME of its workload, which gets the count when the ScaledObject is gone."""


class WaveStatus(Wire):
    """How far a wave is."""

    name: str = ""
    ready: Count = 0
    total: Count = 0
    timed_out: bool = False


class TransitionStatus(Wire):
    """Waking or falling asleep, while it lasts."""

    to: str = ""
    """Awake or Asleep."""
    started: Timestamp = ""
    wave: Count = 0
    """Position of the wave at work; the members of no wave are the last one."""
    wave_started: Timestamp = ""
    """May lie ahead: the pause between two waves."""
    woke: bool = False
    """Something was asleep when it began, so that its duration is learnt from."""
    timed_out: list[str] = []
    """Waves that were not waited for any longer."""


class OverrideInForce(Wire):
    """The Override that rules."""

    name: str = ""
    state: str = ""
    until: str = ""
    requested_by: str = ""
    reason: str = ""
    summary: str = ""
    """For `kubectl get`: Awake until 2026-11-23T22:00:00Z."""


class MemberUp(Wire):
    """A member that is up though the Environment is to be asleep."""

    member: str = ""
    """KIND/NAME."""
    reason: str = ""
    """Such as Young, KeptUp, Override, Contested, WokenByTrigger, PutToSleep."""
    because: str = ""
    since: Timestamp = ""
    """When it was created, or when it began to be scaled down."""
    until: Timestamp = ""
    """When it is put to sleep at the latest, as far as that is known."""


class WakeStatus(Wire):
    """A wake that is over."""

    started: Timestamp = ""
    ready: Timestamp = ""
    """Empty where a wave was not waited for any longer."""
    seconds: Count = 0


class EnvironmentStatus(Wire):
    """What is, what comes next, and what must not be forgotten."""

    phase: Phase = ""
    """Asleep: nothing is up. FallingAsleep: it is to be asleep, and `stillUp` says what is up and why."""
    phase_since: Timestamp = ""
    """Of Asleep, when the last member slept."""
    because: str = ""
    ready: str = ""
    """Members that are ready to serve, of all: 7/9."""
    up: str = ""
    """Members that run, of all: 4/9. One that its owner has at 0 is ready by day, and not up."""
    members_ready: Count = 0
    members_up: Count = 0
    members_total: Count = 0
    still_up: list[MemberUp] = []
    """While it is to be asleep: the first 50 members that are up, and why."""
    awaiting_turn: Count = 0
    """Members that wake as soon as the operator's budget of activations a second lets them."""
    waves: list[WaveStatus] = []
    next_change: ChangeStatus | None = None
    override: OverrideInForce | None = None
    last_wake: WakeStatus | None = None
    wakes: list[Count] = []
    """Seconds of the last ten wakes that became ready."""
    lead: str = ""
    """How much earlier it begins to wake, learnt from them."""
    transition: TransitionStatus | None = None
    members: dict[str, MemberStatus] = {}
    """By KIND/NAME, such as Deployment/web; only those that are not as their owner left them."""
    savings: dict[str, SavingsStatus] = {}
    """What the sleep of members that no ScaledObject scales has saved, by KIND/NAME; `instead` is the count that comes
    back."""
    conditions: list[Condition] = []


class Environment(Wire):
    """A namespace, or a part of it, that sleeps at night and wakes in order."""

    metadata: ObjectMeta
    spec: EnvironmentSpec
    status: EnvironmentStatus = EnvironmentStatus()
