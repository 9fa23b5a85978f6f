"""The API server's checks of a HorizontalPodAutoscaler beyond its schema, with its texts.

Some depend on feature gates, and so on the version of Kubernetes (`core/values/kubernetes.py`). The gates that are on
stand in the schema, under `GATES`: the schema belongs to one server.
"""

from collections.abc import Collection, Iterator
from typing import Any

from keda_py.core.values.kubernetes import SCALE_TO_ZERO
from keda_py.core.values.quantity import parse_milli
from keda_py.schema import causes
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema
from keda_py.schema.status import Cause

GATES = "x-keda-py-feature-gates"

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SELECTIONS = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800


def with_gates(schema: Schema, gates: Collection[str]) -> Schema:
    """The schema of a server that has these feature gates on."""
    return {**schema, GATES: sorted(gates)}


def check_hpa(obj: Obj, schema: Schema, old: Obj | None) -> Iterator[Cause]:
    """Check bounds, metrics and behavior."""
    spec = obj.get("spec") or {}
    yield from _bounds(spec, 0 if _may_be_zero(schema, old) else 1)
    metrics = spec.get("metrics") or []
    for at, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{at}]")
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield causes.forbidden("spec.metrics", text)
    for direction in ("scaleUp", "scaleDown"):
        if rules := (spec.get("behavior") or {}).get(direction):
            yield from _behavior(rules, f"spec.behavior.{direction}")


def _may_be_zero(schema: Schema, old: Obj | None) -> bool:
    """Whether minReplicas may be 0: with the gate, or where it is so already, from a time when the gate was on."""
    before: dict[str, Any] = (old or {}).get("spec") or {}
    return SCALE_TO_ZERO in schema.get(GATES, ()) or before.get("minReplicas") == 0


def _bounds(spec: Obj, lowest: int) -> Iterator[Cause]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < lowest:
        yield causes.invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}")
    if most < 1:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _metric(metric: Obj, path: str) -> Iterator[Cause]:
    kind = metric.get("type")
    if not kind:
        yield causes.required(f"{path}.type", "must specify a metric source type")
        return
    own = _SOURCES.get(kind)
    if own is None:
        yield causes.unsupported(f"{path}.type", kind, sorted(_SOURCES))
        return
    for other in _SOURCES.values():
        if other != own and metric.get(other) is not None:
            yield causes.forbidden(f"{path}.{other}", "must populate the given metric source only")
    source = metric.get(own)
    if source is None:
        yield causes.required(f"{path}.{own}", "must populate information for the given metric source")
    else:
        yield from _source(source, own, f"{path}.{own}")


def _source(source: Obj, own: str, path: str) -> Iterator[Cause]:
    if own in ("external", "object", "pods"):
        yield from _metric_name((source.get("metric") or {}).get("name"), f"{path}.metric.name")
    if own == "object":
        yield from _described(source.get("describedObject") or {}, f"{path}.describedObject")
    if own in ("resource", "containerResource") and not source.get("name"):
        yield causes.required(f"{path}.name", "must specify a resource name")
    if own == "containerResource" and not source.get("container"):
        yield causes.required(f"{path}.container", "must specify a container")
    yield from _target(source.get("target") or {}, own, f"{path}.target")


def _metric_name(name: str | None, path: str) -> Iterator[Cause]:
    if not name:
        yield causes.required(path, "must specify a metric name")
    else:
        yield from _check_segment(name, path)


def _described(reference: Obj, path: str) -> Iterator[Cause]:
    for key in ("kind", "name"):
        yield from _check_segment(reference.get(key) or "", f"{path}.{key}")


def _check_segment(name: str, path: str) -> Iterator[Cause]:
    """Check a name that becomes part of the path of the controller's query."""
    if name in (".", ".."):
        yield causes.invalid(path, name, f"may not be '{name}'")
    for letter in "/%":
        if letter in name:
            yield causes.invalid(path, name, f"may not contain '{letter}'")


def _target(target: Obj, source: str, path: str) -> Iterator[Cause]:
    yield from _target_type(target.get("type"), f"{path}.type")
    value, average, percent = (target.get(key) for key in ("value", "averageValue", "averageUtilization"))
    for field, quantity in (("value", value), ("averageValue", average)):
        if quantity is not None and parse_milli(quantity) <= 0:
            yield causes.invalid(f"{path}.{field}", quantity, "must be positive")
    if percent is not None and percent < 1:
        yield causes.invalid(f"{path}.averageUtilization", percent, "must be greater than 0")
    match source:
        case "external" if value is None and average is None:
            yield causes.required(
                f"{path}.averageValue", "must set either a target value for metric or a per-pod target"
            )
        case "external" if value is not None and average is not None:
            text = "may not set both a target value for metric and a per-pod target"
            yield causes.forbidden(f"{path}.value", text)
        case "object" if value is None and average is None:
            yield causes.required(f"{path}.averageValue", "must set either a target value or averageValue")
        case "pods" if average is None:
            yield causes.required(f"{path}.averageValue", "must specify a positive target averageValue")
        case "resource" | "containerResource" if percent is None and average is None:
            text = "must set either a target raw value or a target utilization"
            yield causes.required(f"{path}.averageUtilization", text)
        case "resource" | "containerResource" if percent is not None and average is not None:
            text = "may not set both a target raw value and a target utilization"
            yield causes.forbidden(f"{path}.averageValue", text)
        case _:
            pass


def _target_type(kind: str | None, path: str) -> Iterator[Cause]:
    if not kind:
        yield causes.required(path, "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield causes.invalid(path, kind or "", "must be either Utilization, Value, or AverageValue")


def _behavior(rules: Obj, path: str) -> Iterator[Cause]:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        yield causes.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        text = f"must be less than or equal to {_LONGEST_WINDOW}"
        yield causes.invalid(f"{path}.stabilizationWindowSeconds", window, text)
    if select not in (None, *_SELECTIONS):
        yield causes.unsupported(f"{path}.selectPolicy", select, list(_SELECTIONS))
    policies = rules.get("policies") or []
    if not policies:
        yield causes.required(f"{path}.policies", "must specify at least one Policy")
    for at, policy in enumerate(policies):
        yield from _policy(policy, f"{path}.policies[{at}]")


def _policy(policy: Obj, path: str) -> Iterator[Cause]:
    if policy.get("type") not in _POLICIES:
        yield causes.unsupported(f"{path}.type", policy.get("type", ""), list(_POLICIES))
    for field in ("value", "periodSeconds"):
        if policy.get(field, 0) <= 0:
            yield causes.invalid(f"{path}.{field}", policy.get(field, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > _LONGEST_PERIOD:
        text = f"must be less than or equal to {_LONGEST_PERIOD}"
        yield causes.invalid(f"{path}.periodSeconds", policy["periodSeconds"], text)
