"""Conditions as all Kubernetes controllers keep them: found by type, with the time of the last change of status."""

from collections.abc import Sequence

from keda_py.schema.resources import Obj


def find(conditions: Sequence[Obj] | None, kind: str) -> Obj | None:
    """The condition of a type, or None."""
    return next((condition for condition in conditions or () if condition["type"] == kind), None)


def is_true(conditions: Sequence[Obj] | None, kind: str) -> bool:
    """Whether a condition exists and is True."""
    found = find(conditions, kind)
    return found is not None and found["status"] == "True"


def with_condition(conditions: Sequence[Obj] | None, new: Obj, now: str) -> list[Obj]:
    """Replace or append a condition; lastTransitionTime changes only with the status."""
    old = find(conditions, new["type"])
    since = old["lastTransitionTime"] if old is not None and old["status"] == new["status"] else now
    fresh = {"type": new["type"], "status": new["status"], "lastTransitionTime": since, **new}
    if old is None:
        return [*(conditions or ()), fresh]
    return [fresh if condition is old else condition for condition in conditions or ()]
