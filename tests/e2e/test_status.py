"""What a user reads: status, conditions, Events, and what kubectl makes of them."""

from keda_py.kube.resources import DEPLOYMENTS, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, condition_of, has_condition
from tests.e2e.source import Source


async def test_the_status_tells_what_was_found_and_what_is_watched(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(
        deployment(replicas=1), scaled_object(metrics_api(source.url), metrics_api(source.url, name="b"))
    )
    live = await scene.until(SCALED_OBJECTS, has_condition("Active", "True"))
    status = live["status"]
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments"}
    assert (status["scaleTargetKind"], status["scaleTargetGVKR"]) == ("apps/v1.Deployment", target)
    assert status["originalReplicaCount"] == 1
    assert status["externalMetricNames"] == ["s0-metric-api-value", "s1-metric-api-value"]
    assert status["triggersTypes"] == "metrics-api"
    assert status["triggersActivity"] == {
        "s0-metric-api-value": {"isActive": True},
        "s1-metric-api-value": {"isActive": True},
    }
    assert live["metadata"]["finalizers"] == ["finalizer.keda.sh"]
    assert live["metadata"]["labels"]["scaledobject.keda.sh/name"] == "app"
    ready = condition_of(live, "Ready")
    assert ready["message"] == "ScaledObject is defined correctly and is ready for scaling"
    assert condition_of(live, "Fallback")["reason"] == "NoFallbackFound"
    assert condition_of(live, "Paused")["status"] == "False"


async def test_events_tell_the_story_of_an_object(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    for reason in ("KEDAScalersStarted", "ScaledObjectReady", "KEDAScaleTargetActivated"):
        assert (await scene.event(reason))["type"] == "Normal"
    source.value = 0
    await scene.event("KEDAScaleTargetDeactivated")


async def test_kubectl_shows_why(scene: Scene, source: Source) -> None:
    source.value = 4
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    await scene.condition("Active", "True")
    await scene.event("KEDAScaleTargetActivated")
    header, row = (await scene.kubectl("get", "scaledobject")).splitlines()
    columns = header.split()
    assert columns[:6] == ["NAME", "SCALETARGETKIND", "SCALETARGETNAME", "MIN", "MAX", "READY"]
    assert row.split()[:3] == ["app", "apps/v1.Deployment", "app"]
    told = await scene.kubectl("describe", "so", "app")
    for words in (
        "Scaling is performed because triggers are active",
        "KEDAScaleTargetActivated",
        "from 0 to 1, triggered by s0-metric-api-value",
    ):
        assert words in told, told
    selector = "involvedObject.name=app,reason=KEDAScaleTargetActivated"
    assert "from 0 to 1" in await scene.kubectl("get", "events", "--field-selector", selector)
    await scene.kubectl("wait", "--for=condition=Ready", "so/app", "--timeout=20s")


async def test_a_manifest_applied_twice_changes_nothing(scene: Scene, source: Source) -> None:
    manifest = f"""
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{name: app}}
spec:
  scaleTargetRef: {{name: app}}
  pollingInterval: 1
  triggers:
  - type: metrics-api
    metadata: {{url: "{source.url}", valueLocation: value, targetValue: "5"}}
"""
    await scene.create(deployment())
    await scene.kubectl("apply", "-f", "-", given=manifest)
    await scene.condition("Active", "False", "ScalerNotActive")
    before = await scene.get(SCALED_OBJECTS)
    assert "unchanged" in await scene.kubectl("apply", "-f", "-", given=manifest)
    await source.asked(3)
    after = await scene.get(SCALED_OBJECTS)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 0
