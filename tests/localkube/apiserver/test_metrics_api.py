"""metrics.k8s.io serves the usage that pods declare."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import LocalCluster
from keda_py.localkube.model.calls import Call

Obj = dict[str, Any]
PODS = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(FakeClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))) as cluster:
        yield cluster


async def start(cluster: LocalCluster, replicas: int = 1, on_workload: Obj | None = None, **declared: str) -> None:
    annotations = {f"local.keda-py.dev/{key.replace('_', '-')}": value for key, value in declared.items()}
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": annotations},
        "spec": {"containers": [{"name": "app", "image": "x"}, {"name": "sidecar", "image": "x"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "annotations": on_workload or {}}
    await cluster.apply([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}])


async def advance(cluster: LocalCluster, seconds: float) -> None:
    assert isinstance(cluster.clock, FakeClock)
    await cluster.clock.advance(seconds)


async def usage(cluster: LocalCluster, query: dict[str, str] | None = None) -> list[dict[str, Obj]]:
    answer = await cluster.routes.answer(Call(method="GET", path=PODS, query=query or {}))
    items = orjson.loads(answer.encode())["items"]
    return [{container["name"]: container["usage"] for container in item["containers"]} for item in items]


async def test_each_container_has_the_usage_that_the_template_declares(cluster: LocalCluster) -> None:
    await start(cluster, cpu="60m", memory="95Mi")
    await advance(cluster, 2)
    each = {"cpu": "60m", "memory": "95Mi"}
    assert await usage(cluster) == [{"app": each, "sidecar": each}]


async def test_a_pod_that_is_not_ready_reports_nothing(cluster: LocalCluster) -> None:
    await start(cluster, cpu="60m", startup_seconds="10")
    await advance(cluster, 5)
    assert await usage(cluster) == []


async def test_an_annotation_on_the_workload_wins_and_needs_no_rollout(cluster: LocalCluster) -> None:
    await start(cluster, memory="50Mi", on_workload={"local.keda-py.dev/memory": "170Mi"})
    await advance(cluster, 2)
    assert [containers["app"]["memory"] for containers in await usage(cluster)] == ["170Mi"]


async def test_a_container_may_have_its_own_figure(cluster: LocalCluster) -> None:
    await start(cluster, cpu="1m", on_workload={"local.keda-py.dev/cpu.sidecar": "5m"})
    await advance(cluster, 2)
    assert await usage(cluster) == [{"app": {"cpu": "1m", "memory": "0"}, "sidecar": {"cpu": "5m", "memory": "0"}}]


async def test_a_shared_load_is_divided_between_the_ready_pods(cluster: LocalCluster) -> None:
    await start(cluster, replicas=4, on_workload={"local.keda-py.dev/memory-shared": "800Mi"})
    await advance(cluster, 2)
    assert [containers["app"]["memory"] for containers in await usage(cluster)] == ["100Mi"] * 4


async def test_selectors_narrow_the_list(cluster: LocalCluster) -> None:
    await start(cluster)
    await advance(cluster, 2)
    assert len(await usage(cluster, {"labelSelector": "app=web"})) == 1
    assert await usage(cluster, {"labelSelector": "app=other"}) == []


async def test_one_pod_is_found_by_name_and_a_missing_one_is_404(cluster: LocalCluster) -> None:
    await start(cluster, cpu="60m")
    await advance(cluster, 2)
    (pod,) = cluster.store.list(cluster.store.resources.get("v1", "Pod"))
    answer = await cluster.routes.answer(Call(method="GET", path=f"{PODS}/{pod['metadata']['name']}"))
    assert orjson.loads(answer.encode())["kind"] == "PodMetrics"
    missing = await cluster.routes.answer(Call(method="GET", path=f"{PODS}/none"))
    assert missing.status == 404
