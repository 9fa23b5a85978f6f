"""Input and output of admission checks: the neighbourhood of an object, denials and warnings.

Pure. A check takes an object and its `Neighbourhood` and yields findings. `admission/scaled_object.py` and
`admission/other_kinds.py` hold the checks, one entry function a kind; the webhook (`operator/admission/reviews.py`)
stops at the first denial, `keda-py validate` prints all. Behaviour reference, section 12.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.defaults.layers import Layers
from keda_py.core.spec import ScalingSpec, TargetSpec
from keda_py.core.spec_rules import check_triggers
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A reason to refuse an object. `reason` labels the error metric, `field` is its path; a `code` can be ignored."""

    message: str
    reason: str
    field: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionWarning:
    """Advice to the author of an object; `recorded`: an Event on the object repeats it. `code`: of `codes.py`."""

    message: str
    field: str = ""
    recorded: bool = False
    code: str = ""


Finding = Denial | AdmissionWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another ScaledObject, with the fields in which the two could collide."""

    name: str
    target: TargetSpec
    hpa_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The objects around an object in its namespace: at least those that share its target or the name of its HPA.

    `containers` None: the scale target does not exist. `limit_ranges` None: not known, so nothing is denied for lack of
    requests.
    """

    rivals: Sequence[Rival] = ()
    hpas: "Sequence[HorizontalPodAutoscaler]" = ()
    limit_ranges: "Sequence[LimitRange] | None" = ()
    containers: "Sequence[Container] | None" = None
    defaults: Layers = ()
    """Defaults and bounds of its namespace."""
    absent: str = "does not exist yet"
    """The meaning of `containers` None, as the end of a sentence about the target."""


def rival_of(spec: ScalingSpec) -> Rival:
    """Reduce a spec to the fields in which others could collide with it."""
    return Rival(name=spec.name, target=spec.target, hpa_name=spec.hpa_name)


def deny_triggers(triggers: Sequence[ScaleTrigger]) -> Iterator[Denial]:
    """Check the triggers, as ScaledObjects and ScaledJobs have in common."""
    try:
        check_triggers(triggers)
    except ConfigError as error:
        yield deny(error, "incorrect-triggers")


def deny(error: ConfigError, reason: str) -> Denial:
    """Turn a ConfigError into a denial."""
    return Denial(message=str(error), reason=reason, field=error.field)
