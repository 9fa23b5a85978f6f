"""What the pause annotations of an object ask for. Behaviour reference, section 1.2; `spec.py` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from keda_py.errors import ConfigError

PAUSED = "autoscaling.keda.sh/paused"
PAUSED_REPLICAS = "autoscaling.keda.sh/paused-replicas"
PAUSED_SCALE_IN = "autoscaling.keda.sh/paused-scale-in"
PAUSED_SCALE_OUT = "autoscaling.keda.sh/paused-scale-out"
LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseSpec:
    """The pause that annotations, or an overlay, ask for."""

    paused: bool = False
    replicas: str | None = None
    scale_in: bool = False
    scale_out: bool = False
    until: datetime | None = None
    """The end of it, by an annotation of keda-py; None: as long as its annotations are there."""
    because: str = ""
    """Reason for a pause that no annotation asks for."""
    active_reason: str = ""
    """Reason of condition Active meanwhile, such as AsleepByEnvironment; "": KEDA leaves the condition as it was."""

    stopped: bool = field(init=False, repr=False, compare=False)
    """No scaling at all: paused, or paused at a count."""
    any: bool = field(init=False, repr=False, compare=False)
    """Scaling is paused in some way, so the Paused condition is True."""

    def __post_init__(self) -> None:
        stopped = self.paused or self.replicas is not None
        object.__setattr__(self, "stopped", stopped)
        object.__setattr__(self, "any", stopped or self.scale_in or self.scale_out)

    def replica_count(self) -> int | None:
        """Return the count to hold, None to leave it unchanged. Raises ConfigError for text that is not a number."""
        if self.replicas is None:
            return None
        digits = self.replicas.removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(digits) <= LARGEST_INT32):
            raise ConfigError(
                f'annotation {PAUSED_REPLICAS}: "{self.replicas}" is not a number of replicas; write for example "0"',
                field=f"metadata.annotations[{PAUSED_REPLICAS}]",
            )
        return int(digits)


def parse_bool_annotation(annotations: Mapping[str, str], key: str) -> bool:
    """Parse an annotation as a bool. Absent: False; Go's ParseBool words as such; all other texts, "" too, are True."""
    return key in annotations and annotations[key] not in ("0", "f", "F", "FALSE", "false", "False")


NOT_PAUSED = PauseSpec()
_ANNOTATIONS = frozenset({PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT})


def read_pause(annotations: Mapping[str, str]) -> PauseSpec:
    """The pause of a ScaledObject with these annotations."""
    if _ANNOTATIONS.isdisjoint(annotations):
        return NOT_PAUSED  # one for all objects
    return PauseSpec(
        paused=parse_bool_annotation(annotations, PAUSED),
        replicas=annotations.get(PAUSED_REPLICAS),
        scale_in=parse_bool_annotation(annotations, PAUSED_SCALE_IN),
        scale_out=parse_bool_annotation(annotations, PAUSED_SCALE_OUT),
    )


def bounded(pause: PauseSpec, until: datetime | None, told: str) -> PauseSpec:
    """Return the pause with its end; an end alone pauses at the current count. `told` is the end in words."""
    if until is None:
        return pause
    return replace(pause, paused=pause.paused or not pause.any, until=until, because=told)
