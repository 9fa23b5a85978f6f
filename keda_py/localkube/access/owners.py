"""Who may name an owner: the check of a cluster that protects owners from being held back by strangers.

A reference with blockOwnerDeletion delays its owner's deletion, so it takes the right to change the owner's finalizers;
new owners may have an object deleted, so they take the right to delete it. Real API servers do this where the admission
plugin OwnerReferencesPermissionEnforcement is on, as OpenShift's; here it goes with RBAC. Called before the webhooks.
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
    """May this caller do that?"""

    def check(self, call: Call, wanted: Attributes) -> None:
        """StatusError 403 unless a role allows it."""
        ...


class OwnerReferences:
    """Compares the owners that an object has with those that a write gives it."""

    def __init__(self, registry: Registry, rights: PermissionCheck) -> None:
        self._registry, self._rights = registry, rights

    def check(self, call: Call, target: RequestTarget, old: Obj | None, new: Obj) -> None:
        """StatusError 403 for an owner that the caller may not name."""
        before, after = _owners(old), _owners(new)
        resource, name = target.resource, new["metadata"].get("name", "")
        deletion = Attributes(
            verb="delete", namespace=target.namespace, group=resource.group, resource=resource.plural, name=name
        )
        wanted = [(deletion, _CANNOT_DELETE)] if old is not None and before != after else []
        blocking = [owner for owner in after if owner.get("blockOwnerDeletion") and owner not in before]
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
