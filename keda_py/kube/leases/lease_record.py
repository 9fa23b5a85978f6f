"""Content of a Lease: its holder, since when, and the holder's address. Plain dicts in and out; no I/O.

Next in the flow: `lease.py`, which competes for it. Rule: fields that another client wrote are kept.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from keda_py.apis.foreign import name_of, text_at
from keda_py.errors import Unavailable
from keda_py.kube.resources import LEASES, Obj

ADDRESS_ANNOTATION = "keda-py.dev/serving-address"
# Number of replicas that may be active, and the holder that set it: `3 keda-operator-7d9f`. Absent: only the holder.
# While it is PENDING no other replica is active: a holder that wants another number than the previous one waits
# SLOT_SECONDS, in which replicas that went by the old number notice that, or lose their slots.
SHARDS_ANNOTATION = "keda-py.dev/shards"
PENDING = "pending"
SLOT_SECONDS = 7.0
"""Longest duration of a slot's Lease."""

Marks = Mapping[str, str | None]
"""Annotations to write; None removes one."""
NO_MARKS: Marks = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSpec:
    """Names and times (in seconds) of a Lease. `identity` is the pod's name, so a container restarted in its pod
    leads at once.

    `shards` is how many replicas may be active at once; 0 means the holder alone.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    shards: int = 0

    @property
    def request_seconds(self) -> float:
        """Return the time limit of a request; it also bounds everything that a leader writes."""
        return (self.duration - self.renew_deadline) * 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Holder of the Lease and its address, as "host:port"; `address` is "" if it gave none."""

    identity: str
    address: str


def check_lease(answer: Obj, name: str) -> Obj:
    """Return the answer unchanged. Raises Unavailable if it is not that Lease: a proxy may answer anything."""
    named = answer.get("kind", LEASES.kind) == LEASES.kind and name_of(answer) == name
    whole = bool(text_at(answer, "metadata", "resourceVersion")) and isinstance(answer.get("spec") or {}, dict)
    if not named or not whole:
        text = f"the answer to a request for the lease {name!r} is not that lease; look for a proxy in between"
        raise Unavailable(text)
    return answer


def holder_of(lease: Obj | None) -> Holder | None:
    """Return the holder, None if the Lease is unheld or missing."""
    if lease is None:
        return None
    identity = str((lease.get("spec") or {}).get("holderIdentity") or "")
    address = str((lease["metadata"].get("annotations") or {}).get(ADDRESS_ANNOTATION, ""))
    return Holder(identity=identity, address=address) if identity else None


def shards_of(lease: Obj | None) -> int:
    """Return how many replicas may be active by its current or last holder; 0 means none besides a holder."""
    count, said_by = _mark_of(lease)
    holder = holder_of(lease)
    return int(count) if count.isdigit() and (holder is None or holder.identity == said_by) else 0


def mark_for(lease: Obj | None, spec: LeaseSpec, waited: bool) -> str | None:
    """Return the shards annotation of the next holder, None for none. `waited`: it was PENDING for SLOT_SECONDS."""
    found, _ = _mark_of(lease)
    wanted = str(spec.shards) if spec.shards else ""
    if found and found != wanted and not waited:
        return f"{PENDING} {spec.identity}"
    return f"{wanted} {spec.identity}" if wanted else None


def _mark_of(lease: Obj | None) -> tuple[str, str]:
    text = str((((lease or {}).get("metadata") or {}).get("annotations") or {}).get(SHARDS_ANNOTATION, ""))
    count, _, identity = text.partition(" ")
    return count, identity


def seconds_of(lease: Obj, spec: LeaseSpec) -> float:
    """Return how long the Lease is valid without a renewal, as its holder wrote."""
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or spec.duration)


def is_newer(lease: Obj, than: Obj | None) -> bool:
    """Return whether this is a later version, or a new object of that name; versions grow, as Kubernetes promises."""
    if than is None or lease["metadata"].get("uid") != than["metadata"].get("uid"):
        return True
    return _version(lease) > _version(than)


def held(lease: Obj | None, spec: LeaseSpec, address: str, now: datetime, marks: Marks = NO_MARKS) -> Obj:
    """Return the Lease taken or renewed by us, with these annotations."""
    old = (lease or {}).get("spec") or {}
    again = old.get("holderIdentity") == spec.identity
    time = _wire_time(now)
    fields = {
        "holderIdentity": spec.identity,
        # Rounded up: no other replica may take over before the duration that we count with is over.
        "leaseDurationSeconds": math.ceil(spec.duration),
        "acquireTime": (old.get("acquireTime") if again else None) or time,
        "renewTime": time,
        "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if again or not old else 1),
    }
    return _body(lease, spec, {ADDRESS_ANNOTATION: address, **marks}, fields)


def released(lease: Obj | None, spec: LeaseSpec, now: datetime, marks: Marks = NO_MARKS) -> Obj:
    """Return the Lease given back, or a new one without a holder: free at once for every candidate."""
    time = _wire_time(now)
    transitions = int(((lease or {}).get("spec") or {}).get("leaseTransitions") or 0)
    fields = {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": time,
        "renewTime": time,
        "leaseTransitions": transitions,
    }
    return _body(lease, spec, {ADDRESS_ANNOTATION: "", **marks}, fields)


def _body(lease: Obj | None, spec: LeaseSpec, marks: Marks, fields: Obj) -> Obj:
    metadata = dict((lease or {}).get("metadata") or {"namespace": spec.namespace, "name": spec.name})
    metadata.pop("managedFields", None)
    annotations = {**(metadata.get("annotations") or {}), **marks}
    metadata["annotations"] = {name: text for name, text in annotations.items() if text is not None}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": fields}


def _version(lease: Obj) -> int:
    text = str(lease["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdigit() else 0


def _wire_time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
