"""HPAs that other tools write, by the real kubectl: Pods and Object metrics of an adapter behind TLS, and `kubectl
autoscale`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from keda_py.clock import SystemClock
from keda_py.localkube.access.certificates import Authority
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from tests.localkube.adapter import CUSTOM, VERSION, Adapter, Obj
from tests.localkube.kubectl import Kubectl, needs_kubectl
from tests.localkube.test_kubectl import DEPLOYMENT
from tests.waiting import eventually

pytestmark = [pytest.mark.kubectl, needs_kubectl]

ALL = f"/apis/{CUSTOM}/{VERSION}/namespaces/default"


@pytest.fixture
async def cluster() -> AsyncIterator[LocalCluster]:
    async with LocalCluster(options=ClusterOptions(hpa_sync_seconds=0.2)) as cluster:
        yield cluster


@pytest.fixture
async def kubectl(cluster: LocalCluster, tmp_path: Path) -> Kubectl:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig())
    kubectl = Kubectl(kubeconfig=kubeconfig, cache=tmp_path / "cache")
    await kubectl.run("apply", "-f", "-", stdin=DEPLOYMENT)
    return kubectl


def status_of(cluster: LocalCluster) -> Obj:
    resource = cluster.store.resources.get("autoscaling/v2", "HorizontalPodAutoscaler")
    return cluster.store.get(resource, "default", "web").get("status") or {}


def autoscaler() -> Obj:
    hits = {"metric": {"name": "hits", "selector": {"matchLabels": {"verb": "GET"}}}}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"}
    metrics = [
        {"type": "Pods", "pods": {**hits, "target": {"type": "AverageValue", "averageValue": "10"}}},
        {
            "type": "Object",
            "object": {
                "metric": {"name": "lag"},
                "describedObject": ingress,
                "target": {"type": "AverageValue", "averageValue": "20"},
            },
        },
    ]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, "metrics": metrics}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


async def test_pods_and_object_metrics_of_an_adapter_scale(cluster: LocalCluster, kubectl: Kubectl) -> None:
    pods = cluster.store.resources.get("v1", "Pod")
    async with Adapter(cluster.identity, Authority("adapter", SystemClock().now())) as adapter:
        adapter.register(cluster.store, group=CUSTOM)
        names = [pod["metadata"]["name"] for pod in await eventually(lambda: cluster.store.list(pods, "default"))]
        adapter.custom = {"hits": dict.fromkeys(names, "10"), "lag": {"front": "90"}}
        await kubectl.run("apply", "-f", "-", stdin=autoscaler())
        await eventually(lambda: status_of(cluster).get("desiredReplicas") == 5)
        adapter.custom["lag"] = {"front": "100"}
        status = await eventually(lambda: (seen := status_of(cluster)).get("currentReplicas") == 5 and seen)
        await eventually(lambda: (status_of(cluster).get("currentMetrics") or [{}])[-1].get("object"))
        paths = {path for path, _, _ in adapter.asked}
        assert f"{ALL}/pods/*/hits?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET" in paths
        assert f"{ALL}/ingresses.networking.k8s.io/front/lag?" in paths
        assert {row["type"] for row in status["conditions"] if row["status"] == "True"} >= {"ScalingActive"}
        assert '"value":"10"' in await kubectl.run("get", "--raw", f"{ALL}/pods/*/hits")
        shown = await kubectl.run("get", "hpa", "web", "--no-headers")
        assert "10/10, 20/20 (avg)" in shown
        told = await kubectl.run("describe", "hpa", "web")
        assert '"hits" on pods' in told
        assert '"lag" on Ingress/front' in told


async def test_kubectl_autoscale_makes_an_hpa_that_scales(cluster: LocalCluster, kubectl: Kubectl) -> None:
    """The pods use 60m of cpu without a request, so the Deployment gets one first, as on any cluster."""
    request = ["set", "resources", "deployment", "web", "--requests=cpu=100m"]
    await kubectl.run(*request)
    words = ["autoscale", "deployment", "web", "--min=3", "--max=5", "--cpu-percent=50"]
    assert (await kubectl.run(*words)).strip() == "horizontalpodautoscaler.autoscaling/web autoscaled"
    await eventually(lambda: status_of(cluster).get("desiredReplicas") == 3)
    made = await kubectl.json("get", "hpa.v2.autoscaling", "web")
    assert made["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    refused = await kubectl.try_run("autoscale", "deployment", "web", "--name=worse", "--min=3", "--max=2")
    assert refused.code == 1
