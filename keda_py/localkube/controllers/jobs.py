"""Jobs: pods are started until enough of them have succeeded, or too many have failed.

A pod's run is declared: it lasts `local.keda-py.dev/run-seconds` and ends with `exit-code` (`kubelet.py`).
"""

from collections.abc import Iterable, Sequence

from keda_py.localkube.controllers.replicasets import owner_keys
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import PODS
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.model.conditions import is_true, with_condition
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

JOBS = ("batch", "jobs")
SOURCE = "job-controller"
BACKOFF_LIMIT = 6


class Jobs:
    """Maintains the pods of each Job."""

    storages = (JOBS, PODS)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._jobs = context.resource("batch/v1", "Job")
        self._pods = context.resource("v1", "Pod")

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Map a pod's event to the Job that owns it."""
        if event.resource.key == PODS:
            return owner_keys(event, "Job")
        return () if event.type == DELETED else ((event.namespace, event.name),)

    def sync(self, key: Key) -> None:
        """Start missing pods, then write the status; a finished Job is left as it is."""
        job = self._context.store.find(self._jobs, *key)
        if job is None or "deletionTimestamp" in job["metadata"] or _is_over(job):
            return
        members = self._members(job)
        # Pods of a Job that has just ended are counted once more, but none is started.
        missing = 0 if _end_condition(job, members) or job["spec"].get("suspend") else _missing(job, members)
        members += [self._start(job) for _ in range(missing)]
        self._context.set_status(self._jobs, job, _status(job, members, self._context.now()))

    def _members(self, job: Obj) -> list[Obj]:
        places = self._context.index.dependents(job["metadata"]["uid"])
        found = (self._context.at(place) for place in places if place.resource.key == PODS)
        return [pod for pod in found if pod is not None]

    def _start(self, job: Obj) -> Obj:
        labels = {"batch.kubernetes.io/job-name": job["metadata"]["name"], "job-name": job["metadata"]["name"]}
        pod = self._context.store.create(self._pods, pods.new_pod(job, labels=labels))
        message = f"Created pod: {pod['metadata']['name']}"
        self._context.events.record(job, EventText(reason="SuccessfulCreate", message=message, source=SOURCE))
        return pod


def _phase_count(members: Sequence[Obj], phase: str) -> int:
    return sum(1 for pod in members if pod["status"].get("phase") == phase)


def _is_over(job: Obj) -> bool:
    conditions = (job.get("status") or {}).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def _missing(job: Obj, members: Sequence[Obj]) -> int:
    """The number of pods to start: at most `parallelism` at once, and no more than are still needed."""
    active = sum(1 for pod in members if pods.is_active(pod))
    needed = job["spec"].get("completions", 1) - _phase_count(members, "Succeeded")
    wanted: int = min(job["spec"].get("parallelism", 1), needed)
    return max(0, wanted - active)


def _end_condition(job: Obj, members: Sequence[Obj]) -> Obj | None:
    """The condition that finishes the Job; None while it runs."""
    if _phase_count(members, "Succeeded") >= job["spec"].get("completions", 1):
        message = "Reached expected number of succeeded pods"
        return {"type": "Complete", "status": "True", "reason": "CompletionsReached", "message": message}
    if _phase_count(members, "Failed") > job["spec"].get("backoffLimit", BACKOFF_LIMIT):
        message = "Job has reached the specified backoff limit"
        return {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": message}
    return None


def _status(job: Obj, members: Sequence[Obj], now: str) -> Obj:
    before = job.get("status") or {}
    counts = {
        "active": sum(1 for pod in members if pods.is_active(pod)),
        "succeeded": _phase_count(members, "Succeeded"),
        "failed": _phase_count(members, "Failed"),
        "ready": sum(1 for pod in members if pods.is_active(pod) and pods.is_ready(pod)),
    }
    status: Obj = {"startTime": before.get("startTime", now)}
    status |= {name: count for name, count in counts.items() if count or name == "ready"}
    end = _end_condition(job, members)
    if end is None:
        return status
    if end["type"] == "Complete":
        status["completionTime"] = now
    return {**status, "conditions": with_condition(before.get("conditions"), end, now)}
