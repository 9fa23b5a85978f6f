"""With HPAScaleToZero on, the embedded cluster's HPA controller goes to zero and back as the real one did.

The scenarios of tests/golden/hpa_zero.json, with all controllers on virtual time and the metrics over HTTPS; tests/core
judges the pure arithmetic.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
import pytest_asyncio

from keda_py.clock import FakeClock, SystemClock
from keda_py.core.values.kubernetes import SCALE_TO_ZERO
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.access.identity import Identity
from keda_py.localkube.apiserver.aggregation import Aggregation
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.plane import ControlPlane, PlaneOptions
from keda_py.localkube.store.preparation import schema_for
from keda_py.localkube.store.services import ServiceAddresses
from keda_py.localkube.store.store import Store
from keda_py.schema.status import Cause
from keda_py.schema.validation import validate
from tests.hpa_zero import (
    OPTIONS,
    PERIODS,
    PHASES,
    SCENARIOS,
    SYNC_SECONDS,
    Trace,
    differences,
    first_sync,
    metrics_of,
    note,
    values_of,
)
from tests.localkube.adapter import Adapter

Obj = dict[str, Any]
NAMESPACE = "default"
TICK = 0.5
TRIED = sorted(product(PERIODS, PHASES), key=lambda one: (-one[0], abs(one[1] - 0.5)))
"""Period and phase: at first those that fit all recordings, since a replay takes a tenth of a second."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapter() -> AsyncIterator[tuple[Adapter, Identity]]:
    identity = Identity(SystemClock())
    async with Adapter(identity, Authority("adapter", SystemClock().now())) as adapter:
        yield adapter, identity


class Replay:
    """One scenario in a cluster of its own, whose HPA is made `late` seconds after its workload."""

    def __init__(self, scenario: Obj, adapter: Adapter, store: Store, clock: FakeClock) -> None:
        self.scenario, self.adapter, self.store, self.clock = scenario, adapter, store, clock
        self.hpas = store.resources.get("autoscaling/v2", "HorizontalPodAutoscaler")
        self.deployments = store.resources.get("apps/v1", "Deployment")
        self.values = values_of(scenario)
        self.trace: Trace = []

    async def run(self, late: float) -> Trace:
        for name in (NAMESPACE, "kube-system"):
            self.store.create(self.store.resources.get("v1", "Namespace"), {"metadata": {"name": name}})
        self.adapter.register(self.store)
        self.store.create(self.deployments, self.deployment())
        await self.clock.advance(60 + late)
        self.store.create(self.hpas, self.hpa())
        acts = list(self.scenario["acts"])
        steps = int((self.scenario["seen"][-1][0] + 10) / TICK)
        for second in (step * TICK for step in range(steps)):
            now = second + late
            self.adapter.external = {name: self.value(name, now) for name in self.values}
            while acts and acts[0][0] <= now:
                self.act(*acts.pop(0)[1:])
            self.look(now)
            await self.clock.advance(TICK)
        return self.trace

    def value(self, name: str, now: float) -> str | None:
        value = [value for second, value in self.values[name] if second <= now][-1]
        return None if value is None else str(value)

    def act(self, what: str, number: int = 0) -> None:
        match what:
            case "scale":
                self.change(self.deployments, replicas=number)
            case "min":
                self.change(self.hpas, minReplicas=number)
            case "delete-hpa":
                self.store.delete(self.hpas, NAMESPACE, "web")
            case "create-hpa":
                self.store.create(self.hpas, self.hpa())

    def change(self, resource: Any, **fields: int) -> None:
        live = self.store.get(resource, NAMESPACE, "web")
        self.store.update(resource, {**live, "spec": {**live["spec"], **fields}})

    def look(self, now: float) -> None:
        workload = self.store.get(self.deployments, NAMESPACE, "web")
        hpa = self.store.find(self.hpas, NAMESPACE, "web")
        status = hpa["status"] if hpa is not None else {}
        conditions = {one["type"]: [one["status"], one["reason"]] for one in status.get("conditions") or ()}
        desired = status["desiredReplicas"] if hpa is not None else None
        note(self.trace, (now, workload["spec"]["replicas"], desired, conditions))

    def deployment(self) -> Obj:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "x"}]}}
        selector = {"matchLabels": {"app": "web"}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"replicas": self.scenario["start"], "selector": selector, "template": template},
        }

    def hpa(self) -> Obj:
        scenario = self.scenario
        behavior = {"behavior": scenario["behavior"]} if "behavior" in scenario else {}
        bounds = {"minReplicas": scenario["min"], "maxReplicas": scenario["max"], **behavior}
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"scaleTargetRef": target, **bounds, "metrics": metrics_of(scenario)},
            "status": {"desiredReplicas": 0, "currentMetrics": None},
        }


async def replay(scenario: Obj, late: float, period: float, adapter: Adapter, identity: Identity) -> Trace:
    clock = FakeClock(datetime(2026, 8, 3, tzinfo=UTC))
    store = Store(clock, builtin_registry([SCALE_TO_ZERO]))
    aggregation = Aggregation(store, ServiceAddresses(store), identity.front_proxy)
    options = PlaneOptions(hpa=OPTIONS, hpa_sync_seconds=period)
    async with ControlPlane(store, aggregation, options):
        trace = await Replay(scenario, adapter, store, clock).run(late)
    await aggregation.aclose()
    return trace


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_controller_goes_to_zero_and_back_as_recorded(name: str, adapter: tuple[Adapter, Identity]) -> None:
    scenario = SCENARIOS[name]
    told: list[list[str]] = []
    for period, phase in TRIED:
        late = first_sync(scenario) - SYNC_SECONDS + phase
        if late < 0:
            continue
        told.append(differences(await replay(scenario, late, period, *adapter), scenario))
        if not told[-1]:
            return
    assert min(told, key=len) == []


@pytest.mark.parametrize(
    ("gates", "refused"), [((), "must be greater than or equal to 1"), ((SCALE_TO_ZERO,), "")], ids=["off", "on"]
)
def test_an_hpa_may_have_a_minimum_of_zero_where_the_gate_is_on(gates: tuple[str, ...], refused: str) -> None:
    found = causes_of(gates, {"minReplicas": 0})
    assert [cause.message for cause in found] == ([f"Invalid value: 0: {refused}"] if refused else [])


def test_an_hpa_that_has_a_minimum_of_zero_keeps_it_when_the_gate_is_off_again() -> None:
    assert causes_of((), {"minReplicas": 0}, before={"minReplicas": 0}) == []


def test_a_minimum_of_zero_needs_a_metric_that_has_a_value_without_pods() -> None:
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    assert [cause.field for cause in causes_of((SCALE_TO_ZERO,), {"minReplicas": 0, "metrics": [cpu]})] == [
        "spec.metrics"
    ]


def causes_of(gates: tuple[str, ...], spec: Obj, before: Obj | None = None) -> list[Cause]:
    hpas = builtin_registry(gates).get("autoscaling/v2", "HorizontalPodAutoscaler")
    schema = schema_for(hpas)
    assert schema is not None
    scenario = SCENARIOS["never-work"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    base = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics_of(scenario)}
    body = {"metadata": {"name": "web", "namespace": NAMESPACE}, "spec": {**base, **spec}}
    return validate(body, schema, None if before is None else {**body, "spec": {**base, **before}})
