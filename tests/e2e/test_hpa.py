"""1 <-> N: the HPA that a ScaledObject owns, the metrics it is given, and who may change it."""

import json

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_condition, has_replicas
from tests.e2e.source import Source

HPA = "keda-hpa-app"


async def test_many_jobs_make_many_replicas(scene: Scene, source: Source) -> None:
    source.value = 14
    await scene.create(deployment(), scaled_object(metrics_api(source.url, target=5)))
    async with scene.watching(DEPLOYMENTS) as workload:
        await workload.until(has_replicas(3), seconds=60)
        assert workload.replicas() == [0, 1, 3]
    await scene.condition("HPAActive", "True", "HPAActive")
    live = await scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda hpa: bool(hpa["status"].get("currentMetrics")), HPA)
    assert live["status"]["currentMetrics"][0]["external"]["metric"]["name"] == "s0-metric-api-value"


async def test_the_hpa_says_what_the_scaled_object_wants(scene: Scene, source: Source) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 7}}
    wanted = scaled_object(
        metrics_api(source.url),
        metrics_api(source.url, metricType="Value"),
        minReplicaCount=2,
        maxReplicaCount=7,
        advanced={"horizontalPodAutoscalerConfig": {"behavior": behavior}},
    )
    wanted["metadata"]["labels"] = {"team": "blue"}
    await scene.create(deployment(), wanted)
    hpa = await scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda live: True, HPA)
    spec, metadata = hpa["spec"], hpa["metadata"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 7)
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 7
    assert [metric["external"]["metric"]["name"] for metric in spec["metrics"]] == [
        "s0-metric-api-value",
        "s1-metric-api-value",
    ]
    assert [metric["external"]["target"]["type"] for metric in spec["metrics"]] == ["AverageValue", "Value"]
    assert metadata["labels"]["team"] == "blue"
    assert metadata["labels"]["app.kubernetes.io/managed-by"] == "keda-operator"
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("ScaledObject", "app", True)
    live = await scene.until(SCALED_OBJECTS, lambda live: "hpaName" in (live.get("status") or {}))
    assert live["status"]["hpaName"] == HPA


async def test_a_hand_edit_of_the_hpa_is_reverted(scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    async with scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as hpa:
        await hpa.until(lambda live: live["spec"]["maxReplicas"] == 5)
        await scene.patch(HORIZONTAL_POD_AUTOSCALERS, {"spec": {"maxReplicas": 50}}, HPA)
        await hpa.until(lambda live: live["spec"]["maxReplicas"] == 50)
        await hpa.until(lambda live: live["spec"]["maxReplicas"] == 5)


async def test_a_deleted_hpa_comes_back(scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    async with scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as hpa:
        first = await hpa.until(lambda live: True)
        await scene.delete(HORIZONTAL_POD_AUTOSCALERS, HPA)
        again = await hpa.until(lambda live: live["metadata"]["uid"] != first["metadata"]["uid"])
    assert again["spec"]["maxReplicas"] == 5


async def test_a_changed_scaled_object_changes_and_renames_the_hpa(scene: Scene, source: Source) -> None:
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    async with scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as old:
        await old.until(lambda live: True)
        advanced = {"horizontalPodAutoscalerConfig": {"name": "mine"}}
        await scene.patch(SCALED_OBJECTS, {"spec": {"maxReplicaCount": 6, "advanced": advanced}})
        renamed = await scene.until(HORIZONTAL_POD_AUTOSCALERS, lambda live: True, "mine")
        assert renamed["spec"]["maxReplicas"] == 6
        await old.gone()
    await scene.until(SCALED_OBJECTS, lambda live: live["status"].get("hpaName") == "mine")


async def test_anybody_with_kubectl_can_ask_for_the_metric(scene: Scene, source: Source) -> None:
    source.value = 2.5
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    await scene.until(SCALED_OBJECTS, has_condition("Ready", "True"))
    root = "/apis/external.metrics.k8s.io/v1beta1"
    path = f"{root}/namespaces/{scene.namespace}/s0-metric-api-value"
    answer = json.loads(await scene.kubectl("get", "--raw", f"{path}?labelSelector=scaledobject.keda.sh%2Fname%3Dapp"))
    assert answer["kind"] == "ExternalMetricValueList"
    assert [(item["metricName"], item["value"]) for item in answer["items"]] == [("s0-metric-api-value", "2500m")]
    listed = json.loads(await scene.kubectl("get", "--raw", root))
    assert [(row["name"], row["verbs"]) for row in listed["resources"]] == [("externalmetrics", ["get"])]
