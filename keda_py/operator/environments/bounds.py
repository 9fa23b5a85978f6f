"""What lies over the specs of ScaledObjects by ScalingSchedules: a part of the one source of specs, below the overlays.

`lay` stands in `SpecSource.over` (`operator/assembly.py`) before that of `overlays.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.core.environment.scaling.schedules import BoundsSpec, lay_bounds_over
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import SCALED_OBJECTS


@dataclass(frozen=True, slots=True)
class _Laid:
    """Bounds, and the uid of the schedule that they are of."""

    bounds: BoundsSpec
    by: str


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
        return spec if laid is None else lay_bounds_over(spec, laid.bounds)

    def put(self, namespace: str, name: str, schedule: str, bounds: BoundsSpec | None) -> None:
        """From now on, by the schedule of that uid; None: no longer, where no other schedule rules by now."""
        key = ObjectKey(SCALED_OBJECTS.kind, namespace, name)
        before = self._laid.get(key)
        if bounds is None:
            if before is None or before.by != schedule:
                return
            del self._laid[key]
        else:
            self._laid[key] = _Laid(bounds, schedule)
        if before is None or before.bounds != bounds:
            self._notify(key)
