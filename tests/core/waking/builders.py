"""Services, wakers and slices for tests of waking."""

from typing import Any

from keda_py.core.waking.rules import WakeRules, WakeState
from keda_py.core.waking.services import WakeService, read_service
from keda_py.core.waking.slices import SliceSeen, WakeOwner, WakerAddress, WakeWish, read_slice

OWNER = WakeOwner(api_version="keda-py.dev/v1alpha1", kind="Environment", name="night", uid="env-1")


def service(name: str = "web", **spec: Any) -> WakeService:
    body = {"clusterIPs": ["10.96.0.10"], "selector": {"app": name}, "ports": [{"name": "http", "port": 80}], **spec}
    return read_service({"metadata": {"namespace": "shop", "name": name, "uid": f"svc-{name}"}, "spec": body})


def waker(number: int = 1, family: str = "IPv4") -> WakerAddress:
    address = f"10.1.0.{number}" if family == "IPv4" else f"fd00::{number}"
    return WakerAddress(family=family, namespace="keda", pod=f"waker-{number}", node=f"node-{number}", address=address)


def wish(name: str = "web", state: WakeState = WakeState.ASLEEP) -> WakeWish:
    rules = WakeRules(
        owner_kind="Environment",
        owner_name="night",
        service_name=name,
        service_uid=f"svc-{name}",
        state=state,
        hold=120,
    )
    return WakeWish(owner=OWNER, rules=rules)


def stored(
    body: dict[str, Any], uid: str = "slice-1", version: str = "1", created: str = "2026-11-20T12:00:00Z"
) -> SliceSeen:
    meta = {**body["metadata"], "uid": uid, "resourceVersion": version, "creationTimestamp": created}
    return read_slice({**body, "metadata": meta})
