"""What lies over the specs of ScaledObjects by ScalingSchedules: a part of the one source of specs, below the overlays.

`lay` stands in `SpecSource.over` (`operator/assembly.py`) before that of `overlays.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.core.environment.scaling.overlays import ruled
from keda_py.core.environment.scaling.schedules import BoundsSpec, InForce, lay_bounds_over
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time


@dataclass(frozen=True, slots=True)
class _Laid:
    """Bounds, the uid of the schedule that they are of, and which of its periods, in words."""

    bounds: BoundsSpec
    by: str
    because: str


def ruler(schedule: str, holds: InForce) -> str:
    """`ruled by schedule nights until 2026-11-23T07:30:00Z (period closed)`."""
    until = f" until {write_time(holds.changes_at)}" if holds.changes_at is not None else ""
    return f"ruled by schedule {schedule}{until} (period {holds.period})"


class ScheduledBounds:
    """By ScaledObject."""

    def __init__(self) -> None:
        self._laid: dict[ObjectKey, _Laid] = {}
        self._notify: Callable[[ObjectKey], None] = lambda _: None

    def subscribe(self, notify: Callable[[ObjectKey], None]) -> None:
        """Call `notify` on the loop with each object whose bounds change."""
        self._notify = notify

    def clear(self) -> None:
        """Nothing is known any more, as in a new process."""
        self._laid.clear()

    def lay(self, spec: ScalingSpec) -> ScalingSpec:
        """The spec within the bounds of the period in force."""
        laid = self._laid.get(spec.key)
        if laid is None:
            return spec
        return ruled(spec, lay_bounds_over(spec, laid.bounds), laid.because)

    def put(self, key: ObjectKey, schedule: str, bounds: BoundsSpec | None, because: str = "") -> None:
        """From now on, by the schedule of that uid; None: no longer, where no other schedule rules by now."""
        before = self._laid.get(key)
        if bounds is None:
            if before is None or before.by != schedule:
                return
            del self._laid[key]
        else:
            self._laid[key] = _Laid(bounds, schedule, because)
        if before != self._laid.get(key):
            self._notify(key)
