"""Admission under defaults: what goes beyond a bound is admitted with a warning, and defaults deny nothing."""

from typing import Any

from keda_py.core.defaults.building import build_defaults, layer_of_wire, layer_to_wire
from keda_py.core.defaults.layers import Layers
from keda_py.operator.admission.paths import SCALED_JOB, WEBHOOKS
from keda_py.operator.admission.webhook.reviews import read_review
from tests.builders import keda_defaults, scaled_job
from tests.operator.admission.webhook.reviews import PATH, Obj, a_reviewer, review, written

CLUSTER_DEFAULTS = next(one.path for one in WEBHOOKS if one.path.endswith("clusterkedadefaults"))


def layers(**spec: Any) -> Layers:
    """As the operator tells them to the process that judges."""
    written = build_defaults(keda_defaults("prod", "ClusterKedaDefaults", **spec)).layer
    return (layer_of_wire(layer_to_wire(written)),)


async def judge(body: Obj, path: str = PATH, found: Layers = ()) -> tuple[bool, list[str], str]:
    """Whether it is admitted, the warnings, and why it is denied."""
    async with a_reviewer(layers=found) as reviewer:
        response = (await reviewer.review(path, read_review(review(body)))).response["response"]
        return response["allowed"], response.get("warnings", []), response.get("status", {}).get("message", "")


async def test_each_value_beyond_a_bound_is_a_warning() -> None:
    bounds = {"maxReplicaCount": {"atMost": 20}, "pollingInterval": {"atLeast": 15}}
    allowed, warnings, _ = await judge(written(maxReplicaCount=80, pollingInterval=5), found=layers(bounds=bounds))
    assert allowed
    assert warnings[:2] == [
        "spec.pollingInterval: works as 15: the bound of ClusterKedaDefaults prod; the manifest asks for 5; "
        "write a value within the bound [beyond-bounds]",
        "spec.maxReplicaCount: works as 20: the bound of ClusterKedaDefaults prod; the manifest asks for 80; "
        "write a value within the bound [beyond-bounds]",
    ]


async def test_a_scaled_job_beyond_a_bound_is_warned_of_too() -> None:
    body = scaled_job(written()["spec"]["triggers"][0], namespace="default", maxReplicaCount=80)
    allowed, warnings, _ = await judge(body, SCALED_JOB.path, layers(bounds={"maxReplicaCount": {"atMost": 20}}))
    assert allowed
    assert any(warning.startswith("spec.maxReplicaCount: works as 20") for warning in warnings)


async def test_defaults_deny_no_manifest_that_keda_admits() -> None:
    found = layers(fallback={"failureThreshold": 3, "replicas": 2}, minReplicaCount=5, maxReplicaCount=9)
    cpu = [{"type": "cpu", "metricType": "AverageValue", "metadata": {"value": "1"}}]
    for spec in ({"maxReplicaCount": 2}, {"minReplicaCount": 50}, {"triggers": cpu, "minReplicaCount": 1}):
        allowed, _, why = await judge(written(**spec), found=found)
        assert allowed or "missing" in why or "not exist" in why, (spec, why)


async def test_defaults_that_can_never_work_are_denied_in_a_clear_sentence() -> None:
    body = keda_defaults("prod", "ClusterKedaDefaults", minReplicaCount=9, maxReplicaCount=2)
    allowed, _, why = await judge(body, CLUSTER_DEFAULTS)
    assert not allowed
    assert why == "spec.minReplicaCount: 9 is more than maxReplicaCount 2; lower it"
