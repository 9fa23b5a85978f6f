"""Which Services can be woken, and what is said of those that cannot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.services import read_service
from tests.core.waking.builders import service

TCP, UDP = {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}


def test_an_ordinary_service_can_be_woken() -> None:
    found = service()
    assert found.obstacle is None
    assert list(found.limits(["node-1"])) == []
    assert [found.selects(labels) for labels in ({"app": "web", "x": "y"}, {"app": "api"}, {})] == [True, False, False]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"type": "ExternalName", "selector": None}, "ExternalName"),
        ({"clusterIPs": ["None"]}, "Headless"),
        ({"clusterIPs": None, "clusterIP": "None"}, "Headless"),
        ({"selector": {}}, "NoSelector"),
        ({"ports": [UDP]}, "NoTcpPort"),
        ({"ports": []}, "NoTcpPort"),
        ({"ports": [{"name": f"p{n}", "port": n} for n in range(1, 22)]}, "TooManyPorts"),
    ],
)
def test_a_service_that_cannot_be_woken_says_why(spec: dict[str, Any], reason: str) -> None:
    found = service(**spec).obstacle
    assert found is not None
    assert found.reason == reason


def test_what_is_not_woken_of_a_service_is_told_with_its_remedy() -> None:
    found = service(ports=[TCP, UDP], internalTrafficPolicy="Local").limits(["node-2", "node-1"])
    told = {each.reason: each.because for each in found}
    assert told["NotTcp"] == "port dns (UDP) is not woken, only TCP ports can be"
    assert told["LocalTraffic"].startswith("internalTrafficPolicy is Local")
    assert "(node-1, node-2); run a waker on each node, or set it to Cluster" in told["LocalTraffic"]


def test_a_dual_stack_service_has_an_address_of_each_family() -> None:
    assert service(clusterIPs=["10.96.0.10", "fd00::a"]).addresses == {"IPv4": "10.96.0.10", "IPv6": "fd00::a"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("clusterIP", "clusterIPs", "ports", "selector", "type", "internalTrafficPolicy")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_no_spec_of_a_tenant_breaks_the_reading(spec: dict[str, Any]) -> None:
    found = read_service({"metadata": {"namespace": "shop", "name": "web", "uid": "1"}, "spec": spec})
    assert found.obstacle is None or found.obstacle.because
