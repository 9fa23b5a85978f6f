"""`spec.behavior` of a manifest -> the rules of `behavior.py`.

Apart from `wire.py`, because admission needs this alone, and not the controller of HPAs.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from keda_py.core.hpa.behavior import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Behavior,
    PolicyType,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
)
from keda_py.core.values.quantity import parse_milli

Json = Mapping[str, Any]


def read_behavior(behavior: Json) -> Behavior:
    """`spec.behavior`, each side completed by its defaults."""
    return Behavior(
        scale_up=_rules(behavior.get("scaleUp"), DEFAULT_SCALE_UP),
        scale_down=_rules(behavior.get("scaleDown"), DEFAULT_SCALE_DOWN),
    )


def _rules(written: Json | None, default: ScalingRules) -> ScalingRules:
    written = written or {}
    window, tolerance = written.get("stabilizationWindowSeconds"), written.get("tolerance")
    policies = tuple(
        ScalingPolicy(type=PolicyType(p["type"]), value=p["value"], period=timedelta(seconds=p["periodSeconds"]))
        for p in written.get("policies") or ()
    )
    return ScalingRules(
        policies=policies or default.policies,
        select_policy=SelectPolicy(written.get("selectPolicy") or default.select_policy),
        stabilization=default.stabilization if window is None else timedelta(seconds=window),
        tolerance=default.tolerance if tolerance is None else parse_milli(tolerance, field="tolerance") / 1000,
    )
