"""Fallback: failures counted per metric, and the value that replaces readings once there are too many.

Pure. Behaviour reference, section 8. `readings/readings.py` counts, `evaluation.py` applies, for the poll and for the
HPA's request alike. Nothing here replaces a failure by a value before `failures > failureThreshold`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from keda_py.apis.scaled_object import Fallback
from keda_py.core.metric_names import MetricSet, NamedMetric
from keda_py.core.spec import ScalingSpec, TriggersSpec
from keda_py.core.values.quantity import LARGEST_MILLI, to_milli
from keda_py.errors import ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackState:
    """Failed readings of one metric in a row; an entry of `status.health`."""

    failures: int = 0

    @property
    def status(self) -> Literal["Happy", "Failing"]:
        """The word that `status.health` stores."""
        return "Failing" if self.failures else "Happy"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCounts:
    """The scale target's counts that a fallback needs; None: could not be read, or was not asked for."""

    replicas: int | None = None
    ready_pods: int | None = None


def count_outcome(state: FallbackState, *, failed: bool) -> FallbackState:
    """Return the state after one more completed reading."""
    return FallbackState(failures=state.failures + 1 if failed else 0)


def read_health(status: Mapping[str, Any]) -> dict[str, FallbackState]:
    """Read the stored states of `status.health`, by metric name."""
    stored = status.get("health") or {}
    return {name: FallbackState(failures=entry.get("numberOfFailures") or 0) for name, entry in stored.items()}


def has_valid_fallback(spec: TriggersSpec) -> bool:
    """Whether a fallback can be computed. As in KEDA, a target such as "2.5" in scalingModifiers disables it."""
    if spec.fallback is None:
        return False
    return spec.modifiers is None or _positive_integer(spec.modifiers.target) is not None


def exceeds_threshold(spec: ScalingSpec, state: FallbackState) -> bool:
    """Whether the metric failed more often in a row than a valid fallback tolerates."""
    return spec.fallback is not None and has_valid_fallback(spec) and state.failures > spec.fallback.failure_threshold


def shows_fallback(spec: ScalingSpec, health: Mapping[str, FallbackState]) -> bool:
    """Whether the Fallback condition is True."""
    return any(exceeds_threshold(spec, state) for state in health.values())


def leaves_to_formula(spec: ScalingSpec) -> bool:
    """Whether a trigger beyond its threshold is nil in the formula, for its `??` to catch, not the fallback's value."""
    return spec.modifiers is not None and spec.fallback is not None and spec.fallback.behavior == "scalingModifiers"


def needs_replicas(spec: ScalingSpec) -> bool:
    """Whether the fallback depends on the current replicas."""
    return spec.fallback is not None and spec.fallback.behavior.startswith("currentReplicas")


def needs_ready_pods(spec: ScalingSpec, metrics: MetricSet) -> bool:
    """Whether the fallback depends on the number of Running and Ready pods, as it does for metrics of type Value."""
    if spec.fallback is None:
        return False
    if spec.modifiers is not None:
        return spec.modifiers.metric_type == "Value"
    return any(metric.metric_type == "Value" for metric in metrics.external)


def fallback_milli(spec: ScalingSpec, metric: NamedMetric, workload: TargetCounts, suppressed: ScalerError) -> int:
    """Compute the value that makes an HPA ask for the fallback's replicas. Raises ScalerError if it cannot be computed.

    float64 in KEDA's order of operations: a target of 4.007 and one replica give int(4007 * 1e-3 * 1000 * 1) = 4006.
    """
    if spec.fallback is None:
        raise suppressed
    replicas = float(_wanted_replicas(spec.fallback, workload.replicas, suppressed))
    if _is_value(spec, metric):
        # The HPA multiplies a Value by the ready pods: with none of them no value asks for any count, so the failure
        # stays one.
        if not workload.ready_pods:
            raise ScalerError(f"error performing fallback: no ready pods to divide by; {suppressed}")
        replicas /= workload.ready_pods
    return min(int(_norm(spec, metric) * 1000 * replicas), LARGEST_MILLI)


def _wanted_replicas(fallback: Fallback, current: int | None, suppressed: ScalerError) -> int:
    if not fallback.behavior.startswith("currentReplicas"):
        return fallback.replicas
    if current is None:
        raise suppressed
    match fallback.behavior:
        case "currentReplicasIfHigher":
            return max(current, fallback.replicas)
        case "currentReplicasIfLower":
            return min(current, fallback.replicas)
        case _:
            return current


def _is_value(spec: ScalingSpec, metric: NamedMetric) -> bool:
    kind = metric.metric_type if spec.modifiers is None else spec.modifiers.metric_type
    return kind == "Value"


def _norm(spec: ScalingSpec, metric: NamedMetric) -> float:
    if spec.modifiers is not None:
        return float(_positive_integer(spec.modifiers.target) or 0)
    # A float target is a milli quantity: 4.007 became 4007m when it was named, and is read back as 4007 * 1e-3.
    return float(metric.target) if isinstance(metric.target, int) else to_milli(metric.target) * 1e-3


def _positive_integer(text: str) -> int | None:
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        return None
    return int(digits) or None
