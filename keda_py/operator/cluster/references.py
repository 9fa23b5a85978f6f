"""Which ScaledObjects and ScaledJobs refer to which (Cluster)TriggerAuthentication: an index for their informers."""

from collections.abc import Iterator

from keda_py.apis.foreign import map_at, maps_at, namespace_of, text_at
from keda_py.kube.informers.cache import Key
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, Obj

BY_AUTHENTICATION = "authentication"
"""Index of ScaledObjects by `authentication_value`."""


def authentication_value(key: Key) -> str:
    """A (Cluster)TriggerAuthentication as an index value; its namespace is "" for the cluster-wide kind."""
    return "/".join(key)


def authentication_keys(live: Obj) -> Iterator[Key]:
    """The authentications that a ScaledObject or ScaledJob refers to; none once it is being deleted."""
    if live["metadata"].get("deletionTimestamp"):
        return
    for trigger in maps_at(live, "spec", "triggers"):
        reference = map_at(trigger, "authenticationRef")
        if name := text_at(reference, "name"):
            is_cluster_wide = reference.get("kind") == CLUSTER_TRIGGER_AUTHENTICATIONS.kind
            yield ("" if is_cluster_wide else namespace_of(live), name)


def index_authentication(live: Obj) -> Iterator[str]:
    """For `BY_AUTHENTICATION`."""
    yield from map(authentication_value, authentication_keys(live))
