"""Fields of a stored ScaledObject that concern its workload."""

from datetime import datetime

from keda_py.apis.foreign import map_at, text_at, texts_at
from keda_py.core.values.own_annotations import is_stopped
from keda_py.kube.resources import Obj


def is_going(live: Obj) -> bool:
    """Whether the object has a deletionTimestamp."""
    return bool(live["metadata"].get("deletionTimestamp"))


def workload_of(scaled_object: Obj) -> str:
    """The target of a ScaledObject as apiVersion/KIND/NAME."""
    reference = map_at(scaled_object, "spec", "scaleTargetRef")
    api_version, kind = text_at(reference, "apiVersion") or "apps/v1", text_at(reference, "kind") or "Deployment"
    return f"{api_version}/{kind}/{text_at(reference, 'name')}"


def paused_by_owner(scaled_object: Obj, now: datetime) -> bool:
    """Whether its own annotations pause it at `now`."""
    return is_stopped(texts_at(scaled_object, "metadata", "annotations"), now)
