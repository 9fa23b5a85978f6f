"""The cpu and memory usage of pods, as annotations declare it: nothing runs here.

On a pod (through its workload's template), or on the workload itself, which takes precedence and changes usage without
a rollout:

    local.keda-py.dev/cpu: 60m             each container uses this much
    local.keda-py.dev/memory: 95Mi
    local.keda-py.dev/memory.sidecar: 5Mi  one container's own figure
    local.keda-py.dev/memory-shared: 2Gi   all Ready pods of the workload use this much together

`local.keda-py.dev/cpu: none` marks a pod that the metrics server does not know. Other pods report when they are Ready,
or have run for a window without being so; the latter get no share of what all Ready pods use together. Read by the HPA
controller and by `metrics_api.py`, which serves metrics.k8s.io.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from keda_py.core.values.quantity import QuantityFormat, parse_milli, print_milli
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.schema.resources import Obj

WINDOW = timedelta(seconds=15)
UNKNOWN = "none"
FORMATS = {"cpu": QuantityFormat.DECIMAL, "memory": QuantityFormat.BINARY}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUsage:
    """A pod's sample: milli-units of "cpu" and "memory" by container."""

    timestamp: datetime
    containers: Mapping[str, Mapping[str, int]]


# `parse_milli` with a cache: every sync reads the same few quantities.
milli = lru_cache(maxsize=4096)(parse_milli)


class Usage:
    """Computes the usage of every pod of the cluster."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def of(self, pod: Obj) -> PodUsage | None:
        """The pod's current sample; None without one. Raises ConfigError for a declaration that is not a quantity."""
        ready, now = pods.is_ready(pod), self._context.clock.now()
        if not pods.is_active(pod) or not (ready or _has_run(pod, now)):
            return None
        workload = self._workload(pod)
        declared = _annotations(pod) | (_annotations(workload) if workload is not None else {})
        if declared.get(f"{pods.ANNOTATIONS}cpu") == UNKNOWN:
            return None
        names = [container["name"] for container in pod["spec"].get("containers", ())]
        sharers = len(names) * _ready_replicas(workload) if ready else 0
        containers = {name: {r: _amount(declared, r, name, sharers) for r in FORMATS} for name in names}
        return PodUsage(timestamp=now, containers=containers)

    def _workload(self, pod: Obj) -> Obj | None:
        """The top-level owner of a pod; None without one."""
        top, reference = None, pods.controller_of(pod)
        while reference is not None:
            place = self._context.index.place(reference["uid"])
            owner = self._context.at(place) if place is not None else None
            if owner is None:
                return top
            top, reference = owner, pods.controller_of(owner)
        return top


def _has_run(pod: Obj, now: datetime) -> bool:
    """Whether the pod has run for the length of one sample."""
    status = pod["status"]
    started = status.get("startTime")
    return status.get("phase") == "Running" and bool(started) and datetime.fromisoformat(started) + WINDOW <= now


def _annotations(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _ready_replicas(workload: Obj | None) -> int:
    # At least 1: the workload's status follows its pods, and a Ready pod may not be counted in it yet.
    ready: int = ((workload or {}).get("status") or {}).get("readyReplicas", 1)
    return max(1, ready)


def _amount(declared: Mapping[str, str], resource: str, container: str, sharers: int) -> int:
    """The amount of the most specific declaration; 0 without one."""
    base = pods.ANNOTATIONS + resource
    own = declared.get(f"{base}.{container}")
    if own is not None:
        return milli(own, field=f"metadata.annotations[{base}.{container}]")
    shared = declared.get(f"{base}-shared")
    if shared is not None:
        return milli(shared, field=f"metadata.annotations[{base}-shared]") // sharers if sharers else 0
    return milli(declared.get(base, "0"), field=f"metadata.annotations[{base}]")


def format_amount(resource: str, amount: int) -> str:
    """Format an amount as metrics.k8s.io does: memory in Ki, Mi ..., rounded up to whole bytes."""
    format = FORMATS[resource]
    return print_milli(-(-amount // 1000) * 1000 if format is QuantityFormat.BINARY else amount, format)
