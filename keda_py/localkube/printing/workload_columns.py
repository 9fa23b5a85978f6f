"""Printer columns of workloads: pods, their controllers, jobs and the HorizontalPodAutoscaler."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from keda_py.localkube.model.durations import age, human_duration
from keda_py.localkube.printing.printers import (
    AGE,
    NONE,
    Printer,
    containers_text,
    created,
    number,
    printer,
    selector_text,
    spec_of,
    status_of,
    template_text,
    text,
)
from keda_py.schema.resources import Obj

UNKNOWN = "<unknown>"
_WORKLOAD_WIDE = (text("Containers", wide=True), text("Images", wide=True), text("Selector", wide=True))


def _pod(pod: Obj, now: datetime) -> Sequence[Any]:
    status = status_of(pod)
    containers = status.get("containerStatuses") or []
    total = len(spec_of(pod).get("containers") or [])
    ready = sum(1 for container in containers if container.get("ready"))
    restarts = sum(container.get("restartCount", 0) for container in containers)
    return [
        f"{ready}/{total}",
        _pod_phase(pod),
        str(restarts),
        created(pod, now),
        status.get("podIP") or NONE,
        spec_of(pod).get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        NONE,
    ]


def _pod_phase(pod: Obj) -> str:
    """The STATUS column; a container's waiting reason takes precedence over the phase."""
    status = status_of(pod)
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for container in status.get("containerStatuses") or []:
        state = container.get("state") or {}
        reason = (state.get("waiting") or state.get("terminated") or {}).get("reason")
        if reason:
            return str(reason)
    return str(status.get("reason") or status.get("phase") or UNKNOWN)


def _deployment(deployment: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(deployment), status_of(deployment)
    return [
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        created(deployment, now),
        *template_text(spec),
        selector_text(spec.get("selector")),
    ]


def _replica_set(replica_set: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(replica_set), status_of(replica_set)
    counts = [spec.get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [*counts, created(replica_set, now), *template_text(spec), selector_text(spec.get("selector"))]


def _stateful_set(stateful_set: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(stateful_set), status_of(stateful_set)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [ready, created(stateful_set, now), *template_text(spec)]


def _daemon_set(daemon_set: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(daemon_set), status_of(daemon_set)
    fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [status.get(field, 0) for field in (*fields, "numberAvailable")]
    nodes = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector") or {}
    node_selector = ",".join(f"{key}={value}" for key, value in sorted(nodes.items())) or NONE
    wide = [*template_text(spec), selector_text(spec.get("selector"))]
    return [*counts, node_selector, created(daemon_set, now), *wide]


def _job(job: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(job), status_of(job)
    wanted, done = spec.get("completions"), status.get("succeeded", 0)
    parallel = spec.get("parallelism", 1)
    completions = f"{done}/{wanted}" if wanted else f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    started, ended = status.get("startTime"), status.get("completionTime")
    end = datetime.fromisoformat(ended) if ended else now
    duration = human_duration(end - datetime.fromisoformat(started)) if started else ""
    wide = [*template_text(spec), selector_text(spec.get("selector"))]
    return [_job_status(job), completions, duration, created(job, now), *wide]


def _job_status(job: Obj) -> str:
    conditions = {condition.get("type") for condition in _true_conditions(job)}
    if "Complete" in conditions:
        return "Complete"
    if "Failed" in conditions:
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next(
        (name for name in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if name in conditions), "Running"
    )


def _true_conditions(obj: Obj) -> list[Obj]:
    conditions = status_of(obj).get("conditions") or []
    return [condition for condition in conditions if condition.get("status") == "True"]


def _cron_job(cron_job: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(cron_job), status_of(cron_job)
    last = status.get("lastScheduleTime")
    job_spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return [
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active") or []),
        age(last, now) if last else NONE,
        created(cron_job, now),
        *template_text(job_spec),
        selector_text(job_spec.get("selector")),
    ]


def _hpa(hpa: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(hpa), status_of(hpa)
    reference = spec.get("scaleTargetRef") or {}
    return [
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        str(spec["minReplicas"]) if spec.get("minReplicas") is not None else "<unset>",
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        created(hpa, now),
    ]


def _targets(metrics: Sequence[Obj], current: Sequence[Obj]) -> str:
    """Format `<unknown>/500m (avg), cpu: 12%/50% + 1 more...`: current values have the index of their metric."""
    if not metrics:
        return NONE
    seen = [*current, *({} for _ in metrics)]
    parts = [_target(metric, value) for metric, value in zip(metrics, seen, strict=False)]
    more = f" + {len(parts) - 2} more..." if len(parts) > 2 else ""
    return ", ".join(parts[:2]) + more


def _target(metric: Obj, current: Obj) -> str:
    source_key = {
        "External": "external",
        "Object": "object",
        "Pods": "pods",
        "Resource": "resource",
        "ContainerResource": "containerResource",
    }.get(metric.get("type", ""), "")
    source = metric.get(source_key) or {}
    target, value = source.get("target") or {}, (current.get(source_key) or {}).get("current") or {}
    prefix = f"{source.get('name', '')}: " if source_key in ("resource", "containerResource") else ""
    if "averageValue" in target:
        suffix = " (avg)" if source_key in ("external", "object") else ""
        return f"{prefix}{value.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    if "averageUtilization" in target:
        used = value.get("averageUtilization")
        return f"{prefix}{UNKNOWN if used is None else f'{used}%'}/{target['averageUtilization']}%"
    if "value" in target:
        return f"{value.get('value', UNKNOWN)}/{target['value']}"
    return "<unknown type>"


def _replication_controller(controller: Obj, now: datetime) -> Sequence[Any]:
    spec, status = spec_of(controller), status_of(controller)
    counts = [spec.get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0)]
    names, images = containers_text((spec.get("template") or {}).get("spec") or {})
    return [*counts, created(controller, now), names, images, selector_text({"matchLabels": spec.get("selector")})]


_POD_COLUMNS = (
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    text("IP", wide=True),
    text("Node", wide=True),
    text("Nominated Node", wide=True),
    text("Readiness Gates", wide=True),
)
_COUNTS = (number("Desired"), number("Current"), number("Ready"))

WORKLOAD_PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): printer(_POD_COLUMNS, _pod),
    ("", "ReplicationController"): printer((*_COUNTS, AGE, *_WORKLOAD_WIDE), _replication_controller),
    ("apps", "Deployment"): printer(
        (text("Ready"), text("Up-to-date"), text("Available"), AGE, *_WORKLOAD_WIDE), _deployment
    ),
    ("apps", "ReplicaSet"): printer((*_COUNTS, AGE, *_WORKLOAD_WIDE), _replica_set),
    ("apps", "StatefulSet"): printer((text("Ready"), AGE, *_WORKLOAD_WIDE[:2]), _stateful_set),
    ("apps", "DaemonSet"): printer(
        (*_COUNTS, number("Up-to-date"), number("Available"), text("Node Selector"), AGE, *_WORKLOAD_WIDE), _daemon_set
    ),
    ("batch", "Job"): printer((text("Status"), text("Completions"), text("Duration"), AGE, *_WORKLOAD_WIDE), _job),
    ("batch", "CronJob"): printer(
        (
            text("Schedule"),
            text("Timezone"),
            text("Suspend"),
            number("Active"),
            text("Last Schedule"),
            AGE,
            *_WORKLOAD_WIDE,
        ),
        _cron_job,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): printer(
        (text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE), _hpa
    ),
}
