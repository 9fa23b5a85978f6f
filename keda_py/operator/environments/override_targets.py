"""The target of an Override: an Environment, a member of one, or a ScaledObject outside of any.

A Deployment or StatefulSet outside of any Environment cannot be overridden, since nothing would remember its count. The
exception are workloads that annotations of py-kube-downscaler put down, as those remember it (`allow`). The operator's
own workload cannot be overridden either: nothing would wake it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.apis.foreign import name_of
from keda_py.clock import Clock
from keda_py.core.environment.overrides import TargetKey
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import DEPLOYMENTS, ENVIRONMENTS, SCALED_OBJECTS, STATEFUL_SETS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, Caches, target_key
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.known.targets import paused_by_owner, workload_of

Remembers = Callable[[str, TargetKey], bool]
"""Whether the count of a workload, given its namespace, is remembered elsewhere."""
_WORKLOADS = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS)}


@dataclass(frozen=True, slots=True)
class OverriddenTarget:
    """`live` is the object for Events; `alone` is a ScaledObject that no Environment owns.

    `annotated`: annotations remember the count; they know only (original replicas, downscaled replicas).
    """

    live: Obj
    alone: ObjectKey | None = None
    annotated: bool = False


class OverrideTargets:
    """Finds the targets of Overrides in caches."""

    def __init__(self, caches: EnvironmentCaches, cluster: Caches, owners: Owners, clock: Clock) -> None:
        self._caches, self._cluster, self._owners, self._clock = caches, cluster, owners, clock
        self._remembers: Remembers = lambda namespace, target: False

    def allow(self, remembers: Remembers) -> None:
        """Accept workloads outside of Environments for which `remembers` is true."""
        self._remembers = remembers

    def find(self, namespace: str, target: TargetKey) -> OverriddenTarget:
        """Find the target. Raises ConfigError if an Override of it could have no effect."""
        if target.kind == ENVIRONMENTS.kind:
            return OverriddenTarget(self._existing(target, self._caches.environments.get(namespace, target.name)))
        if target.kind == SCALED_OBJECTS.kind:
            return self._scaled_object(target, self._cluster.scaled_objects.get(namespace, target.name))
        resource = _WORKLOADS[target.kind]
        index = target_key(namespace, resource.api_version, resource.kind, target.name)
        for scaled_object in self._cluster.scaled_objects.by_index(BY_TARGET, index):
            if not paused_by_owner(scaled_object, self._clock.now()):
                return self._scaled_object(target, scaled_object)
        live = self._existing(target, self._cluster.workloads[resource.plural].get(namespace, target.name))
        member = self._caches.members[resource.kind].get(namespace, target.name)
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **live}
        self._refuse_own(target, whole)
        if member is None or not self._owners.of(member):
            if self._remembers(namespace, target):
                return OverriddenTarget(whole, annotated=True)
            raise _error(
                f"{_named(target)} is in no Environment, and nothing else would remember its count; "
                "create an Environment, or a ScaledObject for it"
            )
        return OverriddenTarget(whole)

    def _scaled_object(self, target: TargetKey, found: Obj | None) -> OverriddenTarget:
        live = self._existing(target, found)
        self._refuse_own(target, live)
        if self._owners.of(live):
            return OverriddenTarget(live)
        if paused_by_owner(live, self._clock.now()):
            raise _error(f"ScaledObject {name_of(live)!r} is paused by its own annotation; take that off")
        return OverriddenTarget(live, ObjectKey.of(SCALED_OBJECTS.kind, live))

    def _refuse_own(self, target: TargetKey, live: Obj) -> None:
        if self._owners.is_own(live):
            raise _error(
                f"the operator itself runs in {_named(target)}, which nothing else would wake; scale it by hand"
            )

    @staticmethod
    def _existing(target: TargetKey, live: Obj | None) -> Obj:
        if live is None:
            raise _error(f"there is no {_named(target)}; create it, or correct the name")
        return live

    def targets_of(self, key: ObjectKey) -> tuple[TargetKey, ...]:
        """The targets by which an Override can name a ScaledObject: itself, and its workload."""
        own = TargetKey(key.kind, key.name)
        live = self._cluster.scaled_objects.get(key.namespace, key.name)
        if live is None:
            return (own,)
        _, kind, name = workload_of(live).rsplit("/", 2)
        return own, TargetKey(kind, name)


def _named(target: TargetKey) -> str:
    return f"{target.kind} {target.name!r}"


def _error(text: str) -> ConfigError:
    return ConfigError(f"spec.target: {text}", field="spec.target")
