"""The metrics a trigger asks an HPA to watch, as a scaler states them: not yet prefixed, not yet a manifest."""

from dataclasses import dataclass
from typing import Final, Literal

CPU: Final = "cpu"
MEMORY: Final = "memory"
CRON: Final = "cron"
"""Resources of pods that an HPA measures by itself; KEDA's triggers of these types ask it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalMetric:
    """A metric that keda-py serves; `name` is not yet prefixed. `target` int: plain quantity, float: milli quantity.

    `metric_type` "": the trigger's `metricType` counts. `verbatim`: served under this very name, without a prefix.
    """

    name: str
    target: int | float
    metric_type: Literal["", "AverageValue", "Value"] = ""
    verbatim: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceMetric:
    """A metric that the HPA reads by itself (cpu, memory); never read by the engine.

    `target` is a percentage for Utilization and a Kubernetes quantity for AverageValue, as text.
    """

    name: Literal["cpu", "memory"]
    target_type: Literal["Utilization", "AverageValue"]
    target: str
    container: str = ""


MetricSpec = ExternalMetric | ResourceMetric
