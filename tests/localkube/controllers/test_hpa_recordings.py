"""The HPA controller of the embedded cluster decides as a real one of Kubernetes 1.36 did, sync by sync.

Each recording is replayed with the controllers on virtual time: Deployment, pods, their usage, external metrics over
HTTPS. tests/core tests the pure arithmetic alone.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
import pytest_asyncio

from keda_py.clock import FakeClock, SystemClock
from keda_py.core.hpa.controller import ControllerOptions
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import Identity
from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.plane import ControlPlane, PlaneOptions
from keda_py.localkube.store.services import ServiceAddresses
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import Event
from tests.localkube.adapter import Adapter
from tests.places import GOLDEN

Obj = dict[str, Any]
CASES: list[Obj] = orjson.loads(GOLDEN.joinpath("hpa_controller.json").read_bytes())["cases"]
RECORDED = PlaneOptions(
    hpa=ControllerOptions(downscale_stabilization=timedelta(seconds=10)),
    hpa_sync_seconds=5,
)
NAMESPACE = "default"


def identify(number: int) -> str:
    case = CASES[number]
    metrics = "+".join(str(m[m["type"][0].lower() + m["type"][1:]]) for m in case["metrics"])
    words = [case.get("note", ""), metrics if not case.get("note") else "", f"from {case['replicas']}", str(number)]
    return " ".join(filter(None, words))[:80]


def recorded_deployment(case: Obj) -> Obj:
    declared = {
        key.replace("lab/", "local.keda-py.dev/"): value for key, value in case.get("podAnnotations", {}).items()
    }
    requests = {"cpu": "100m", "memory": "100Mi"}
    containers = [{"name": name, "image": "x", "resources": {"requests": requests}} for name in ("app", "sidecar")]
    template = {"metadata": {"labels": {"app": "web"}, "annotations": declared}, "spec": {"containers": containers}}
    spec = {"replicas": case["replicas"], "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def autoscaler(case: Obj) -> Obj:
    behavior = {"behavior": case["behavior"]} if "behavior" in case else {}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": case["min"], "maxReplicas": case["max"], **behavior}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {**spec, "metrics": case["metrics"]},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapter() -> AsyncIterator[tuple[Adapter, Identity]]:
    identity = Identity(SystemClock())
    async with Adapter(identity, Authority("adapter", SystemClock().now())) as adapter:
        yield adapter, identity


async def replay(case: Obj, adapter: Adapter, identity: Identity) -> list[Obj]:
    """Return the statuses that the controller wrote in the first 45 seconds."""
    clock = FakeClock(datetime(2026, 11, 21, 6, 0, tzinfo=UTC))
    store = Store(clock, builtin_registry())
    aggregation = Aggregation(store, ServiceAddresses(store), identity.front_proxy)
    statuses: list[Obj] = []

    def note(event: Event) -> None:
        if event.resource.kind == "HorizontalPodAutoscaler" and event.previous is not None:
            statuses.append(event.object["status"])

    async with ControlPlane(store, aggregation, RECORDED):
        store.listen(note)
        for name in (NAMESPACE, "kube-system"):
            store.create(store.resources.get("v1", "Namespace"), {"metadata": {"name": name}})
        adapter.register(store)
        store.create(store.resources.get("apps/v1", "Deployment"), recorded_deployment(case))
        await clock.advance(60)
        hpa = autoscaler(case)
        store.create(store.resources.get(hpa["apiVersion"], hpa["kind"]), hpa)
        await clock.advance(45)
    await aggregation.aclose()
    return statuses


def decisions(statuses: list[Obj]) -> list[int]:
    """Return the distinct desired counts in order; a 0 for a target with pods is a count that was not written."""
    written = [s["desiredReplicas"] for s in statuses if s["desiredReplicas"] or not s.get("currentReplicas")]
    return [count for at, count in enumerate(written) if at == 0 or count != written[at - 1]]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("number", range(len(CASES)), ids=identify)
async def test_the_controller_decides_as_recorded(number: int, adapter: tuple[Adapter, Identity]) -> None:
    case = CASES[number]
    statuses = await replay(case, *adapter)
    found, recorded = decisions(statuses), case["desired"]
    assert (found if case["complete"] else found[: len(recorded)]) == recorded
    first = statuses[0]
    conditions = {row["type"]: [row["status"], row["reason"]] for row in first["conditions"]}
    assert conditions == case["conditions"]
    assert first["currentMetrics"] == case["currentMetrics"]


def test_every_recording_is_replayed() -> None:
    assert len(CASES) == 162
