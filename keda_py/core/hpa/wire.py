"""An autoscaling/v2 manifest -> the part of its spec that decides, and the targets of its metrics. Pure.

For the embedded cluster, which reads what a client wrote, and for forecasts, which read what `manifest.py` builds.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from keda_py.apis.foreign import maps_at
from keda_py.core.hpa.behavior_wire import read_behavior
from keda_py.core.hpa.conditions import HELD_ASLEEP, ConditionType, ZeroMark
from keda_py.core.hpa.controller import HpaSpec
from keda_py.core.hpa.metrics import MetricTarget, TargetType
from keda_py.core.values.quantity import parse_milli

Json = Mapping[str, Any]
WITHOUT_PODS = ("External", "Object")
"""Types of metrics that have a value while there is no pod."""
_milli = lru_cache(maxsize=4096)(parse_milli)  # the same few quantities are read at every sync


def read_spec(hpa: Json) -> HpaSpec:
    """The part of the spec that decides."""
    spec = hpa["spec"]
    behavior = read_behavior(spec["behavior"]) if spec.get("behavior") is not None else None
    return HpaSpec(
        min_replicas=spec.get("minReplicas", 1),
        max_replicas=spec["maxReplicas"],
        behavior=behavior,
        measured_without_pods=any(metric.get("type") in WITHOUT_PODS for metric in spec.get("metrics") or ()),
    )


def read_zero_mark(hpa: Json) -> ZeroMark:
    """Whether its controller has set the count of zero, by its condition ScaledToZero."""
    for condition in maps_at(hpa, "status", "conditions"):
        if condition.get("type") == ConditionType.SCALED_TO_ZERO:
            if condition.get("status") == "True":
                return ZeroMark.SET
            return ZeroMark.HELD if condition.get("reason") == HELD_ASLEEP else ZeroMark.NONE
    return ZeroMark.NONE


def read_target(target: Json) -> MetricTarget:
    """`target` of a metric: the amount of whichever field its type names."""
    if target.get("averageUtilization") is not None and target["type"] == TargetType.UTILIZATION:
        return MetricTarget(type=TargetType.UTILIZATION, amount=target["averageUtilization"])
    if target["type"] == TargetType.VALUE:
        return MetricTarget(type=TargetType.VALUE, amount=_milli(target["value"], field="target.value"))
    amount = _milli(target["averageValue"], field="target.averageValue")
    return MetricTarget(type=TargetType.AVERAGE_VALUE, amount=amount)
