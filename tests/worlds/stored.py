"""The embedded cluster in this process: what came of what was done is read from its store."""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.kube.resources import DEPLOYMENTS, EVENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, Obj, Resource
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.store.subscriptions import Event


@dataclass(kw_only=True)
class Stored:
    """A cluster; words without a namespace are about this one."""

    cluster: LocalCluster
    namespace: str = "default"

    async def apply(self, *manifests: Obj) -> None:
        """Create or change objects of any kind as kubectl does, without a connection."""
        await self.cluster.apply(manifests)

    def find(self, resource: Resource, name: str = "app", namespace: str = "") -> Obj | None:
        """The object as it is stored, not to be changed; None if it is missing."""
        where = (namespace or self.namespace) if resource.namespaced else ""
        return self.cluster.store.find(self._known(resource), where, name)

    def get(self, resource: Resource, name: str = "app", namespace: str = "") -> Obj:
        found = self.find(resource, name, namespace)
        assert found is not None, f"no {resource.kind} {namespace or self.namespace}/{name}"
        return found

    def all(self, resource: Resource, namespace: str = "") -> list[Obj]:
        """Those of one namespace, or all there are."""
        return self.cluster.store.list(self._known(resource), namespace)

    def replicas(self, name: str = "app", resource: Resource = DEPLOYMENTS, namespace: str = "") -> int:
        """What the workload is asked to have."""
        count: int = self.get(resource, name, namespace)["spec"]["replicas"]
        return count

    def hpa(self, name: str, namespace: str = "") -> Obj | None:
        return self.find(HORIZONTAL_POD_AUTOSCALERS, name, namespace)

    def status(self, name: str = "app", namespace: str = "") -> Obj:
        return dict(self.get(SCALED_OBJECTS, name, namespace).get("status") or {})

    def full_condition(self, kind: str, name: str = "app", namespace: str = "") -> tuple[str, str, str]:
        """Status, reason and message of a ScaledObject's condition."""
        for entry in self.status(name, namespace).get("conditions") or ():
            if entry["type"] == kind:
                return entry["status"], entry.get("reason", ""), entry.get("message", "")
        return "", "", ""

    def condition(self, kind: str, name: str = "app") -> tuple[str, str]:
        """Status and reason."""
        status, reason, _ = self.full_condition(kind, name)
        return status, reason

    def message(self, kind: str, name: str = "app") -> str:
        return self.full_condition(kind, name)[2]

    def events(self, name: str = "app", kind: str = "ScaledObject", namespace: str = "") -> list[tuple[str, str, str]]:
        """Type, reason and note of each Event about an object, in the order of their first occurrence."""
        about = [event for event in self.all(EVENTS, namespace or self.namespace) if _concerns(event, kind, name)]
        about.sort(key=lambda event: event.get("eventTime") or "")
        return [(event["type"], event["reason"], event["message"]) for event in about]

    def notes(self, name: str = "app") -> list[tuple[str, str]]:
        """Reason and note of each Event about a ScaledObject."""
        return [(reason, note) for _, reason, note in self.events(name)]

    def reasons(self, name: str = "app") -> list[str]:
        return [reason for reason, _ in self.notes(name)]

    def listen(self, heard: Callable[[Event], None]) -> None:
        """Call back at every write to the cluster, before its answer."""
        self.cluster.store.listen(heard)

    def writes_of(self, resource: Resource, name: str = "app", namespace: str = "") -> list[Obj]:
        """Every version of that object from now on."""
        versions: list[Obj] = []
        wanted = (resource.plural, namespace or self.namespace, name)

        def hear(event: Event) -> None:
            if (event.resource.plural, event.object["metadata"].get("namespace"), event.name) == wanted:
                versions.append(event.object)

        self.listen(hear)
        return versions

    def _known(self, resource: Resource):
        return self.cluster.store.resources.get(resource.api_version, resource.kind)


def _concerns(event: Obj, kind: str, name: str) -> bool:
    return (event["involvedObject"].get("kind"), event["involvedObject"].get("name")) == (kind, name)
