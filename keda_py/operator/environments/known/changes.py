"""Which Environments the change of an object is about, and how soon they look for it.

Each look of an Environment is about all objects of its namespace, of which a tenant may have thousands change in a
second. So a change that changes no answer wakes none; and two looks that changes ask for have a pause between them, by
which they take a fifth of a CPU at most, however many Environments the namespace has. What is due by time has no pause.

In: watch events. Out: a `Change`. Next: `kind.py`, which makes Environments due.
"""

from dataclasses import dataclass
from typing import Any

from keda_py.apis.foreign import name_of, namespace_of
from keda_py.kube.resources import Obj
from keda_py.operator.environments.known.caches import MEMBERS
from keda_py.operator.environments.known.owners import Owners

_OBJECT_SECONDS = 20e-6
"""Of CPU, that a look takes at least for each object of the namespace."""
_SHARE = 0.2
"""Of a CPU, for the looks of one namespace that changes ask for."""
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.01, 10.0
_COUNTED = frozenset(resource.kind for resource in MEMBERS)


@dataclass(frozen=True, slots=True)
class Change:
    """What may have another answer: all Environments of a namespace ("": of every one), or those that have `member`.

    `member` is KIND/NAME of a workload whose count alone has changed.
    """

    namespace: str
    member: str = ""


def pause_between(objects: int, environments: int, took: float = 0.0) -> float:
    """Seconds between two looks that changes ask for, in a namespace of so many; 0.0 where they cost very little.

    `took` are the seconds that the last one has reckoned: more on a machine that is short of CPU.
    """
    pause = environments * max(objects * _OBJECT_SECONDS, took) / _SHARE
    return min(pause, _LONGEST_PAUSE_SECONDS) if pause >= _SHORTEST_PAUSE_SECONDS else 0.0


def change_of(old: Obj | None, new: Obj | None) -> Change | None:
    """Of an object of any kind; None if nothing has changed that an Environment asks about."""
    if old is None or new is None or [_said(old), *_marks(old)] != [_said(new), *_marks(new)]:
        return Change(namespace_of(new or old))
    return None


def change_of_member(owners: Owners, old: Obj | None, new: Obj | None) -> Change | None:
    """The same of a workload or ScaledObject, whose labels only matter to selectors."""
    namespace = namespace_of(new or old)
    if old is None or new is None or _is_chosen_otherwise(owners, old, new):
        return Change(namespace)
    if _said(old) == _said(new):
        return None
    going = old["metadata"].get("deletionTimestamp") != new["metadata"].get("deletionTimestamp")
    counted = new["kind"] in _COUNTED and not going
    return Change(namespace, f"{new['kind']}/{name_of(new)}" if counted else "")


def _is_chosen_otherwise(owners: Owners, old: Obj, new: Obj) -> bool:
    """Whether it has changed in what decides which Environment of its namespace has it, and in which wave."""
    (labels, annotations), (labels_now, annotations_now) = _marks(old), _marks(new)
    if labels == labels_now:
        return bool(annotations != annotations_now)
    asked = owners.labels(namespace_of(new))
    before, after = labels or {}, labels_now or {}
    return annotations != annotations_now or any(before.get(key) != after.get(key) for key in asked)


def _marks(live: Obj) -> tuple[Any, ...]:
    meta = live["metadata"]
    return (meta.get("labels"), meta.get("annotations"))


def _said(live: Obj) -> tuple[Any, ...]:
    meta, status = live["metadata"], live.get("status") or {}
    counts = [status.get(name) for name in ("replicas", "readyReplicas", "observedGeneration", "ends")]
    active = [one.get("status") for one in status.get("conditions") or () if one.get("type") == "Active"]
    return (live.get("spec"), counts, active, meta.get("generation"), meta.get("deletionTimestamp"))
