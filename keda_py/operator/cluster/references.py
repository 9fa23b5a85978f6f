"""Which ScaledObjects and ScaledJobs refer to which (Cluster)TriggerAuthentication: an index for their informers."""

from collections.abc import Iterator

from keda_py.apis.foreign import map_at, maps_at, namespace_of, text_at
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, TRIGGER_AUTHENTICATIONS, Obj

BY_AUTHENTICATION = "authentication"
"""Index of ScaledObjects by `authentication_value`."""


def authentication_value(key: ObjectKey) -> str:
    """A (Cluster)TriggerAuthentication as an index value."""
    return str(key)


def authentication_keys(live: Obj) -> Iterator[ObjectKey]:
    """The authentications that a ScaledObject or ScaledJob refers to; none once it is being deleted."""
    if live["metadata"].get("deletionTimestamp"):
        return
    for trigger in maps_at(live, "spec", "triggers"):
        reference = map_at(trigger, "authenticationRef")
        if name := text_at(reference, "name"):
            if reference.get("kind") == CLUSTER_TRIGGER_AUTHENTICATIONS.kind:
                yield ObjectKey(CLUSTER_TRIGGER_AUTHENTICATIONS.kind, "", name)
            else:
                yield ObjectKey(TRIGGER_AUTHENTICATIONS.kind, namespace_of(live), name)


def index_authentication(live: Obj) -> Iterator[str]:
    """Index values of the authentications that an object's triggers name (`BY_AUTHENTICATION`)."""
    yield from map(authentication_value, authentication_keys(live))
