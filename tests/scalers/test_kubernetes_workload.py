"""`kubernetes-workload` over pods of a cluster in memory."""

from typing import Any

import pytest

from keda_py.errors import ConfigError, Forbidden, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.testing import EngineContext, Objects, check_scaler, pod, shared_context
from scalers.kubernetes_workload import KubernetesWorkloadScaler
from tests.scalers.conftest import Bench

PODS = [
    pod("web-1", labels={"app": "web"}, node="n1"),
    pod("web-2", labels={"app": "web"}, node="n1"),
    pod("web-3", labels={"app": "web"}, phase="Pending", node=""),
    pod("web-4", labels={"app": "web"}, phase="Unknown", node="n2"),
    pod("web-5", labels={"app": "web"}, phase="Succeeded", node="n3"),
    pod("web-6", labels={"app": "web"}, phase="Failed", node="n3"),
    pod("db-1", labels={"app": "db"}, node="n1"),
]


@pytest.mark.parametrize(("by_node", "count"), [("false", 4), ("true", 2)])
async def test_pods_that_have_not_ended_count_or_the_nodes_that_they_are_on(by_node: str, count: int) -> None:
    async with shared_context(kube=Objects(pods=PODS)) as lent:
        metadata = {"podSelector": "app=web", "value": "1", "groupByNode": by_node}
        scaler = await Bench(lent).opened("kubernetes-workload", metadata)
        assert (await scaler.read()).value == count


async def test_metric_target_and_activation(bench: Bench) -> None:
    scaler = bench.scaler("kubernetes-workload", {"podSelector": "app=web", "value": "0.5", "activationValue": "3"})
    (spec,) = await scaler.specs()
    assert (spec.name, spec.target, scaler.activation) == ("workload-default", 0.5, 3.0)


async def test_an_api_server_that_refuses_is_an_error_of_the_poll() -> None:
    class Closed(Objects):
        async def pods(self, namespace: str, label_selector: str) -> Any:
            raise Forbidden("pods is forbidden", status=403, reason="Forbidden")

    async with shared_context(kube=Closed()) as lent:
        scaler = await Bench(lent).opened("kubernetes-workload", {"podSelector": "app=web", "value": "1"})
        with pytest.raises(ScalerError, match="pods is forbidden"):
            await scaler.read()


@pytest.mark.parametrize(
    "selector",
    ["app=web", "app==web,env!=dev", "env in (a, b),!old", "tier notin (x)", "example.com/part", "a=", "n > 5", ""],
)
async def test_selectors_that_kubernetes_takes(bench: Bench, selector: str) -> None:
    if selector:
        assert bench.scaler("kubernetes-workload", {"podSelector": selector, "value": "1"}).metadata.pod_selector


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"value": "1"}, 'missing required parameter "podSelector" in [triggerMetadata]'),
        ({"podSelector": "app=web"}, "no value given: write a number above 0"),
        ({"podSelector": "app=web", "value": "-1"}, 'value: "-1": input should be greater than or equal to 0'),
        ({"podSelector": "app=web,,", "value": "1"}, "is not a label requirement"),
        ({"podSelector": "app in web", "value": "1"}, '"app in web" is not a label requirement'),
        ({"podSelector": "-app=web", "value": "1"}, "is not a label requirement"),
        ({"podSelector": "app=web web", "value": "1"}, "is not a label requirement"),
    ],
)
async def test_metadata_that_is_refused(bench: Bench, metadata: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        bench.scaler("kubernetes-workload", metadata)
    assert message in str(refused.value)


async def test_under_a_formula_the_value_may_be_zero(bench: Bench) -> None:
    assert bench.scaler("kubernetes-workload", {"podSelector": "app=web"}, as_metric_source=True).target == 0


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    trigger = Trigger(type="kubernetes-workload", metadata={"podSelector": "app=web", "value": "1"})
    await check_scaler(KubernetesWorkloadScaler, trigger, context)
