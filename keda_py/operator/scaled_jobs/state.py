"""The memory of a ScaledJob between two looks."""

from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.jobs.spec import JobScalingSpec
from keda_py.operator.controller.state import Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedJob:
    """A Job that we created and that no watch has shown yet; `ask_at` (monotonic) is when to ask for it by name."""

    generation: int
    ask_at: float


@dataclass(slots=True)
class ScaledJobState(Remembered):
    """The memory of a ScaledJob.

    The cache runs behind our own writes: `expected` are Jobs by name that it does not show yet, `removed` the uids of
    those that it still shows. `creating` are those that were decided and have not begun to be created.
    """

    spec: JobScalingSpec | None = None
    last_active: datetime | None = None
    expected: dict[str, ExpectedJob] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    creating: int = 0
