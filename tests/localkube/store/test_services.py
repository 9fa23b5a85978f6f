"""A Service is resolved by each kind of object that has its address."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.store.services import ServiceAddresses, UnresolvedError
from keda_py.localkube.store.store import Store
from keda_py.schema.status import StatusError

Obj = dict[str, Any]
METADATA = {"name": "api", "namespace": "keda"}
PORTS = [{"name": "https", "port": 443, "targetPort": 6443}]
SLICE_METADATA = {"name": "api-x", "namespace": "keda", "labels": {"kubernetes.io/service-name": "api"}}


def store_with(*objects: Obj) -> Store:
    store = Store(FakeClock(datetime(2026, 3, 2, tzinfo=UTC)), builtin_registry())
    for obj in objects:
        store.create(store.resources.get(obj["apiVersion"], obj["kind"]), obj)
    return store


def with_ports(**spec: object) -> Obj:
    return {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "spec": {"ports": PORTS, **spec}}


def endpoints() -> Obj:
    subsets = [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "https", "port": 7001}]}]
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": METADATA, "subsets": subsets}


def endpoint_slice(*, ready: bool) -> Obj:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": SLICE_METADATA,
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}],
        "ports": [{"name": "https", "port": 7002}],
    }


def test_endpoints_are_found() -> None:
    store = store_with(with_ports(), endpoints())
    assert ServiceAddresses(store).address_of("keda", "api", 443) == ("127.0.0.1", 7001)


def test_a_ready_endpoint_slice_is_preferred() -> None:
    store = store_with(with_ports(), endpoints(), endpoint_slice(ready=True))
    assert ServiceAddresses(store).address_of("keda", "api", 443) == ("127.0.0.1", 7002)


def test_an_endpoint_that_is_not_ready_is_not_used() -> None:
    store = store_with(with_ports(), endpoint_slice(ready=False))
    with pytest.raises(StatusError, match="have no addresses with port name"):
        ServiceAddresses(store).address_of("keda", "api", 443)


def test_an_external_name_keeps_the_port_that_was_asked_for() -> None:
    store = store_with(with_ports(type="ExternalName", externalName="localhost"))
    backend = ServiceAddresses(store).backend_of({"namespace": "keda", "name": "api", "port": 7003})
    assert (backend.host, backend.port, backend.server_name) == ("localhost", 7003, "api.keda.svc")


@pytest.mark.parametrize(
    ("objects", "port", "reason"),
    [
        pytest.param((), 443, "ServiceNotFound", id="no service"),
        pytest.param((with_ports(),), 8443, "ServicePortError", id="another port"),
        pytest.param((with_ports(),), 443, "MissingEndpoints", id="no endpoints"),
    ],
)
def test_a_service_without_an_address_is_an_error_with_a_reason(
    objects: tuple[Obj, ...], port: int, reason: str
) -> None:
    addresses = ServiceAddresses(store_with(*objects))
    with pytest.raises(UnresolvedError) as raised:
        addresses.backend_of({"namespace": "keda", "name": "api", "port": port})
    assert raised.value.reason == reason
