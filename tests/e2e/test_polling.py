"""`pollingInterval` says how soon the operator acts on what a trigger tells, in both directions."""

import asyncio

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_replicas
from tests.e2e.source import Source

INTERVAL = 18
"""Longer than the 15 s after which an HPA asks again: its questions must not shorten it."""
EARLY = 1.5


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_news_is_acted_on_one_polling_interval_after_the_first_look(scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url), pollingInterval=INTERVAL))
    await source.asked()
    began = now()
    source.value = 3
    await scene.replicas(1)
    assert INTERVAL - EARLY <= now() - began <= INTERVAL + 5


async def test_a_workload_is_not_stopped_between_two_polls_although_the_hpa_knows_already(
    scene: Scene, source: Source
) -> None:
    source.value = 1
    wanted = scaled_object(metrics_api(source.url), pollingInterval=INTERVAL, cooldownPeriod=0)
    async with scene.watching(DEPLOYMENTS) as workload:
        await scene.create(deployment(), wanted)
        await workload.until(has_replicas(1))
        woken = now()
        source.value = 0
        await scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda hpa: bool(hpa.get("status")), "keda-hpa-app")
        await workload.until(has_replicas(0))
        assert INTERVAL - EARLY <= now() - woken <= INTERVAL + 5
        assert workload.replicas() == [0, 1, 0]


async def test_a_trigger_that_points_nowhere_takes_neither_the_hpa_nor_the_other_triggers_along(
    scene: Scene, source: Source
) -> None:
    source.value = 15
    await scene.create(deployment(), scaled_object(metrics_api(source.url), metrics_api("nowhere")))
    await scene.replicas(3)
    live = await scene.get(SCALED_OBJECTS)
    assert live["status"]["externalMetricNames"] == ["s0-metric-api-value", "s1-metric-api-value"]
    await scene.event("KEDAScalerFailed", words="http://")
