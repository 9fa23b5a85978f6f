"""A ScaledObject goes: its finalizer is honoured, its HPA follows, the replicas stay or are given back."""

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, NAMESPACES, SCALED_OBJECTS
from tests.builders import deployment, metrics_api, scaled_object
from tests.e2e.scene import Scene, has_condition
from tests.e2e.source import Source

HPA = "keda-hpa-app"


async def test_replicas_are_given_back_when_that_is_asked_for(scene: Scene, source: Source) -> None:
    wanted = scaled_object(metrics_api(source.url), advanced={"restoreToOriginalReplicaCount": True})
    await scene.create(deployment(replicas=3), wanted)
    async with scene.watching(SCALED_OBJECTS) as scaled, scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as hpa:
        await scene.replicas(0)
        await scaled.until(has_condition("Ready", "True"))
        await scene.delete(SCALED_OBJECTS)
        await scaled.gone()
        await hpa.gone()
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 3
    assert (await scene.event("ScaledObjectDeleted"))["type"] == "Warning"


async def test_otherwise_replicas_stay_as_they_are(scene: Scene, source: Source) -> None:
    await scene.create(deployment(replicas=3), scaled_object(metrics_api(source.url)))
    async with scene.watching(SCALED_OBJECTS) as scaled, scene.watching(HORIZONTAL_POD_AUTOSCALERS, HPA) as hpa:
        await scene.replicas(0)
        await scene.delete(SCALED_OBJECTS)
        await scaled.gone()
        await hpa.gone()
    assert (await scene.get(DEPLOYMENTS))["spec"]["replicas"] == 0


async def test_an_object_without_its_target_can_be_deleted(scene: Scene, source: Source) -> None:
    wanted = scaled_object(metrics_api(source.url), advanced={"restoreToOriginalReplicaCount": True})
    await scene.create(deployment(), wanted)
    async with scene.watching(SCALED_OBJECTS) as scaled:
        await scaled.until(has_condition("Ready", "True"))
        await scene.delete(DEPLOYMENTS)
        await scaled.until(has_condition("Ready", "False"))
        await scene.delete(SCALED_OBJECTS)
        await scaled.gone()


async def test_an_object_made_anew_under_the_same_name_starts_afresh(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    async with scene.watching(SCALED_OBJECTS) as scaled:
        first = await scaled.until(has_condition("Active", "True"))
        await scene.delete(SCALED_OBJECTS)
        await scaled.gone()
        await scene.create(scaled_object(metrics_api(source.url, target=9), maxReplicaCount=4))
        await scaled.until(has_condition("Active", "True"))

    def is_new(live: dict[str, dict[str, int]]) -> bool:
        return live["spec"]["maxReplicas"] == 4

    hpa = await scene.until(HORIZONTAL_POD_AUTOSCALERS, is_new, HPA)
    assert hpa["metadata"]["ownerReferences"][0]["uid"] != first["metadata"]["uid"]


async def test_a_namespace_takes_its_objects_along(scene: Scene, source: Source) -> None:
    source.value = 1
    await scene.create(deployment(), scaled_object(metrics_api(source.url)))
    async with scene.watching(SCALED_OBJECTS) as scaled:
        await scaled.until(has_condition("Active", "True"))
        await scene.client.delete(NAMESPACES.named("", scene.namespace))
        await scaled.gone()
