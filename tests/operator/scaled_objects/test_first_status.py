"""The status of a new object: one write once it has been looked at, sooner where something keeps it waiting."""

import asyncio

from aiohttp import web

from keda_py.kube.resources import DEPLOYMENTS, SCALED_JOBS, SCALED_OBJECTS, Obj
from tests.builders import deployment, metrics_api, scaled_job, scaled_object
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


async def test_the_count_to_go_back_to_is_written_before_there_is_an_hpa(world: World) -> None:
    objects = world.writes_of(SCALED_OBJECTS)
    config = {"restoreToOriginalReplicaCount": True}
    await world.create(deployment(replicas=3), scaled_object(metrics_api(world.url), advanced=config))
    await world.seconds(2)
    first = statuses(objects)[0]
    assert (first["originalReplicaCount"], "hpaName" in first) == (3, False)


def _tells(live: Obj) -> bool:
    """A ScaledObject that has its count from before, or a Deployment that was woken."""
    scaled = live.get("kind") == "Deployment" and live["spec"].get("replicas") == 1
    return scaled or "originalReplicaCount" in (live.get("status") or {})
