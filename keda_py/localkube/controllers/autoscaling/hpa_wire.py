"""Between an autoscaling/v2 object and `core/hpa/controller.py`: the spec read, the status written. Pure.

Next in the flow: `horizontal.py`, which asks for the metrics and writes what the core decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
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
from keda_py.core.hpa.conditions import HpaCondition
from keda_py.core.hpa.controller import HpaSpec, Verdict
from keda_py.core.hpa.metrics import MetricTarget, MetricValue, TargetType
from keda_py.core.hpa.pods import Pod, UsageSample
from keda_py.localkube.controllers.shared import usage
from keda_py.localkube.model.conditions import find, with_condition
from keda_py.schema.resources import Obj

SOURCES = {"External": "external", "Resource": "resource", "ContainerResource": "containerResource"}


def read_spec(hpa: Obj) -> HpaSpec:
    """The part of the spec that decides."""
    spec = hpa["spec"]
    behavior = read_behavior(spec["behavior"]) if spec.get("behavior") is not None else None
    return HpaSpec(min_replicas=spec.get("minReplicas", 1), max_replicas=spec["maxReplicas"], behavior=behavior)


def read_behavior(behavior: Obj) -> Behavior:
    """`spec.behavior`, each side completed by its defaults."""
    return Behavior(
        scale_up=_rules(behavior.get("scaleUp"), DEFAULT_SCALE_UP),
        scale_down=_rules(behavior.get("scaleDown"), DEFAULT_SCALE_DOWN),
    )


def _rules(written: Obj | None, default: ScalingRules) -> ScalingRules:
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
        tolerance=default.tolerance if tolerance is None else usage.milli(tolerance, field="tolerance") / 1000,
    )


def read_target(target: Obj) -> MetricTarget:
    """`target` of a metric: the amount of whichever field its type names."""
    if target.get("averageUtilization") is not None and target["type"] == TargetType.UTILIZATION:
        return MetricTarget(type=TargetType.UTILIZATION, amount=target["averageUtilization"])
    if target["type"] == TargetType.VALUE:
        return MetricTarget(type=TargetType.VALUE, amount=usage.milli(target["value"], field="target.value"))
    amount = usage.milli(target["averageValue"], field="target.averageValue")
    return MetricTarget(type=TargetType.AVERAGE_VALUE, amount=amount)


def read_pod(pod: Obj, sample: usage.PodUsage | None) -> Pod:
    """The pod as the arithmetic sees it."""
    status = pod.get("status") or {}
    ready = find(status.get("conditions"), "Ready")
    return Pod(
        name=pod["metadata"]["name"],
        phase=status.get("phase", "Pending"),
        deleting="deletionTimestamp" in pod["metadata"],
        ready=ready["status"] == "True" if ready is not None else None,
        ready_changed_at=_moment(ready.get("lastTransitionTime")) if ready is not None else None,
        started_at=_moment(status.get("startTime")),
        requests={c["name"]: _requests(c) for c in pod["spec"].get("containers", ())},
        sample=None
        if sample is None
        else UsageSample(timestamp=sample.timestamp, window=usage.WINDOW, usage=sample.containers),
    )


def _requests(container: Obj) -> Mapping[str, int]:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {name: usage.milli(requests[name], field=f"requests.{name}") for name in usage.FORMATS if name in requests}


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def written_status(hpa: Obj, verdict: Verdict, now: str) -> Obj:
    """The whole status after one sync."""
    before = hpa.get("status") or {}
    scaled = {"lastScaleTime": now} if verdict.rescale and verdict.desired is not None else {}
    desired = before.get("desiredReplicas", 0) if verdict.desired is None else verdict.desired
    return {
        **_kept(before, "lastScaleTime"),
        **scaled,
        **({"currentReplicas": verdict.current} if verdict.current else {}),
        "desiredReplicas": desired,
        "currentMetrics": _written_metrics(hpa["spec"].get("metrics") or (), verdict.metrics),
        "conditions": written_conditions(before.get("conditions"), verdict.conditions, now),
    }


def written_conditions(before: Sequence[Obj] | None, conditions: Iterable[HpaCondition], now: str) -> list[Obj]:
    """The conditions after these have been set, in their order."""
    result = list(before or ())
    for c in conditions:
        row = {"type": str(c.type), "status": c.status, "reason": c.reason, "message": c.message}
        result = with_condition(result, row, now)
    return result


def _written_metrics(specs: Sequence[Obj], values: Sequence[MetricValue | None]) -> list[Obj] | None:
    if not values:
        return None
    return [_written_metric(spec, value) for spec, value in zip(specs, values, strict=True)]


def _written_metric(spec: Obj, value: MetricValue | None) -> Obj:
    if value is None:
        return {"type": ""}
    source = spec[SOURCES[spec["type"]]]
    head: dict[str, Any] = {"metric": source["metric"]} if "metric" in source else {"name": source["name"]}
    return {
        "type": spec["type"],
        SOURCES[spec["type"]]: {**head, "current": _written_value(value), **_kept(source, "container")},
    }


def _written_value(value: MetricValue) -> Obj:
    fields = {
        "value": value.value,
        "averageValue": value.average_value,
        "averageUtilization": value.average_utilization,
    }
    return {name: amount for name, amount in fields.items() if amount is not None}


def _kept(obj: Obj, key: str) -> Obj:
    return {key: obj[key]} if key in obj else {}
