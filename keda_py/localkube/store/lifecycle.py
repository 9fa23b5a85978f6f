"""The life of an object: metadata, generation, finalizers and deletion on each write.

Pure functions on dicts: they build a new object and share what did not change. `store.py` calls them, checks
preconditions and assigns the resourceVersion.
"""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime

from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import Cause, bad_request, invalid, precondition_failed

SYSTEM_FIELDS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
NAMESPACES = ("", "namespaces")
_GENERATED = "bcdfghjklmnpqrstvwxz2456789"  # without vowels, so that generated names spell no words


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """The time and version of a creation."""

    now: datetime
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """The options of a DELETE: preconditions ("" for none) and the policy for dependents ("" for the object's own)."""

    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    dry_run: bool = False

    def check(self, resource: Resource, obj: Obj) -> None:
        """Raise StatusError 409 if a precondition does not hold."""
        metadata = obj["metadata"]
        if self.uid and self.uid != metadata["uid"]:
            raise precondition_failed(resource, metadata["name"], "UID", self.uid, metadata["uid"])
        version = metadata["resourceVersion"]
        if self.resource_version and self.resource_version != version:
            raise precondition_failed(resource, metadata["name"], "ResourceVersion", self.resource_version, version)


def timestamp(moment: datetime) -> str:
    """Format a metav1.Time: whole seconds, UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_name(obj: Obj) -> Obj:
    """Complete a `generateName` with five random characters. Raises StatusError 400 for an object without any name."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        return obj
    prefix = metadata.get("generateName")
    if not prefix:
        raise bad_request("name or generateName is required")
    # A value of another type stays: the check of types refuses it later, in the server's words.
    return {**obj, "metadata": {**metadata, "name": generated_name(prefix)}} if isinstance(prefix, str) else obj


def generated_name(prefix: str) -> str:
    """Append five random characters to a prefix."""
    return prefix + "".join(secrets.choice(_GENERATED) for _ in range(5))


def created(resource: Resource, obj: Obj, creation: Creation) -> Obj:
    """The new object with uid, version and time of creation; those that the writer sent are ignored."""
    metadata = _metadata_of(with_name(obj))
    metadata["uid"] = str(uuid.uuid4())
    metadata["resourceVersion"] = str(creation.revision)
    metadata["creationTimestamp"] = timestamp(creation.now)
    if resource.has_generation:
        metadata["generation"] = 1
    return {**_typed(resource, obj), "metadata": metadata}


def updated(resource: Resource, old: Obj, obj: Obj, subresource: str) -> Obj:
    """The object after a write; `old` itself if nothing changed."""
    was = old["metadata"]
    kept = {key: was[key] for key in SYSTEM_FIELDS if key in was}
    new = {
        **_typed(resource, obj),
        "metadata": {**_metadata_of(obj), **kept, "resourceVersion": was["resourceVersion"]},
    }
    if subresource:
        new = _allowed_change(resource, old, new, subresource)
    elif "status" in resource.subresources:
        new = _with(new, "status", old.get("status"))
    # Identity, not equality, tells `store.update` that there is nothing to write.
    if new == old:
        return old
    _check_finalizers(resource, old, new)
    if resource.has_generation and _raises_generation(resource, old, new) and subresource != "status":
        new["metadata"]["generation"] = was.get("generation", 0) + 1
    return new


def mark_deleted(resource: Resource, old: Obj, options: DeleteOptions, now: datetime) -> Obj:
    """The object after a DELETE: gone if it has no deletionTimestamp, `old` itself if it was being deleted already."""
    if resource.key == NAMESPACES:
        return _deleted_namespace(old, now)
    finalizers = _finalizers_of(old["metadata"].get("finalizers") or [], options.propagation)
    metadata = {**old["metadata"]}
    if not finalizers:
        metadata.pop("deletionTimestamp", None)
        return {**old, "metadata": metadata}
    if "deletionTimestamp" in metadata and finalizers == metadata.get("finalizers"):
        return old
    # As in the real server, the generation grows: controllers that compare it with observedGeneration see the deletion.
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    metadata.setdefault("deletionTimestamp", timestamp(now))
    metadata["deletionGracePeriodSeconds"] = 0
    metadata["finalizers"] = finalizers
    return {**old, "metadata": metadata}


def _metadata_of(obj: Obj) -> Obj:
    """The metadata that a writer may set; empty values count as absent."""
    return {k: v for k, v in obj["metadata"].items() if k not in SYSTEM_FIELDS and v not in (None, "", [], {})}


def _typed(resource: Resource, obj: Obj) -> Obj:
    """Set apiVersion and kind; another version's view has been converted already."""
    return obj if resource.storage else {**obj, "apiVersion": resource.api_version, "kind": resource.kind}


def _deleted_namespace(old: Obj, now: datetime) -> Obj:
    if "deletionTimestamp" in old["metadata"]:
        return old
    metadata = {**old["metadata"], "deletionTimestamp": timestamp(now)}
    return {**old, "metadata": metadata, "status": {**old.get("status", {}), "phase": "Terminating"}}


def _finalizers_of(finalizers: list[str], propagation: str) -> list[str]:
    if not propagation:
        return finalizers
    wanted = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(propagation)
    others = [name for name in finalizers if name not in ("foregroundDeletion", "orphan")]
    return [*others, wanted] if wanted else others


def _allowed_change(resource: Resource, old: Obj, new: Obj, subresource: str) -> Obj:
    """Limit a write to its subresource: to its own part and, for built-in kinds, the annotations."""
    if subresource == "finalize":
        spec = {**old.get("spec", {}), "finalizers": new.get("spec", {}).get("finalizers") or []}
        return {**old, "metadata": {**old["metadata"]}, "spec": spec}
    if subresource != "status":
        return new
    metadata = {**old["metadata"]}
    if not resource.custom and "annotations" in new["metadata"]:
        metadata["annotations"] = new["metadata"]["annotations"]
    return _with({**old, "metadata": metadata}, "status", new.get("status"))


def _with(obj: Obj, key: str, value: object) -> Obj:
    rest = {k: v for k, v in obj.items() if k != key}
    return rest if value is None else {**rest, key: value}


def _raises_generation(resource: Resource, old: Obj, new: Obj) -> bool:
    """Whether the generation grows: on any change besides metadata and status, and of a Deployment's annotations."""
    if resource.kind == "Deployment" and old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        return True
    apart = ("metadata", "status", "apiVersion", "kind")
    return {k: v for k, v in old.items() if k not in apart} != {k: v for k, v in new.items() if k not in apart}


def _check_finalizers(resource: Resource, old: Obj, new: Obj) -> None:
    if "deletionTimestamp" not in old["metadata"]:
        return
    known = old["metadata"].get("finalizers") or []
    added = [name for name in new["metadata"].get("finalizers") or [] if name not in known]
    if added:
        listed = ", ".join(f'"{name}"' for name in added)
        message = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{listed}}}"
        )
        cause = Cause(reason="FieldValueForbidden", message=message, field="metadata.finalizers")
        raise invalid(resource.group, resource.kind, new["metadata"]["name"], [cause])
