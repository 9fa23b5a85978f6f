"""A control plane on virtual time, without a server, and objects for its tests."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from keda_py.clock import FakeClock
from keda_py.kube.resources import Obj
from keda_py.localkube.access.certificates import KeyPair
from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.plane import ControlPlane, PlaneOptions
from keda_py.localkube.store.services import ServiceAddresses
from keda_py.localkube.store.store import Store
from tests import builders
from tests.builders import container, usage


class BareCluster:
    """A store, its clock and its controllers, with short methods for tests."""

    def __init__(self, options: PlaneOptions | None = None) -> None:
        self.clock = FakeClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))
        self.store = Store(self.clock, builtin_registry())
        self.aggregation = Aggregation(self.store, ServiceAddresses(self.store), KeyPair(certificate=b"", key=b""))
        self.plane = ControlPlane(self.store, self.aggregation, options or PlaneOptions())

    async def __aenter__(self) -> Self:
        await self.plane.__aenter__()
        self.create(builders.a_namespace("default"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.plane.__aexit__(kind, error, trace)
        await self.aggregation.aclose()

    def create(self, obj: Obj) -> Obj:
        return self.store.create(self._resource(obj["apiVersion"], obj["kind"]), obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Obj:
        return self.store.get(self._resource(api_version, kind), namespace, name)

    def find(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Obj | None:
        return self.store.find(self._resource(api_version, kind), namespace, name)

    def all(self, api_version: str, kind: str, namespace: str = "") -> list[Obj]:
        return self.store.list(self._resource(api_version, kind), namespace)

    def delete(self, obj: Obj, propagation: str = "Background") -> None:
        metadata = obj["metadata"]
        resource = self._resource(obj["apiVersion"], obj["kind"])
        self.store.delete(resource, metadata.get("namespace", ""), metadata["name"], propagation=propagation)

    def edit(self, obj: Obj, change: Callable[[Obj], Obj]) -> Obj:
        resource = self._resource(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        newest = self.store.get(resource, metadata.get("namespace", ""), metadata["name"])
        return self.store.update(resource, change(newest))

    def scale(self, obj: Obj, replicas: int) -> Obj:
        return self.edit(obj, lambda o: {**o, "spec": {**o["spec"], "replicas": replicas}})

    def pods(self, namespace: str = "default") -> list[Obj]:
        return self.all("v1", "Pod", namespace)

    def events(self) -> list[tuple[str, str]]:
        return [(event["reason"], event["message"]) for event in self.all("v1", "Event")]

    async def seconds(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    def _resource(self, api_version: str, kind: str) -> Any:
        return self.store.resources.get(api_version, kind)


def behaving(kind: str = "Deployment", name: str = "web", replicas: int = 2, **annotations: str) -> Obj:
    """Build a workload; annotations go to its pods, with our prefix and `_` for `-`."""
    containers, told = [container(cpu="100m", memory="100Mi")], usage(**annotations)
    built = builders.workload(kind, name, replicas, namespace="default", containers=containers, annotations=told)
    built["spec"].pop("podManagementPolicy", "")  # by default a StatefulSet starts its pods one by one
    return built
