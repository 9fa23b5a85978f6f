"""Addresses of Services as this process can reach them: by EndpointSlices, Endpoints or externalName.

There is no service network: the objects state the address, usually a loopback port. Used by the aggregation and by
admission webhooks.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj
from keda_py.schema.status import unavailable

SERVICE_NAME = "kubernetes.io/service-name"
"""The label that names an EndpointSlice's Service."""


class UnresolvedError(Exception):
    """A Service without an address; `reason` as in an APIService's Available condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A Service's address, and the name that its certificate must have."""

    host: str
    port: int
    server_name: str

    @property
    def url(self) -> str:
        """The base address, without a path."""
        return f"https://{self.host}:{self.port}"


class ServiceAddresses:
    """Resolves the Services of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._services = store.resources.get("v1", "Service")
        self._endpoints = store.resources.get("v1", "Endpoints")
        self._slices = store.resources.get("discovery.k8s.io/v1", "EndpointSlice")

    def backend_of(self, reference: Obj) -> Backend:
        """The address behind a reference to a Service: namespace, name, port (default 443). Raises UnresolvedError."""
        namespace, name = reference["namespace"], reference["name"]
        host, port = self._resolve(namespace, name, reference.get("port") or 443)
        return Backend(host=host, port=port, server_name=f"{name}.{namespace}.svc")

    def address_of(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Host and port behind the Service's `port`. Raises StatusError 503 if nothing serves it."""
        try:
            return self._resolve(namespace, name, port)
        except UnresolvedError as error:
            raise unavailable(str(error)) from None

    def _resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        service = self._store.find(self._services, namespace, name)
        if service is None:
            raise UnresolvedError("ServiceNotFound", f'service/{name} in "{namespace}" is not present')
        if service["spec"].get("type") == "ExternalName":
            return service["spec"]["externalName"], port
        ports = service["spec"].get("ports") or ()
        chosen = next((entry for entry in ports if entry["port"] == port), None)
        if chosen is None:
            message = f'service/{name} in "{namespace}" is not listening on port {port}'
            raise UnresolvedError("ServicePortError", message)
        port_name = chosen.get("name") or ""
        for address, number in self._ready(namespace, name, port_name):
            return address, number
        message = f'endpoints for service/{name} in "{namespace}" have no addresses with port name "{port_name}"'
        raise UnresolvedError("MissingEndpoints", message)

    def _ready(self, namespace: str, name: str, port_name: str) -> Iterable[tuple[str, int]]:
        # Slices first, as kube-proxy does; Endpoints are what writers of the older API leave.
        selector = LabelSelector.of({"matchLabels": {SERVICE_NAME: name}})
        for endpoint_slice in self._store.list(self._slices, namespace, labels=selector):
            number = _port(endpoint_slice.get("ports"), port_name)
            for endpoint in endpoint_slice.get("endpoints") or ():
                if number and (endpoint.get("conditions") or {}).get("ready", True):
                    yield from ((address, number) for address in endpoint["addresses"])
        endpoints = self._store.find(self._endpoints, namespace, name) or {}
        for subset in endpoints.get("subsets") or ():
            number = _port(subset.get("ports"), port_name)
            if number:
                yield from ((address["ip"], number) for address in subset.get("addresses") or ())


def _port(ports: list[Obj] | None, name: str) -> int:
    found = [entry["port"] for entry in ports or () if (entry.get("name") or "") == name]
    number: int = found[0] if found else 0
    return number
