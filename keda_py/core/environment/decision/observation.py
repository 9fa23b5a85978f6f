"""Observations of an environment: its members, and the sort of client that wrote a count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from keda_py.core.environment.decision.state import MemberState
from keda_py.core.environment.namespaces.order import NO_TURN, NamespaceTurn
from keda_py.core.environment.overrides import TargetKey
from keda_py.core.hpa.conditions import ZeroMark


class Role(StrEnum):
    """The way in which a member is put to sleep."""

    SCALED_OBJECT = "ScaledObject"
    """An overlay of its spec; its counts are those of its workload."""
    WORKLOAD = "Workload"
    CRON_JOB = "CronJob"
    """Suspension; its count is 1, and 0 while it is suspended."""


class Writer(StrEnum):
    """The sort of client that wrote a count, as `managedFields` name it."""

    OURS = "ours"
    PERSON = "person"
    CONTROLLER = "controller"


OUR_MANAGER = "keda-py"
# A count written by the HPA controller counts as ours: the HPA was not deleted or stopped yet, so the write is tried
# again.
_AUTOSCALER = "kube-controller-manager"
_CONTROLLERS = (
    "argocd",
    "argo",
    "flux",
    "helm",
    "kustomize",
    "terraform",
    "pulumi",
    "kapp",
    "fleet",
    "spinnaker",
    "werf",
)


def writer_of(manager: str) -> Writer:
    """Argo CD, Flux, Helm and whatever calls itself a controller or operator fight back; all else is a person."""
    name = manager.lower()
    if name.startswith((OUR_MANAGER, _AUTOSCALER)):
        return Writer.OURS
    words = name.replace("_", "-").split("-")
    fights = words[0].startswith(_CONTROLLERS) or "controller" in words or "operator" in words
    return Writer.CONTROLLER if fights else Writer.PERSON


class Heir(StrEnum):
    """The Environment that takes over a sleeping ScaledObject whose labels have changed.

    It stays asleep until the other one remembers it, which gives it back: given back in between, it would wake.
    """

    NONE = ""
    AWAITED = "awaited"
    HAS_IT = "has it"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSeen:
    """A member now. `count` None: it could not be read, so it is left as it is.

    `ready`: as many pods are ready as its count says, none is left at a count of 0; of a ScaledObject see `is_ready`.
    `manager` wrote the count last.
    """

    key: str
    """KIND/NAME, such as Deployment/web."""
    role: Role
    created: datetime
    count: int | None
    ready: bool
    wave: int = 0
    manager: str = ""
    error: str = ""
    """The reason why its count could not be read, or could not be written at the last try."""
    stopping: bool = False
    """True if its count is 0, and not all of its pods have ended."""
    triggers_active: bool = False
    """True for a ScaledObject with active triggers, which are polled while it sleeps."""
    triggers_unknown: bool = False
    """True for a ScaledObject of which it is not known whether its triggers are active."""
    revision: str = ""
    """Revision of its pods as its controller names it; it changes with a rollout, and not when it is scaled."""
    released: bool = False
    """True if it is no member any more, but a count of it is still remembered, which is given back."""
    heir: Heir = Heir.NONE
    """Whether the Environment that has a released member now remembers it already."""
    inherited: MemberState | None = None
    """The memory of the Environment that had it before, and has put it to sleep."""
    owned_by: str = ""
    """The Environment that has it instead: an older one, or one that has yet to give its count back."""
    targets: tuple[TargetKey, ...] = ()
    """The targets by which an Override may name it: itself, and the workload of a ScaledObject."""
    zero_mark: ZeroMark = ZeroMark.NONE
    """The mark that the controller of its owner's HPA has put on a count of zero; always NONE for other roles."""
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its pods, by which Services select them; empty if they are not known."""
    workload: str = ""
    """apiVersion/KIND/NAME of what a ScaledObject scales, which has the count when the ScaledObject is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsSeen:
    """Sessions of exec, attach and port-forward in the namespace, as a metric source tells.

    `open` None: it is not known, and `error` says why; without one the source has not been asked yet.
    """

    open: bool | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSeen:
    """All members, with those that are remembered and still exist; a missing one is taken for deleted."""

    members: Sequence[MemberSeen]
    calendar_error: str = ""
    """The reason why there is no calendar."""
    kinds_error: str = ""
    """The reason why members of some of `spec.kinds` are not seen."""
    wakers_pending: str = ""
    """The reason why it may not begin to fall asleep: requests for its Services would not reach a waker."""
    status_error: str = ""
    """The reason why some members cannot be read from the status."""
    turn: NamespaceTurn = NO_TURN
    """What it waits for by the order between namespaces."""
    sessions: SessionsSeen | None = None
    """None: no metric source is asked."""


def is_ready(count: int, ready_pods: int, *, minimum: int = 0, asleep: bool = False) -> bool:
    """Compute `MemberSeen.ready`; an awake ScaledObject is ready from its own minimum on: at 0 it has yet to rise."""
    if asleep or count == 0:
        return ready_pods == count and (asleep or minimum == 0)
    return ready_pods >= max(count, minimum)
