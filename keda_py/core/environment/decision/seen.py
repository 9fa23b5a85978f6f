"""What is seen of the members of an environment, and which client wrote a count."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from keda_py.core.environment.decision.state import MemberState
from keda_py.core.environment.overrides import Target


class Role(StrEnum):
    """How a member is put to sleep."""

    SCALED_OBJECT = "ScaledObject"
    """By an overlay of its spec; its counts are those of its workload."""
    WORKLOAD = "Workload"
    CRON_JOB = "CronJob"
    """Its count is 1, and 0 while it is suspended."""


class Writer(StrEnum):
    """Which sort of client wrote a count, as `managedFields` name it."""

    OURS = "ours"
    PERSON = "person"
    CONTROLLER = "controller"


OUR_MANAGER = "keda-py"
_AUTOSCALER = "kube-controller-manager"
"""An HPA that has not been deleted or stopped yet: as if we had written it, so try again."""
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
    """Of a ScaledObject that sleeps and whose labels make it another Environment's.

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
    stopping: bool = False
    """Its count is 0, and not all of its pods have ended."""
    triggers_active: bool = False
    """Of a ScaledObject whose triggers are polled while it sleeps."""
    released: bool = False
    """No member any more, but something of it is still remembered: it is given back."""
    heir: Heir = Heir.NONE
    """Of one that is released: whether the Environment that has it now remembers it already."""
    inherited: MemberState | None = None
    """What the Environment that had it before remembers of it, as that has put it to sleep."""
    owned_by: str = ""
    """Another Environment that has it: an older one, or one that is still to give its count back."""
    targets: tuple[Target, ...] = ()
    """What an Override may call it: itself, and of a ScaledObject its workload."""
    workload: str = ""
    """Of a ScaledObject, apiVersion/KIND/NAME of what it scales: that has the count when the ScaledObject is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSeen:
    """All members, and those that are remembered and still exist. One that is missing is taken for deleted."""

    members: Sequence[MemberSeen]
    calendar_error: str = ""
    """Why there is no calendar."""
    kinds_error: str = ""
    """Why members of some of `spec.kinds` are not seen."""
    write_error: str = ""
    """Why a count could not be written at the last try."""
    status_error: str = ""
    """Why what the status remembers of some members cannot be read."""


def is_ready(count: int, ready_pods: int, *, minimum: int = 0, asleep: bool = False) -> bool:
    """`MemberSeen.ready`. Of a ScaledObject that is awake, its own minimum counts, too: at 0 it has yet to rise."""
    if asleep or count == 0:
        return ready_pods == count and (asleep or minimum == 0)
    return ready_pods >= max(count, minimum)
