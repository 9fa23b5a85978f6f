"""The life of a pod as pure functions: created from a template, started on the only node, Ready after its start-up
time.

Pods execute nothing. Annotations of the pod template declare what they would do, all under `local.keda-py.dev/`:
`startup-seconds` (until Ready, default 1), `run-seconds` and `exit-code` (pods of Jobs), and the usage that
`keda_py/localkube/controllers/shared/usage.py` reads. `kubelet.py` and the workload controllers call this file.
"""

import hashlib
from collections.abc import Sequence

import orjson

from keda_py.errors import ConfigError
from keda_py.localkube.model.conditions import find, is_true, with_condition
from keda_py.localkube.store.lifecycle import generated_name
from keda_py.schema.resources import Obj

ANNOTATIONS = "local.keda-py.dev/"
STARTUP_SECONDS = 1.0
RUN_SECONDS = 1.0
NODE = "local"
NODE_ADDRESS = "127.0.0.1"
BOUND = {"nodeName": NODE}
"""The part of a pod's spec that binding sets."""

# Kubernetes, too, leaves out vowels and characters that look alike: a hash should spell no words.
_SAFE = "bcdfghjklmnpqrstvwxz2456789"


def owner_reference(owner: Obj) -> Obj:
    """Build the reference that makes `owner` the controller of its dependent."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    return {**reference, "uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}


def controller_of(obj: Obj) -> Obj | None:
    """The reference to the object's controller; None without one."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def adopted(obj: Obj, owner: Obj) -> Obj:
    """The object with `owner` as its controller."""
    references = [*(obj["metadata"].get("ownerReferences") or ()), owner_reference(owner)]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}


def template_hash(template: Obj) -> str:
    """Digest a template to ten characters: pods of equal templates belong to one revision."""
    # Sorted keys: the same template must have the same hash in whatever order a client sends its fields.
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_SAFE[byte % len(_SAFE)] for byte in digest[:10])


def new_pod(owner: Obj, *, name: str = "", labels: Obj | None = None, spec: Obj | None = None) -> Obj:
    """Build a pod from the owner's template, with extra `labels` and `spec`; name "" becomes `OWNER-xxxxx`."""
    template = owner["spec"]["template"]
    meta = template.get("metadata") or {}
    metadata: Obj = {
        "name": name or generated_name(f"{owner['metadata']['name']}-"),
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(meta.get("labels") or {}), **(labels or {})},
        "ownerReferences": [owner_reference(owner)],
    }
    if not name:
        metadata["generateName"] = f"{owner['metadata']['name']}-"
    if meta.get("annotations"):
        metadata["annotations"] = meta["annotations"]
    whole = {"serviceAccountName": "default", **template.get("spec", {}), **BOUND, **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole, "status": {"phase": "Pending"}}


def seconds_declared(pod: Obj, name: str, default: float) -> float:
    """Read one of our annotations as seconds. Raises ConfigError for an invalid duration."""
    text = (pod["metadata"].get("annotations") or {}).get(ANNOTATIONS + name)
    try:
        seconds = default if text is None else float(text)
        if not 0 <= seconds < float("inf"):
            raise ValueError
    except ValueError:
        field = f"metadata.annotations[{ANNOTATIONS}{name}]"
        raise ConfigError(f'{field}: {text!r} is not a duration; write seconds, such as "2.5"', field=field) from None
    return seconds


def running_status(pod: Obj, now: str) -> Obj:
    """The status of a pod whose containers run and are not Ready yet."""
    containers = pod["spec"].get("containers", ())
    done = ("PodReadyToStartContainers", "Initialized", "PodScheduled")
    conditions: list[Obj] = []
    for kind in (*done, "ContainersReady", "Ready"):
        conditions = with_condition(conditions, {"type": kind, "status": "True" if kind in done else "False"}, now)
    return {
        "phase": "Running",
        "conditions": conditions,
        "hostIP": NODE_ADDRESS,
        "hostIPs": [{"ip": NODE_ADDRESS}],
        "podIP": NODE_ADDRESS,
        "podIPs": [{"ip": NODE_ADDRESS}],
        "startTime": now,
        "containerStatuses": [_container_status(container, now) for container in containers],
        "qosClass": "Burstable" if any(container.get("resources") for container in containers) else "BestEffort",
    }


def made_ready(pod: Obj, now: str) -> Obj:
    """The pod with all containers Ready."""
    return _with_readiness(pod, ready=True, now=now)


def finished(pod: Obj, now: str, exit_code: int) -> Obj:
    """The pod after its containers have exited."""
    ended = _with_readiness(pod, ready=False, now=now)
    reason = "Completed" if exit_code == 0 else "Error"
    containers = [
        {**c, "started": False, "state": {"terminated": _terminated(c, now, exit_code, reason)}}
        for c in ended["status"]["containerStatuses"]
    ]
    phase = "Succeeded" if exit_code == 0 else "Failed"
    return {**ended, "status": {**ended["status"], "phase": phase, "containerStatuses": containers}}


def is_active(pod: Obj) -> bool:
    """Whether the pod counts for its owner: neither finished nor being deleted."""
    return pod["status"].get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Obj) -> bool:
    """Whether the pod's Ready condition is True."""
    return is_true(pod["status"].get("conditions"), "Ready")


def ready_since(pod: Obj) -> str | None:
    """The time of the Ready condition's last change, in the API's format."""
    condition = find(pod["status"].get("conditions"), "Ready")
    return condition["lastTransitionTime"] if condition is not None else None


def first_to_go(pods: Sequence[Obj]) -> list[Obj]:
    """Sort surplus pods for deletion: those that are not Ready first, then the youngest."""
    by_age = sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
    return sorted(by_age, key=is_ready)


def _with_readiness(pod: Obj, *, ready: bool, now: str) -> Obj:
    status, text = pod["status"], "True" if ready else "False"
    conditions = status["conditions"]
    for kind in ("ContainersReady", "Ready"):
        conditions = with_condition(conditions, {"type": kind, "status": text}, now)
    containers = [{**container, "ready": ready} for container in status["containerStatuses"]]
    return {**pod, "status": {**status, "conditions": conditions, "containerStatuses": containers}}


def _container_status(container: Obj, now: str) -> Obj:
    image = container.get("image", "")
    state = {"state": {"running": {"startedAt": now}}, "lastState": {}, "ready": False, "restartCount": 0}
    return {"name": container["name"], **state, "image": image, "imageID": image, "started": True}


def _terminated(container: Obj, now: str, exit_code: int, reason: str) -> Obj:
    since = container["state"].get("running", {}).get("startedAt", now)
    return {"exitCode": exit_code, "reason": reason, "startedAt": since, "finishedAt": now}
