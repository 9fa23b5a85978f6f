"""`keda-py explain` on a running cluster: why it woke, why it slept, and what comes next."""

import asyncio
from typing import Any

import orjson

from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.processes import Operator
from tests.e2e.scene import Scene, kubectl
from tests.e2e.source import Source
from tests.programs.client import run


async def explain(scene: Scene, *flags: str) -> str:
    """What the command prints about the ScaledObject `app`."""
    words = ["explain", f"{scene.namespace}/app", *flags, "--kubeconfig", str(scene.kubeconfig)]
    done = await asyncio.to_thread(run, words)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


async def insight(scene: Scene) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(await explain(scene, "--output", "json"))
    return body


async def test_explain_tells_why_it_woke_why_it_slept_and_what_comes_next(
    operator: Operator, scene: Scene, source: Source
) -> None:
    source.value = 3
    await scene.create(deployment(), scaled_object(metrics_api(source.url), cooldownPeriod=8))
    await scene.replicas(1)
    source.value = 0
    await scene.condition("Active", "False", "ScalerCooldown")
    await scene.replicas(0)
    await source.asked(2)
    body = await insight(scene)
    reasons = [entry["reason"] for entry in body["changes"]]
    assert reasons[-1] == "Inactive"
    woke, slept = reasons.index("Activated"), reasons.index("Deactivated")
    assert woke < (cooling := reasons.index("CoolingDown")) < slept
    assert 0 < body["changes"][cooling]["cooldownLeftSeconds"] <= 8
    assert body["changes"][woke]["triggers"] == [{"metric": "s0-metric-api-value", "value": 3, "active": True}]
    assert body["changes"][woke]["replicas"] == {"before": 0, "after": 1}
    assert body["changes"][slept]["replicas"] == {"before": 1, "after": 0}
    text = await explain(scene)
    assert text.startswith(f"{scene.namespace}/app: 0 replicas, Inactive: nothing to do\n")
    assert "woke, because s0-metric-api-value is active" in text
    assert "next: " in text


async def test_kubectl_reads_the_same_through_the_api_server(operator: Operator, scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    await scene.condition("Active", "False")
    path = f"/apis/insight.keda-py.dev/v1alpha1/namespaces/{scene.namespace}/scaledobjects/app"
    assert orjson.loads(await asyncio.to_thread(kubectl, scene.kubeconfig, "get", "--raw", path))["last"]["reason"]


async def test_the_second_group_takes_no_name_away_from_keda(operator: Operator, scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    for name in ("so", "scaledobject", "scaledobjects"):
        get = ("get", name, "app", "-n", scene.namespace, "-o", "name")
        assert (await asyncio.to_thread(kubectl, scene.kubeconfig, *get)).strip() == "scaledobject.keda.sh/app"
