"""Environment: members that sleep together outside of opening hours, and wake in order.

The status is also the operator's memory: it is read back after a restart, and every change to it is written before
anything is scaled (`core/environment/decision/state.py`).
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from keda_py.apis.environments.calendar import CalendarRef, CalendarSpec, ChangeStatus
from keda_py.apis.environments.waking import WakeOnRequest, WakeOnRequestStatus
from keda_py.apis.job_spec import LabelSelector
from keda_py.apis.scaled_object_status import SavingsStatus
from keda_py.apis.schema_marks import BY_NAME, Timestamp, rule
from keda_py.apis.wire import Condition, Count, Int32, Name, ObjectMeta, Positive, Wire

MOST_WAVES, MOST_KINDS = 20, 20
MOST_WITH_DAYS = 100
"""Workloads whose accounts include days; with more of them the status would exceed the size limit of an object."""
WRITE_FAILED = "WriteFailed"
"""Reason of a member that is up because the API server refuses to scale it down: a person has to see to it."""
Phase = Literal["", "Asleep", "Waking", "Awake", "FallingAsleep"]
Stage = Literal["", "Falling", "Down", "Rising", "Kept", "Contested", "Pinned"]


class MemberKind(Wire):
    """Additional kind of members, with a scale subresource."""

    api_version: Name
    """For example argoproj.io/v1alpha1."""
    kind: Name
    """For example Rollout."""


class AsleepSpec(Wire):
    """Behaviour of sleeping members."""

    triggers_wake: bool = False
    """An active trigger wakes its ScaledObject, and no other member."""


class Wave(Wire):
    """Members that wake together."""

    name: Name
    """Name in the status and in messages; `rest` is reserved for the members without a wave."""
    selector: LabelSelector | None = None
    """Members of this wave, by the labels of the ScaledObject or workload itself, not of its pods."""
    timeout: str = ""
    """How long the next wave waits for this one to be ready; 5m by default."""
    pause: str = ""
    """Pause between this wave and the next, such as 10s."""


class GitOpsSpec(Wire):
    """Tools that apply Git's manifests, and what the operator tells them while members sleep."""

    argocd: Literal["", "IgnoreReplicas"] = ""
    """IgnoreReplicas: Applications with automated sync get `ignoreDifferences` for the members that sleep, and
    RespectIgnoreDifferences, which are taken back when all are awake. The chart gives the right with
    `environments.argocdApplications`."""
    flux: Literal["", "DisableReconcile"] = ""
    """DisableReconcile: members that Flux applies get the annotation by which it leaves them alone while they sleep.
    The chart gives the right with `environments.fluxAnnotations`."""


class EnvironmentSpec(Wire):
    """Members, opening hours, and the order of waking."""

    model_config = ConfigDict(
        json_schema_extra=rule("has(self.calendarRef) != has(self.calendar)", "give one of calendarRef and calendar")
    )

    calendar_ref: CalendarRef | None = None
    calendar: CalendarSpec | None = None
    selector: LabelSelector | None = None
    """Only members with these labels of their own, not of their pods; the whole namespace by default."""
    exclude: LabelSelector | None = None
    """Excludes members with these labels."""
    kinds: Annotated[list[MemberKind], Field(max_length=MOST_KINDS)] = []
    """Kinds in addition to ScaledObjects, Deployments, StatefulSets and CronJobs."""
    asleep: AsleepSpec | None = None
    waves: Annotated[list[Wave], Field(max_length=MOST_WAVES, json_schema_extra=BY_NAME)] = []
    """In the order of waking; members without a wave come last. They fall asleep in reverse order."""
    max_parallel: Positive | None = None
    """Members that wake at once; 50 by default."""
    ready_by: bool = False
    """Begin to wake early enough to be ready when the hours begin."""
    max_lead: str = ""
    """Limit on how much earlier; 30m by default."""
    grace: str = ""
    """A member younger than this is not put to sleep; 15m by default."""
    wake_on_request: WakeOnRequest | None = None
    """A request for one of its Services wakes it; the chart has to run wakers (`waker.enabled`)."""
    gitops: GitOpsSpec | None = None
    idle_after: str = ""
    """Sleeps in its opening hours, too, after so long without an active trigger, an Override or a rollout, such as 48h;
    any of them wakes it."""
    delete_after: str = ""
    """Deletes the namespace after so long without use, such as 14d: only with `idleAfter`, if the namespace has the
    label keda-py.dev/allow-deletion: "true", and a day after an Event that announces it. The chart gives the right
    with `environments.deleteNamespaces`."""
    delete_bound_volumes: bool = False
    """Deletes it although a PersistentVolumeClaim is bound there, whose data may be lost."""


class MemberStatus(Wire):
    """State of a member that differs from what its owner left."""

    stage: Stage = ""
    """Falling: being scaled down; Rising: being restored; Down: asleep; Kept: scaled up by a person."""
    replicas: Count = 0
    """Replicas to restore; for a CronJob 1, or 0 if it was suspended before."""
    from_: Annotated[Int32, Field(alias="from", description="Replicas seen when this stage began.")] = 0
    to: Count = 0
    """Replicas of an Override, in stage Pinned."""
    since: Timestamp = ""
    by: str = ""
    """User who scaled it up."""
    put_backs: Count = 0
    """How often another controller restored the replicas since the environment fell asleep."""
    workload: str = ""
    """For a ScaledObject: apiVersion/KIND/NAME of its workload, restored if the ScaledObject is deleted."""


class WaveStatus(Wire):
    """Progress of a wave."""

    name: str = ""
    ready: Count = 0
    total: Count = 0
    timed_out: bool = False


class TransitionStatus(Wire):
    """Waking or falling asleep, while under way."""

    to: str = ""
    """Awake or Asleep."""
    started: Timestamp = ""
    wave: Count = 0
    """Index of the current wave; the members without a wave are the last one."""
    wave_started: Timestamp = ""
    """In the future during the pause between two waves."""
    woke: bool = False
    """A member was asleep at its start, so that its duration counts for `lead`."""
    timed_out: list[str] = []
    """Waves that were not ready within their timeout."""


class OverrideInForce(Wire):
    """Override that determines the state."""

    name: str = ""
    state: str = ""
    until: str = ""
    requested_by: str = ""
    reason: str = ""
    request: str = ""
    """Request that asked for it, such as `web from 10.1.2.3, Mozilla`."""
    summary: str = ""
    """For `kubectl get`: Awake until 2026-11-23T22:00:00Z."""


class MemberUp(Wire):
    """Member that is up though the Environment should be asleep."""

    member: str = ""
    """KIND/NAME."""
    reason: str = ""
    """For example Young, KeptUp, Override, Contested, WokenByTrigger, PutToSleep, WriteFailed."""
    because: str = ""
    since: Timestamp = ""
    """Time of its creation, or of the beginning of its scale-down."""
    until: Timestamp = ""
    """Latest time at which it is put to sleep, if known."""


class WakeStatus(Wire):
    """Completed wake."""

    started: Timestamp = ""
    ready: Timestamp = ""
    """Empty if a wave was not ready within its timeout."""
    seconds: Count = 0


class IdleSignal(Wire):
    """What one source of signals says: that the Environment is in use, idle, or that it is not known."""

    name: str = ""
    """Triggers, Overrides, Rollouts, Requests or ExecAndPortForward."""
    use: str = ""
    """Quiet, Active, Unknown (which counts as use), or NotWatched."""
    because: str = ""


class IdleStatus(Wire):
    """Use of an Environment with `idleAfter`."""

    last_activity: Timestamp = ""
    """Time at which use ended; while `inUse`, time at which it began."""
    in_use: bool = False
    revisions: str = ""
    """Digest of the revisions that the members run."""
    signals: list[IdleSignal] = []


class DeletionStatus(Wire):
    """Deletion of the namespace by `deleteAfter`, as far as it is known now; it is shown, and never read."""

    at: str = ""
    """When it is deleted unless it is used; with `blocked` when it would be."""
    announced: bool = False
    """An Event has announced it."""
    blocked: str = ""
    """Why it is not deleted."""
    summary: str = ""


class TruceStatus(Wire):
    """Lines that the operator added to an Application of Argo CD, which it takes back when members are awake."""

    application: str = ""
    """NAMESPACE/NAME."""
    entries: list[str] = []
    """Entries of ignoreDifferences, as GROUP|KIND|NAME|FIELD."""


class AdviceStatus(Wire):
    """Whether the hours fit the use of the last weeks, asked once a month with `--advise-prometheus`."""

    checked_at: Timestamp = ""
    fits: Literal["", "True", "False", "Unknown"] = ""
    message: str = ""
    """The hours, when the workloads were used, and what is proposed instead."""


class EnvironmentStatus(Wire):
    """Current state, next change, and the operator's memory of members."""

    phase: Phase = ""
    """Asleep: no member is up. FallingAsleep: it should be asleep; `stillUp` lists the members that are up, and why."""
    phase_since: Timestamp = ""
    """For Asleep, the time when the last member was down."""
    because: str = ""
    ready: str = ""
    """Ready members of all members, such as 7/9."""
    up: str = ""
    """Running members of all members, such as 4/9. A member that its owner keeps at 0 counts as ready, not as up."""
    members_ready: Count = 0
    members_up: Count = 0
    members_total: Count = 0
    still_up: list[MemberUp] = []
    """The first 50 members that are up though it should be asleep, and why."""
    awaiting_turn: Count = 0
    """Members that wait for the operator's budget of activations per second."""
    waves: list[WaveStatus] = []
    next_change: ChangeStatus | None = None
    override: OverrideInForce | None = None
    last_wake: WakeStatus | None = None
    wakes: list[Count] = []
    """Seconds of the last ten wakes that completed."""
    lead: str = ""
    """How much earlier it begins to wake, learnt from `wakes`."""
    transition: TransitionStatus | None = None
    members: dict[str, MemberStatus] = {}
    """By KIND/NAME, such as Deployment/web; only members that differ from what their owner left."""
    idle: IdleStatus | None = None
    """Use of it, with `idleAfter`."""
    deletion: DeletionStatus | None = None
    """Deletion of its namespace, with `deleteAfter`, while it is not used."""
    truces: list[TruceStatus] = []
    """Applications of Argo CD that ignore the counts of members while they sleep."""
    gitops: str = ""
    """Why an Application, or an annotation for Flux, could not be written."""
    savings: dict[str, SavingsStatus] = {}
    """Savings by the sleep of members that no ScaledObject scales, by KIND/NAME; `instead` is the count to restore."""
    jobs_never_run: list[str] = []
    """The first 100 CronJobs that were told to have a schedule that never falls into the hours."""
    wake_on_request: WakeOnRequestStatus | None = None
    advice: AdviceStatus | None = None
    """Whether its hours still fit, where a Prometheus is asked."""
    conditions: list[Condition] = []


class Environment(Wire):
    """Namespace, or part of one, that sleeps outside of its opening hours and wakes in order."""

    metadata: ObjectMeta
    spec: EnvironmentSpec
    status: EnvironmentStatus = EnvironmentStatus()
