"""Schema of `behavior` of an `autoscaling/v2` HorizontalPodAutoscaler, for the CRD; the operator copies it to the
HPA.

Bounds (window 0..3600, periods 1..1800, policy names) are the API server's own, which applies them to the HPA: as in
KEDA, a value outside of them is accepted in the ScaledObject and reported there as Ready=False.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.schema_marks import ATOMIC, Quantity
from keda_py.apis.wire import Int32, Wire


class HPAScalingPolicy(Wire):
    """Limit on the change within a period."""

    type: str
    """Pods or Percent."""
    value: Int32
    period_seconds: Int32


class HPAScalingRules(Wire):
    """Rules for one direction."""

    policies: Annotated[list[HPAScalingPolicy], Field(json_schema_extra=ATOMIC)] = []
    select_policy: str = ""
    """Max, Min or Disabled."""
    stabilization_window_seconds: Int32 | None = None
    """Seconds of past recommendations that count, 0 to 3600."""
    tolerance: Quantity | None = None
    """Deviation from the target that is ignored, for example 0.1."""


class HorizontalPodAutoscalerBehavior(Wire):
    """Speed of the HPA's scaling in each direction."""

    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None
