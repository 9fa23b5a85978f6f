"""The Environments that a changed object affects, and how soon they look again.

Each look of an Environment reads all objects of its namespace, and a tenant may change thousands of them in a second.
So a change that cannot change a decision wakes no Environment, and looks that are caused by changes keep a pause that
limits them to a fifth of a CPU, however many Environments the namespace has. Looks that are due by time have no pause.

In: watch events. Out: a `DueEnvironments`. Next: `kind.py`, which makes Environments due.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keda_py.apis.foreign import map_at, name_of, namespace_of
from keda_py.kube.resources import Obj
from keda_py.operator.environments.known.caches import MEMBERS
from keda_py.operator.environments.known.further_kinds import FINGERPRINT
from keda_py.operator.environments.known.owners import Owners

_OBJECT_SECONDS = 20e-6
"""CPU seconds that a look takes at least for each object of the namespace."""
_SHARE = 0.2
"""Share of a CPU for the looks of one namespace that are caused by changes."""
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.01, 10.0
_COUNTED = frozenset(resource.kind for resource in MEMBERS)


@dataclass(frozen=True, slots=True)
class DueEnvironments:
    """Environments that may decide otherwise now: all of a namespace ("": all of the cluster), or those that have
    `member`.

    `member` is KIND/NAME of a workload of which only the count has changed.
    """

    namespace: str
    member: str = ""


def pause_between(objects: int, environments: int, took: float = 0.0) -> float:
    """Seconds between two looks caused by changes in a namespace of that size; 0.0 if the looks cost very little.

    `took` is how long the last look computed: longer than estimated on a machine that is short of CPU.
    """
    pause = environments * max(objects * _OBJECT_SECONDS, took) / _SHARE
    return min(pause, _LONGEST_PAUSE_SECONDS) if pause >= _SHORTEST_PAUSE_SECONDS else 0.0


def change_of(old: Obj | None, new: Obj | None) -> DueEnvironments | None:
    """The change of any object; None if no Environment depends on what has changed."""
    if old is None or new is None or [_relevant_fields(old), *_marks(old)] != [_relevant_fields(new), *_marks(new)]:
        return DueEnvironments(namespace_of(new or old))
    return None


def change_of_member(owners: Owners, old: Obj | None, new: Obj | None) -> DueEnvironments | None:
    """The change of a workload or ScaledObject; its labels matter only to selectors."""
    namespace = namespace_of(new or old)
    if old is None or new is None or _is_chosen_otherwise(owners, old, new):
        return DueEnvironments(namespace)
    if _relevant_fields(old) == _relevant_fields(new):
        return None
    going = old["metadata"].get("deletionTimestamp") != new["metadata"].get("deletionTimestamp")
    counted = new["kind"] in _COUNTED and not going
    return DueEnvironments(namespace, f"{new['kind']}/{name_of(new)}" if counted else "")


def change_of_environment(acts: Callable[[], bool], old: Obj | None, new: Obj | None) -> DueEnvironments | None:
    """The change of another Environment's spec, of the members that it remembers, or, where this replica does not act
    but follows, of any stored status.
    """
    is_other = old is None or new is None or old.get("spec") != new.get("spec") or _remembered(old) - _remembered(new)
    if is_other or (not acts() and map_at(old, "status") != map_at(new, "status")):
        return DueEnvironments(namespace_of(new or old))
    return None


def _remembered(live: Obj) -> set[str]:
    """The keys of members whose counts a stored status remembers."""
    return set(map_at(live, "status", "members"))


def _is_chosen_otherwise(owners: Owners, old: Obj, new: Obj) -> bool:
    """Whether labels or annotations have changed that decide the object's Environment or its wave."""
    (labels, annotations), (labels_now, annotations_now) = _marks(old), _marks(new)
    if labels == labels_now:
        return bool(annotations != annotations_now)
    asked = owners.labels(namespace_of(new))
    before, after = labels or {}, labels_now or {}
    return annotations != annotations_now or any(before.get(key) != after.get(key) for key in asked)


def _marks(live: Obj) -> tuple[Any, ...]:
    meta = live["metadata"]
    return (meta.get("labels"), meta.get("annotations"))


def _relevant_fields(live: Obj) -> tuple[Any, ...]:
    meta, status = live["metadata"], live.get("status") or {}
    counts = [status.get(name) for name in ("replicas", "readyReplicas", "observedGeneration", "ends")]
    active = [one.get("status") for one in status.get("conditions") or () if one.get("type") == "Active"]
    generation, fingerprint = meta.get("generation"), live.get(FINGERPRINT)
    return (live.get("spec"), counts, active, generation, fingerprint, meta.get("deletionTimestamp"))
