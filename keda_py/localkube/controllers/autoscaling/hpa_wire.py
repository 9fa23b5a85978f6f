"""Conversions between an autoscaling/v2 object and `core/hpa/controller.py`: pods in, the status out. Pure.

`core/hpa/wire.py` reads the spec, for forecasts as well. Next in the flow: `horizontal.py`, which asks for the metrics
and writes the decision.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from keda_py.core.hpa.conditions import HpaCondition
from keda_py.core.hpa.controller import SyncResult
from keda_py.core.hpa.metrics import MetricValue
from keda_py.core.hpa.pods import Pod, UsageSample
from keda_py.localkube.controllers.shared import usage
from keda_py.localkube.model.conditions import find, with_condition
from keda_py.schema.resources import Obj

SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
"""The field that holds a metric, by its type."""


def read_pod(pod: Obj, sample: usage.PodUsage | None) -> Pod:
    """Convert a pod and its usage for the arithmetic."""
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


def build_status(hpa: Obj, verdict: SyncResult, now: str) -> Obj:
    """Build the whole status after one sync."""
    before = hpa.get("status") or {}
    scaled = {"lastScaleTime": now} if verdict.rescale and verdict.desired is not None else {}
    desired = before.get("desiredReplicas", 0) if verdict.desired is None else verdict.desired
    return {
        **_kept(before, "lastScaleTime"),
        **scaled,
        **({"currentReplicas": verdict.current} if verdict.current else {}),
        "desiredReplicas": desired,
        "currentMetrics": _written_metrics(hpa["spec"].get("metrics") or (), verdict.metrics),
        "conditions": set_conditions(before.get("conditions"), verdict.conditions, now),
    }


def set_conditions(before: Sequence[Obj] | None, conditions: Iterable[HpaCondition], now: str) -> list[Obj]:
    """Set these conditions, in their order."""
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
        SOURCES[spec["type"]]: {
            **head,
            "current": _written_value(value),
            **_kept(source, "container"),
            **_kept(source, "describedObject"),
        },
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
