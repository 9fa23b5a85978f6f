"""The /scale subresource: converts an object to a Scale, and writes a Scale's replicas back."""

from typing import Any

from keda_py.apis.foreign import map_at, text_at
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import Cause, internal, invalid, not_found, unknown_resource

SCALE = ("autoscaling/v1", "Scale")


def scale_of(resource: Resource, obj: Obj) -> Obj:
    """Build the Scale of an object. Raises StatusError 404 for a resource without one, 500 for an object without a
    count, which only a custom resource may be."""
    scale = scale_to_patch(resource, obj)
    path = resource.scale.spec_replicas if resource.scale is not None else ""
    if _at(obj, path) is None:
        raise internal(f'the spec replicas field "{path}" does not exist')
    return scale


def scale_to_patch(resource: Resource, obj: Obj) -> Obj:
    """Build the Scale that a write changes: 0 stands for a count that is not there. Raises StatusError 404."""
    paths = resource.scale
    if paths is None:
        raise no_scale(resource, obj["metadata"]["name"])
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    metadata = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
    status: Obj = {"replicas": _at(obj, paths.status_replicas) or 0}
    selector = _at(obj, paths.selector) if paths.selector else selector_text(obj.get("spec", {}).get("selector"))
    if selector:
        status["selector"] = selector
    # As by Go's encoder: 0 replicas are left out of spec, and kept in status.
    replicas = _at(obj, paths.spec_replicas)
    head = {"kind": SCALE[1], "apiVersion": SCALE[0], "metadata": metadata}
    return {**head, "spec": {"replicas": replicas} if replicas else {}, "status": status}


def no_scale(resource: Resource, name: str) -> Exception:
    """Build the 404 for a resource without a Scale."""
    return not_found(resource, name) if resource.custom else unknown_resource()


def with_replicas(resource: Resource, obj: Obj, scale: Obj) -> Obj:
    """The object with the Scale's replicas and preconditions. Raises StatusError 422 for a negative count."""
    assert resource.scale is not None
    replicas = map_at(scale, "spec").get("replicas", 0)
    if not isinstance(replicas, int) or replicas < 0:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        cause = Cause(reason="FieldValueInvalid", message=message, field="spec.replicas")
        raise invalid("autoscaling", "Scale", obj["metadata"]["name"], [cause])
    # The Scale's uid and version become preconditions of the write of the object.
    preconditions = {key: sent for key in ("uid", "resourceVersion") if (sent := text_at(scale, "metadata", key))}
    changed = _put(obj, resource.scale.spec_replicas.strip(".").split("."), replicas)
    return {**changed, "metadata": {**obj["metadata"], **preconditions}}


def selector_text(selector: Obj | None) -> str:
    """A LabelSelector in the query form that Scale.status.selector has."""
    selector = selector or {}
    words = {"In": "in", "NotIn": "notin"}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, operator = term["key"], term["operator"]
        if operator in words:
            terms.append(f"{key} {words[operator]} ({','.join(sorted(term.get('values') or ()))})")
        else:
            terms.append(key if operator == "Exists" else f"!{key}")
    return ",".join(sorted(terms))


def _at(obj: Any, path: str) -> Any:
    for key in path.strip(".").split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _put(obj: Obj, path: list[str], value: Any) -> Obj:
    head, *rest = path
    return {**obj, head: _put(obj.get(head) or {}, rest, value) if rest else value}
