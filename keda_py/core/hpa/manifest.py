"""ScalingSpec + metrics -> the HorizontalPodAutoscaler that keda-py owns, and whether a live one still says the same.

Pure. Behaviour reference, section 4.
"""

from collections.abc import Mapping
from typing import Any

from keda_py import __version__
from keda_py.core.composite import Composite
from keda_py.core.metric_names import COMPOSITE_METRIC, MetricSet, NamedMetric
from keda_py.core.metric_specs import ResourceMetric
from keda_py.core.spec import EXCLUDED_LABELS, NAME_LABEL, ScalingSpec
from keda_py.core.values.quantity import canonicalize, print_milli, print_target
from keda_py.errors import ConfigError

Manifest = dict[str, Any]

_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
# What the API server puts where a behavior is silent.
_COMPLETED: Mapping[str, Mapping[str, Any]] = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_PODS, _PERCENT]},
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}


def build_hpa(spec: ScalingSpec, metrics: MetricSet) -> Manifest:
    """The whole manifest, ready to be created. Raises ConfigError for an invalid behavior."""
    metadata: Manifest = {
        "name": spec.hpa_name,
        "namespace": spec.namespace,
        "labels": _labels(spec),
        "ownerReferences": [_owner(spec)],
    }
    if spec.annotations:
        metadata["annotations"] = dict(spec.annotations)
    target = spec.target
    body: Manifest = {
        # An HPA without the gate HPAScaleToZero has a minimum of 1; going to 0 and back is ours.
        "minReplicas": max(spec.min_replicas, 1),
        "maxReplicas": spec.max_replicas,
        "scaleTargetRef": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name},
        "metrics": _metrics(spec, metrics),
    }
    behavior = _behavior(spec)
    if behavior:
        body["behavior"] = behavior
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": body,
    }


def differs(desired: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Does the live HPA say something else? What the API server adds, and labels added by others, do not count."""
    desired_spec, live_spec = desired["spec"], live.get("spec") or {}
    if len(desired_spec["metrics"]) != len(live_spec.get("metrics") or ()):
        return True
    compared = {name: value for name, value in desired_spec.items() if name != "behavior"}
    if not _covers(live_spec, compared) or _behavior_differs(desired_spec.get("behavior"), live_spec.get("behavior")):
        return True
    ours, theirs = desired["metadata"], live.get("metadata") or {}
    owners = theirs.get("ownerReferences") or []
    # By uid, not by name: after a deletion and a new creation the HPA may still belong to the ScaledObject from before,
    # and would be garbage-collected with it.
    if not any(owner.get("uid") == ours["ownerReferences"][0]["uid"] for owner in owners):
        return True
    wanted, there = ours.get("annotations"), theirs.get("annotations") or {}
    return not (_covers(theirs.get("labels") or {}, ours["labels"]) and _covers(there, wanted or {})) or (
        wanted is None and bool(there)
    )


def _behavior_differs(desired: Mapping[str, Any] | None, live: Mapping[str, Any] | None) -> bool:
    """The API server completes a given behavior and leaves an absent one absent; what we no longer ask for must go."""
    if desired is None or live is None:
        return (desired is None) != (live is None)
    return any(
        _rule({**defaults, **(desired.get(direction) or {})}, name) != _rule(live.get(direction) or {}, name)
        for direction, defaults in _COMPLETED.items()
        for name in _RULES
    )


def _rule(rules: Mapping[str, Any], name: str) -> Any:
    value = rules.get(name)
    return canonicalize(value) if name == "tolerance" and value is not None else value


def _covers(live: Any, desired: Any) -> bool:
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(key in live and _covers(live[key], desired[key]) for key in desired)
    if isinstance(desired, list):
        return isinstance(live, list) and len(live) == len(desired) and all(map(_covers, live, desired))
    return bool(live == desired)


def _labels(spec: ScalingSpec) -> dict[str, str]:
    excluded = spec.annotations.get(EXCLUDED_LABELS, "").split(",")
    own = {
        "app.kubernetes.io/name": _label_value(spec.hpa_name),
        "app.kubernetes.io/version": __version__,
        "app.kubernetes.io/part-of": spec.name,
        "app.kubernetes.io/managed-by": "keda-operator",
    }
    copied = {key: value for key, value in spec.labels.items() if key not in excluded}
    # The reconciler sets this label on the ScaledObject; here it may not have come back yet.
    return own | {NAME_LABEL: spec.name} | copied if NAME_LABEL not in excluded else own | copied


def _label_value(text: str) -> str:
    cut = text[:63]
    while cut and not cut[-1].isalnum():
        cut = cut[:-1]
    return cut


def _owner(spec: ScalingSpec) -> Manifest:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "name": spec.name,
        "uid": spec.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _metrics(spec: ScalingSpec, metrics: MetricSet) -> list[Manifest]:
    """Sorted by type as KEDA does (ContainerResource < External < Resource); a formula replaces every External."""
    if metrics.composite is None:
        containers = [_resource(metric) for metric in metrics.resource if metric.container]
        external = [_external(spec, metric) for metric in metrics.external]
        return containers + external + [_resource(metric) for metric in metrics.resource if not metric.container]
    kept = [_resource(metric) for metric in metrics.resource if not metric.container]
    return [*kept, _composite(spec, metrics.composite)]


def _external(spec: ScalingSpec, metric: NamedMetric) -> Manifest:
    return _external_metric(spec, metric.name, metric.metric_type, print_target(metric.target))


def _composite(spec: ScalingSpec, composite: Composite) -> Manifest:
    """A formula's target is cut after three decimals in float64, unlike a trigger's: 2.01 becomes 2009m."""
    metric_type = (spec.modifiers.metric_type if spec.modifiers else "") or "AverageValue"
    return _external_metric(spec, COMPOSITE_METRIC, metric_type, print_milli(int(composite.target * 1000)))


def _external_metric(spec: ScalingSpec, name: str, metric_type: str, quantity: str) -> Manifest:
    field = "value" if metric_type == "Value" else "averageValue"
    return {
        "type": "External",
        "external": {
            "metric": {"name": name, "selector": {"matchLabels": {NAME_LABEL: spec.name}}},
            "target": {"type": metric_type, field: quantity},
        },
    }


def _resource(metric: ResourceMetric) -> Manifest:
    target: Manifest = {"type": metric.target_type}
    if metric.target_type == "Utilization":
        target["averageUtilization"] = int(metric.target)
    else:
        target["averageValue"] = metric.target
    if metric.container:
        body = {"name": metric.name, "container": metric.container, "target": target}
        return {"type": "ContainerResource", "containerResource": body}
    return {"type": "Resource", "resource": {"name": metric.name, "target": target}}


def _behavior(spec: ScalingSpec) -> Manifest:
    behavior: Manifest = {key: value for key, value in (spec.behavior or {}).items() if value is not None}
    for direction, blocked in (("scaleDown", spec.pause.scale_in), ("scaleUp", spec.pause.scale_out)):
        if blocked:
            rules = behavior.get(direction) or {}
            if not isinstance(rules, Mapping):
                raise ConfigError(f"behavior.{direction} must be a mapping of scaling rules")
            behavior[direction] = {**rules, "selectPolicy": "Disabled"}
    return behavior
