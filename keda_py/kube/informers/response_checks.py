"""Checks of what an API server sent: proxies and half-started servers may answer with anything.

`reflector.py` applies them before anything reaches a cache, whose readers rely on these few fields.
"""

from collections.abc import Callable
from typing import Any

from keda_py.errors import Unavailable
from keda_py.kube.resources import Obj, Resource

_MAPS = ("spec", "status")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _are_owners(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text_map(_identity(owner)) for owner in value)


def _identity(owner: Any) -> Any:
    """Return the fields of an owner reference that are read: kind, name and uid."""
    return {name: owner.get(name) for name in ("kind", "name", "uid")} if isinstance(owner, dict) else None


_OPTIONAL: dict[str, Callable[[Any], bool]] = {
    "namespace": _is_text,
    "creationTimestamp": _is_text,
    "deletionTimestamp": _is_text,
    "generation": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "labels": _is_text_map,
    "annotations": _is_text_map,
    "ownerReferences": _are_owners,
    "finalizers": lambda value: isinstance(value, list) and all(map(_is_text, value)),
}
"""Checks of the other fields of metadata that are read; a missing or null field passes."""


def check_object(obj: Any, resource: Resource) -> Obj:
    """Return `obj` unchanged. Raises Unavailable if its identity is missing or its metadata has wrong types."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        raise Unavailable(f"an object of {resource.plural} came without metadata")
    # Without these an object cannot be indexed, watched from or patched safely.
    needed = ("name", "uid", "resourceVersion", *(("namespace",) if resource.namespaced else ()))
    for name in needed:
        if not metadata.get(name) or not isinstance(metadata[name], str):
            raise Unavailable(f"an object of {resource.plural} came without metadata.{name}")
    for name, fits in _OPTIONAL.items():
        if metadata.get(name) is not None and not fits(metadata[name]):
            raise Unavailable(f"an object of {resource.plural} came with a metadata.{name} of the wrong type")
    for name in _MAPS:
        if not isinstance(obj.get(name) or {}, dict):
            raise Unavailable(f"an object of {resource.plural} came with a {name} that is not a map")
    found: Obj = obj
    return found


def items_of(answer: Obj, resource: Resource) -> list[Obj]:
    """Return the objects of one page of a list. Raises Unavailable for any other answer: it is not an empty cluster."""
    items = answer.get("items", "absent")
    if not str(answer.get("kind", "")).endswith("List") or not isinstance(items, list | None):
        raise Unavailable(f"the answer to a list of {resource.plural} is not a list")
    return [check_object(item, resource) for item in items or ()]


def version_of(obj: Obj) -> str:
    """Return metadata.resourceVersion of an object or a list. Raises Unavailable if missing."""
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not version:
        raise Unavailable("an answer without metadata.resourceVersion cannot be watched from")
    return str(version)
