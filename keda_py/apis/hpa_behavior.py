"""`behavior` of an `autoscaling/v2` HorizontalPodAutoscaler, for the CRD; the operator hands it to the HPA as it is.

Bounds (window 0..3600, periods 1..1800, policy names) are the API server's own and it applies them to the HPA: as with
KEDA, a value out of them is accepted in the ScaledObject and shows as Ready=False there.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.schema_marks import ATOMIC, Quantity
from keda_py.apis.wire import Int32, Wire


class HPAScalingPolicy(Wire):
    """How much may change within a period."""

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
    """How fast the HPA scales in each direction."""

    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None
