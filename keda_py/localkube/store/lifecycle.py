"""From the object a writer sends to the object that is stored: metadata, generation, finalizers, deletion.

Pure functions on dicts: they build a new object and share what did not change. `store.py` calls them, checks
preconditions and gives the resourceVersion.
"""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime

from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import Cause, bad_request, invalid, precondition_failed

SYSTEM_FIELDS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
NAMESPACES = ("", "namespaces")
_GENERATED = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: generated names spell nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """When, and at which version, an object comes to be."""

    now: datetime
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """What a DELETE may ask: preconditions ("" is none) and what happens to dependents ("" is up to the object)."""

    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    dry_run: bool = False

    def check(self, resource: Resource, obj: Obj) -> None:
        """StatusError 409 unless the object is the one that is meant."""
        metadata = obj["metadata"]
        if self.uid and self.uid != metadata["uid"]:
            raise precondition_failed(resource, metadata["name"], "UID", self.uid, metadata["uid"])
        version = metadata["resourceVersion"]
        if self.resource_version and self.resource_version != version:
            raise precondition_failed(resource, metadata["name"], "ResourceVersion", self.resource_version, version)


def timestamp(moment: datetime) -> str:
    """A metav1.Time: whole seconds, UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_name(obj: Obj) -> Obj:
    """The object with its name: a `generateName` is made whole by five random characters. StatusError 400 without."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        return obj
    prefix = metadata.get("generateName")
    if not prefix:
        raise bad_request("name or generateName is required")
    # What is not text stays as it is: the check of types says so.
    return {**obj, "metadata": {**metadata, "name": generated_name(prefix)}} if isinstance(prefix, str) else obj


def generated_name(prefix: str) -> str:
    """A `generateName` made whole."""
    return prefix + "".join(secrets.choice(_GENERATED) for _ in range(5))


def created(resource: Resource, obj: Obj, creation: Creation) -> Obj:
    """The new object; the writer's uid, version and status of a kind with a status subresource do not count."""
    metadata = _metadata_of(with_name(obj))
    metadata["uid"] = str(uuid.uuid4())
    metadata["resourceVersion"] = str(creation.revision)
    metadata["creationTimestamp"] = timestamp(creation.now)
    if resource.has_generation:
        metadata["generation"] = 1
    return {**_typed(resource, obj), "metadata": metadata}


def updated(resource: Resource, old: Obj, obj: Obj, subresource: str) -> Obj:
    """The object after a write, or `old` itself when nothing changed."""
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
    if new == old:
        return old
    _check_finalizers(resource, old, new)
    if resource.has_generation and _raises_generation(resource, old, new) and subresource != "status":
        new["metadata"]["generation"] = was.get("generation", 0) + 1
    return new


def marked_deleted(resource: Resource, old: Obj, options: DeleteOptions, now: datetime) -> Obj:
    """The object after a DELETE: without deletionTimestamp it is gone, `old` itself was on its way already."""
    if resource.key == NAMESPACES:
        return _deleted_namespace(old, now)
    finalizers = _finalizers_of(old["metadata"].get("finalizers") or [], options.propagation)
    metadata = {**old["metadata"]}
    if not finalizers:
        metadata.pop("deletionTimestamp", None)
        return {**old, "metadata": metadata}
    if "deletionTimestamp" in metadata and finalizers == metadata.get("finalizers"):
        return old
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    metadata.setdefault("deletionTimestamp", timestamp(now))
    metadata["deletionGracePeriodSeconds"] = 0
    metadata["finalizers"] = finalizers
    return {**old, "metadata": metadata}


def _metadata_of(obj: Obj) -> Obj:
    """The writer's own metadata; what is empty is as good as absent."""
    return {k: v for k, v in obj["metadata"].items() if k not in SYSTEM_FIELDS and v not in (None, "", [], {})}


def _typed(resource: Resource, obj: Obj) -> Obj:
    """Stored objects say what they are; another version's view was converted by its writer."""
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
    """What a write to a subresource may change: its own part, and for built-in kinds some metadata."""
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
    """Whether the generation grows: for anything but metadata and status, and for a Deployment's annotations."""
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
