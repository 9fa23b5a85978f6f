"""Every wrong manifest is told with its field and reason; nothing is scaled; a correction is enough."""

import pytest

from keda_py.kube.resources import DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS, Obj
from tests.builders import box_definition, boxen, deployment, metrics_api, obj, scaled_object
from tests.worlds.world import HPA, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

CRON = {"timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "1"}
API = {"url": "http://queue.example", "valueLocation": "value", "targetValue": "5"}


@pytest.fixture
def world(room: World) -> World:
    return room


def without(metadata: Obj, key: str) -> Obj:
    return {name: value for name, value in metadata.items() if name != key}


WRONG_TRIGGERS = {
    "an unknown type": ({"type": "metrics-apy", "metadata": {}}, "metrics-apy"),
    "a type with a path in it": ({"type": "../../etc/passwd", "metadata": {}}, "../../etc/passwd"),
    "no url": ({"type": "metrics-api", "metadata": without(API, "url")}, "url"),
    "a target of lots": ({"type": "metrics-api", "metadata": {**API, "targetValue": "lots"}}, "targetValue"),
    "a target of zero": ({"type": "metrics-api", "metadata": {**API, "targetValue": "0"}}, "targetValue"),
    "an unknown format": ({"type": "metrics-api", "metadata": {**API, "format": "csv"}}, "format"),
    "no start": ({"type": "cron", "metadata": without(CRON, "start")}, "start"),
    "a sixtieth hour": ({"type": "cron", "metadata": {**CRON, "end": "0 60 * * *"}}, "end"),
    "six fields": ({"type": "cron", "metadata": {**CRON, "start": "0 0 8 * * *"}}, "start"),
    "a window of no length": ({"type": "cron", "metadata": {**CRON, "end": CRON["start"]}}, "end"),
    "no replicas wanted": ({"type": "cron", "metadata": {**CRON, "desiredReplicas": "0"}}, "desiredReplicas"),
    "memory in words": ({"type": "memory", "metricType": "Utilization", "metadata": {"value": "much"}}, "value"),
    "cpu by an unknown measure": ({"type": "cpu", "metricType": "Value", "metadata": {"value": "50"}}, "Value"),
    "utilization of a queue": ({"type": "metrics-api", "metricType": "Utilization", "metadata": API}, "Utilization"),
    "a redis without address": ({"type": "redis", "metadata": {"listName": "jobs", "listLength": "5"}}, "address"),
    "a cached schedule": ({"type": "cron", "useCachedMetrics": True, "metadata": CRON}, "useCachedMetrics"),
}


@pytest.mark.parametrize(("trigger", "word"), WRONG_TRIGGERS.values(), ids=WRONG_TRIGGERS)
async def test_a_wrong_trigger(world: World, trigger: Obj, word: str) -> None:
    world.jobs(1)
    await world.create(deployment(replicas=1), scaled_object(trigger, cooldownPeriod=0))
    await world.seconds(120)
    assert world.condition("Ready") == ("False", "ScaledObjectCheckFailed")
    assert world.condition("Active") == ("Unknown", "UnknownState")
    assert word in world.message("Ready")
    assert any(reason == "ScaledObjectCheckFailed" and word in note for reason, note in world.notes())
    assert (world.replicas(), world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)) == (1, None)
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [metrics_api(world.url)]}})
    world.jobs(0)
    await world.seconds(5)
    assert (world.replicas(), world.condition("Ready")) == (0, ("True", "ScaledObjectReady"))


async def test_a_url_that_is_no_address_is_told_when_it_is_asked(world: World) -> None:
    nowhere = {"type": "metrics-api", "metadata": {**API, "url": "nowhere"}}
    await world.create(deployment(replicas=1), scaled_object(nowhere, cooldownPeriod=0, pollingInterval=10))
    await world.seconds(120)
    assert (world.replicas(), world.condition("Ready")) == (1, ("False", "TriggerError"))
    assert any(reason == "KEDAScalerFailed" and "nowhere" in note for reason, note in world.notes())
    await world.patch(SCALED_OBJECTS, {"spec": {"triggers": [metrics_api(world.url)]}})
    await world.seconds(5)
    assert (world.replicas(), world.condition("Ready")) == (0, ("True", "ScaledObjectReady"))


WRONG_SPECS: dict[str, tuple[Obj, str]] = {
    "idle not below the minimum": ({"idleReplicaCount": 2, "minReplicaCount": 2}, "IdleReplicaCount=2"),
    "idle without a minimum": ({"idleReplicaCount": 0}, "IdleReplicaCount=0"),
    "a kind that nobody knows": (
        {"scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Robot", "name": "app"}},
        "Robot",
    ),
    "a version that is none": (
        {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "Deployment", "name": "app"}},
        "a/b/c",
    ),
    "a target that is not there": ({"scaleTargetRef": {"name": "nobody"}}, "nobody"),
    "a target without scale": ({"scaleTargetRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "app"}}, "app"),
}


@pytest.mark.parametrize(("spec", "word"), WRONG_SPECS.values(), ids=WRONG_SPECS)
async def test_a_wrong_spec(world: World, spec: Obj, word: str) -> None:
    await world.create(deployment(replicas=1), scaled_object(metrics_api(world.url), cooldownPeriod=0, **spec))
    await world.seconds(120)
    assert world.condition("Ready") == ("False", "ScaledObjectCheckFailed")
    assert word in world.message("Ready")
    assert (world.replicas(), world.find(HORIZONTAL_POD_AUTOSCALERS, HPA)) == (1, None)
    right = {"idleReplicaCount": None, "scaleTargetRef": {"apiVersion": None, "kind": None, "name": "app"}}
    await world.patch(SCALED_OBJECTS, {"spec": right})
    await world.seconds(5)
    assert world.condition("Ready") == ("True", "ScaledObjectReady")


async def test_a_target_without_a_count_is_told_with_its_field_and_scaled_once_it_has_one(world: World) -> None:
    await world.create(box_definition("counts.example"))
    await world.seconds(5)
    box = obj("counts.example/v1", "Box", "box", spec={}) | {"metadata": {"name": "box", "namespace": world.namespace}}
    await world.client.create(boxen("counts.example"), box)
    target = {"apiVersion": "counts.example/v1", "kind": "Box", "name": "box"}
    await world.create(scaled_object(metrics_api(world.url), cooldownPeriod=0, scaleTargetRef=target))
    await world.seconds(5)
    assert world.condition("Ready") == ("False", "ScaledObjectCheckFailed")
    assert 'boxen.counts.example "box" has no spec.size' in world.message("Ready")
    assert "set spec.size, or give it a default in the CustomResourceDefinition" in world.message("Ready")
    world.jobs(1)
    await world.patch(boxen("counts.example"), {"spec": {"size": 0}}, "box")
    await world.seconds(65)
    assert world.condition("Ready") == ("True", "ScaledObjectReady")
    assert world.get(boxen("counts.example"), "box")["spec"]["size"] == 1


async def test_two_triggers_of_one_name(world: World) -> None:
    twins = (metrics_api(world.url, name="queue"), metrics_api(world.url, name="queue"))
    await world.create(deployment(), scaled_object(*twins))
    await world.seconds(5)
    assert world.message("Ready").startswith("ScaledObject doesn't have correct triggers specification: ")
    assert '"queue" is defined multiple times' in world.message("Ready")


PAST_THE_SCHEMA: dict[str, tuple[Obj, str]] = {
    "a cooldown in words": ({"cooldownPeriod": "soon"}, "spec.cooldownPeriod"),
    "a trigger that is a text": ({"triggers": ["cron"]}, "spec.triggers[0]"),
    "metadata that is a list": ({"triggers": [{"type": "cron", "metadata": ["start"]}]}, "spec.triggers[0].metadata"),
    "an authentication that is a text": (
        {"triggers": [{"type": "cron", "metadata": {}, "authenticationRef": "mine"}]},
        "spec.triggers[0].authenticationRef",
    ),
    "triggers that are a map": ({"triggers": {"type": "cron"}}, "spec.triggers"),
    "no target": ({"scaleTargetRef": None}, "spec.scaleTargetRef"),
    "a target that is a text": ({"scaleTargetRef": "app"}, "spec.scaleTargetRef"),
    "no triggers": ({"triggers": []}, "spec.triggers"),
    "a minimum above the maximum": ({"minReplicaCount": 9, "maxReplicaCount": 2}, "minReplicaCount must be less"),
    "a negative minimum": ({"minReplicaCount": -3}, "spec.minReplicaCount"),
    "advanced is a number": ({"advanced": 7}, "spec.advanced"),
    "a fallback without threshold": ({"fallback": {"replicas": 1}}, "spec.fallback.failureThreshold"),
}


@pytest.mark.parametrize(("spec", "word"), PAST_THE_SCHEMA.values(), ids=PAST_THE_SCHEMA)
async def test_what_an_older_schema_let_through(world: World, spec: Obj, word: str) -> None:
    """Stored before the present CRD, whose schema now refuses every write, a status with conditions too."""
    await world.create(deployment(replicas=1), deployment("other"))
    wrong = scaled_object(metrics_api(world.url))
    wrong["metadata"]["namespace"] = world.namespace
    wrong["spec"] = {key: value for key, value in (wrong["spec"] | spec).items() if value is not None}
    store = world.cluster.store
    store.create(store.resources.get("keda.sh/v1alpha1", "ScaledObject"), wrong)
    await world.create(scaled_object(metrics_api(world.url), name="other"))
    world.jobs(1)
    await world.seconds(10)
    assert (world.replicas("other"), world.replicas()) == (1, 1)
    assert any(reason == "ScaledObjectCheckFailed" and word in note for reason, note in world.notes())
    await world.delete(SCALED_OBJECTS)
    await world.seconds(5)
    assert world.find(SCALED_OBJECTS) is None


async def test_a_count_to_pause_at_that_is_no_number(world: World) -> None:
    wanted = scaled_object(metrics_api(world.url))
    wanted["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "few"}
    await world.create(deployment(replicas=2), wanted)
    await world.seconds(60)
    assert world.condition("Ready")[0] == "False"
    assert '"few"' in world.message("Ready")
    assert world.replicas() == 2
    await world.annotate({"autoscaling.keda.sh/paused-replicas": "1"})
    await world.seconds(5)
    assert (world.replicas(), world.condition("Ready")[0]) == (1, "True")


async def test_a_broken_object_costs_no_requests_while_it_stays_broken(world: World) -> None:
    await world.create(deployment(), scaled_object({"type": "metrics-apy", "metadata": {}}))
    await world.seconds(5)
    before = world.get(SCALED_OBJECTS)["metadata"]["resourceVersion"]
    told = world.notes()
    await world.seconds(1800)
    assert world.get(SCALED_OBJECTS)["metadata"]["resourceVersion"] == before
    assert world.notes() == told


async def test_a_target_that_comes_late_is_found_at_once(world: World) -> None:
    world.jobs(1)
    await world.create(scaled_object(metrics_api(world.url)))
    await world.seconds(1800)
    assert "Target resource doesn't exist" in [note for _, note in world.notes()]
    await world.create(deployment())
    await world.seconds(1)
    assert (world.replicas(), world.get(DEPLOYMENTS)["spec"]["replicas"]) == (1, 1)
