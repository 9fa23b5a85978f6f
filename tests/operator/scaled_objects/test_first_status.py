"""The status of a new object: one write once it has been looked at, sooner where something keeps it waiting."""

import asyncio

import pytest
from aiohttp import web

from keda_py.kube.resources import (
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_JOBS,
    SCALED_OBJECTS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Obj,
)
from keda_py.localkube.store.subscriptions import Event
from tests.builders import deployment, metrics_api, obj, scaled_job, scaled_object
from tests.waiting import eventually
from tests.worlds.world import HPA, World


def statuses(versions: list[Obj]) -> list[Obj]:
    """Each status that differs from the one before."""
    found: list[Obj] = []
    for version in versions:
        status = version.get("status")
        if status and status not in found[-1:]:
            found.append(status)
    return found


def ready(status: Obj) -> bool:
    return ("Ready", "True") in [(one["type"], one["status"]) for one in status["conditions"]]


async def test_reconcile_and_first_look_are_one_write(world: World) -> None:
    objects, jobs = world.writes_of(SCALED_OBJECTS), world.writes_of(SCALED_JOBS, "work")
    trigger = metrics_api(world.url)
    await world.create(deployment(), scaled_object(trigger), scaled_job(trigger, name="work"))
    await world.seconds(2)
    (status,) = statuses(objects)
    assert ready(status)
    assert (status["hpaName"], status["originalReplicaCount"]) == (HPA, 0)
    assert status["kedaPy"]["reason"] == "Inactive"
    (status,) = statuses(jobs)
    assert ready(status)


async def test_a_new_object_costs_one_status_and_one_hpa_and_the_verdict_of_the_hpa_another_status(
    world: World,
) -> None:
    objects, made = world.writes_of(SCALED_OBJECTS), list[str]()
    world.listen(lambda event: made.append(event.resource.plural) if event.previous is None else None)
    specs: list[Obj] = []
    world.listen(lambda event: specs.append(event.object["spec"]) if event.object["metadata"]["name"] == HPA else None)
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=30))
    await world.seconds(120)
    first, verdict = statuses(objects)
    assert {name for name in verdict if verdict[name] != first.get(name)} == {"conditions"}
    assert [one for one in verdict["conditions"] if one not in first["conditions"]] == [
        {
            "type": "HPAActive",
            "status": "True",
            "reason": "ScalingDisabled",
            "message": "scaling is disabled since the replica count of the target is zero",
        }
    ]
    assert made.count("horizontalpodautoscalers") == 1
    assert all(spec == specs[0] for spec in specs)


async def test_what_is_known_is_written_while_the_source_lets_us_wait(world: World) -> None:
    over = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await over.wait()
        return web.Response(text='{"value": 0}')

    world.server.answers["/hang"] = hang
    objects = world.writes_of(SCALED_OBJECTS)
    await world.create(deployment(), scaled_object(metrics_api(f"{world.server.url}/hang")))
    try:
        await eventually(lambda: statuses(objects))
        (status,) = statuses(objects)
        assert ready(status)
        assert "kedaPy" not in status
    finally:
        over.set()


async def test_the_count_from_before_is_written_before_it_is_changed(world: World) -> None:
    world.jobs(1)
    order: list[str] = []
    world.listen(lambda event: order.append(event.resource.plural) if _tells(event.object) else None)
    await world.create(deployment(), scaled_object(metrics_api(world.url)))
    await world.seconds(2)
    assert world.replicas() == 1
    assert order[:2] == [SCALED_OBJECTS.plural, DEPLOYMENTS.plural]


@pytest.mark.parametrize("restores", [False, True], ids=["as a rule", "with restoreToOriginalReplicaCount"])
async def test_the_count_to_go_back_to_is_stored_before_there_is_an_hpa_and_costs_no_write_of_its_own(
    world: World, restores: bool
) -> None:
    objects, stored = world.writes_of(SCALED_OBJECTS), counts_at_hpa(world)
    config = {"restoreToOriginalReplicaCount": restores}
    await world.create(
        deployment(replicas=3), scaled_object(metrics_api(world.url), advanced=config, minReplicaCount=1)
    )
    await world.seconds(2)
    assert stored == [3]
    first = statuses(objects)[0]
    assert (first["originalReplicaCount"], first["hpaName"], ready(first)) == (3, HPA, True)
    assert [status for status in statuses(objects) if status["kedaPy"] != first["kedaPy"]] == []


async def test_a_source_that_takes_its_time_keeps_neither_the_count_nor_the_hpa_waiting(world: World) -> None:
    over, stored = asyncio.Event(), counts_at_hpa(world)

    async def hang(_: web.Request) -> web.Response:
        await over.wait()
        return web.Response(text='{"value": 0}')

    world.server.answers["/hang"] = hang
    await world.create(deployment(replicas=3), scaled_object(metrics_api(f"{world.server.url}/hang")))
    try:
        await eventually(lambda: world.find(HORIZONTAL_POD_AUTOSCALERS, HPA))
        assert stored == [3]
    finally:
        over.set()


async def test_an_hpa_that_is_refused_is_told_and_made_when_that_is_over(world: World) -> None:
    rule = {"apiGroups": ["autoscaling"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
    hook = {"name": "no.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1/"}}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    kind = "ValidatingWebhookConfiguration"
    await world.create(obj("admissionregistration.k8s.io/v1", kind, "no", webhooks=[hook]))
    await world.create(deployment(replicas=3), scaled_object(metrics_api(world.url), minReplicaCount=1))
    await world.seconds(5)
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is None
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 9}})
    await world.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, "no", namespace="")
    await world.seconds(120)
    assert world.find(HORIZONTAL_POD_AUTOSCALERS, HPA) is not None
    assert (world.status()["originalReplicaCount"], world.condition("Ready")[0]) == (3, "True")


async def test_killed_as_the_hpa_comes_the_next_process_knows_the_count_from_before(world: World) -> None:
    def cut(event: Event) -> None:
        if event.resource.plural == HORIZONTAL_POD_AUTOSCALERS.plural:
            world.operator.cut()

    world.listen(cut)
    await world.create(deployment(replicas=3), scaled_object(metrics_api(world.url), minReplicaCount=1))
    await eventually(lambda: world.find(HORIZONTAL_POD_AUTOSCALERS, HPA))
    await world.operator.kill()
    await world.patch(DEPLOYMENTS, {"spec": {"replicas": 9}})  # as the HPA may have done meanwhile
    await world.operator.start()
    await world.seconds(5)
    assert world.status()["originalReplicaCount"] == 3


def counts_at_hpa(world: World) -> list[int | None]:
    """`status.originalReplicaCount` at the moment at which the HPA is made."""
    found: list[int | None] = []

    def hear(event: Event) -> None:
        if event.resource.plural == HORIZONTAL_POD_AUTOSCALERS.plural and event.previous is None:
            found.append(world.status().get("originalReplicaCount"))

    world.listen(hear)
    return found


def _tells(live: Obj) -> bool:
    """A ScaledObject that has its count from before, or a Deployment that was woken."""
    scaled = live.get("kind") == "Deployment" and live["spec"].get("replicas") == 1
    return scaled or "originalReplicaCount" in (live.get("status") or {})
