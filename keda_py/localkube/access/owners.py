"""The check of owner references that protects owners from strangers who would delay or cause deletions.

A reference with blockOwnerDeletion delays its owner's deletion, so it requires the right to update the owner's
finalizers. New owners may cause an object's deletion, so they require the right to delete it. Real API servers check
this if the admission plugin OwnerReferencesPermissionEnforcement is on, as OpenShift's; here it is on with RBAC. Called
before the webhooks.
"""

from typing import Protocol

from keda_py.apis.foreign import maps_at, text_at
from keda_py.localkube.access.rbac import Attributes
from keda_py.localkube.model.calls import Call, RequestTarget
from keda_py.schema.resources import Obj, Registry
from keda_py.schema.status import StatusError, forbidden

_CANNOT_BLOCK = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
)
_CANNOT_DELETE = "cannot set an ownerRef on a resource you can't delete: , <nil>"


class PermissionCheck(Protocol):
    """Authorises one access of a caller."""

    def check(self, call: Call, wanted: Attributes) -> None:
        """Raise StatusError 403 unless a role allows it."""
        ...


class OwnerReferences:
    """Compares an object's owners before and after a write."""

    def __init__(self, registry: Registry, rights: PermissionCheck) -> None:
        self._registry, self._rights = registry, rights

    def check(self, call: Call, target: RequestTarget, old: Obj | None, new: Obj) -> None:
        """Raise StatusError 403 for an owner that the caller may not set."""
        before, after = _owners(old), _owners(new)
        resource, name = target.resource, new["metadata"].get("name", "")
        deletion = Attributes(
            verb="delete", namespace=target.namespace, group=resource.group, resource=resource.plural, name=name
        )
        wanted = [(deletion, _CANNOT_DELETE)] if old is not None and before != after else []
        blocking = [owner for owner in after if owner.get("blockOwnerDeletion") and owner not in before]
        # Only owners that this write adds are checked: a client that sends an object back unchanged needs no new right.
        wanted += [(self._finalizers_of(owner, target.namespace), _CANNOT_BLOCK) for owner in blocking]
        for attributes, problem in wanted:
            try:
                self._rights.check(call, attributes)
            except StatusError:
                raise forbidden(resource.group, resource.plural, name, problem) from None

    def _finalizers_of(self, owner: Obj, namespace: str) -> Attributes:
        group, _, version = text_at(owner, "apiVersion").rpartition("/")
        resource = self._registry.of_kind(group, version, text_at(owner, "kind"))
        return Attributes(
            verb="update",
            namespace=namespace if resource is None or resource.namespaced else "",
            group=group,
            resource=resource.plural if resource is not None else "",
            subresource="finalizers",
            name=text_at(owner, "name"),
        )


def _owners(obj: Obj | None) -> list[Obj]:
    return list(maps_at(obj, "metadata", "ownerReferences"))
