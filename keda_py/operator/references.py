"""Which ScaledObjects and ScaledJobs refer to which (Cluster)TriggerAuthentication: an index for their informers."""

from collections.abc import Iterator

from keda_py.kube.cache import Key
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, Obj
from keda_py.operator.shapes import map_at, maps_at

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
        if isinstance(name := reference.get("name"), str) and name:
            is_cluster_wide = reference.get("kind") == CLUSTER_TRIGGER_AUTHENTICATIONS.kind
            yield ("" if is_cluster_wide else live["metadata"].get("namespace", ""), name)


def index_authentication(live: Obj) -> Iterator[str]:
    """For `BY_AUTHENTICATION`."""
    yield from map(authentication_value, authentication_keys(live))
