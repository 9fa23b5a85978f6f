"""`keda-py explain` of what rules objects, and of workloads that no ScaledObject scales, beside a running operator."""

import orjson
import pytest

from keda_py.explanation.command import ExplainOptions, look
from tests.builders import (
    cron,
    cron_job,
    deployment,
    environment,
    metrics_api,
    override,
    scaled_object,
    scaling_schedule,
)
from tests.operator.environments.builders import until
from tests.worlds.world import World

BREAK = {"timeZone": "UTC", "hours": [{"from": "08:00", "to": "12:30"}, {"from": "13:30", "to": "14:00"}]}


async def page(world: World, name: str) -> str:
    view = await look(world.client, ExplainOptions(object=name, namespace="default"))
    return f"{view.page(200, None).plain}\n"


async def test_a_deployment_of_an_environment_is_told_when_it_sleeps_and_when_it_wakes(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=BREAK))
    await world.seconds(20)
    text = await page(world, "deployment/default/web")
    assert text.startswith("default/web: ready, 2/2 ready, Deployment of environment dev\n")
    assert "next: sleeps at 12:30 UTC, in 29 min 40 s, with environment dev: outside of the hours\n" in text
    await until(world, 20, "12:33")
    text = await page(world, "deploy/web")
    assert text.startswith("default/web: asleep, 0/0 ready, Deployment of environment dev\n  2 to come back\n")
    assert "next: wakes at 13:30 UTC, in 57 min, with environment dev: hours every day 13:30-14:00\n" in text


async def test_a_cron_job_is_told_when_it_is_suspended(world: World) -> None:
    await world.create(cron_job(), environment(calendar=BREAK))
    await world.seconds(20)
    text = await page(world, "cj/default/report")
    assert "next: is suspended at 12:30 UTC, in 29 min 40 s, with environment dev: outside of the hours\n" in text


async def test_a_deployment_that_a_scaled_object_scales_is_explained_by_that(world: World) -> None:
    await world.create(deployment("app", 1), scaled_object(metrics_api(world.url)))
    await world.seconds(5)
    assert await page(world, "deployment/app") == await page(world, "scaledobject/default/app")


async def test_a_deployment_that_nothing_rules_is_said_to_be_so(world: World) -> None:
    await world.create(deployment("free", 1))
    text = await page(world, "deployment/default/free")
    assert text == "default/free: no Environment has this Deployment, and no ScaledObject scales it\n"


async def test_an_override_is_told_with_its_end_and_what_becomes_of_what_it_is_about(world: World) -> None:
    target = {"kind": "Deployment", "name": "web"}
    asleep = override(target=target, state="Asleep", **{"for": "15m", "reason": "reload"})
    await world.create(deployment("web", 2), environment(calendar=BREAK), asleep)
    await world.seconds(30)
    text = await page(world, "override/default/evening")
    assert text.splitlines() == [
        "default/evening: active: Deployment web put to sleep until 12:15 UTC: reload",
        "next: ends at 12:15 UTC, in 14 min 30 s",
        "  what it is about wakes at 12:15 UTC, with environment dev: hours every day 08:00-12:30",
    ]
    await until(world, 20, "12:16")
    assert "ended" in await page(world, "ovr/evening")


async def test_a_schedule_is_told_with_its_period_its_bounds_and_its_objects(world: World) -> None:
    period = {"name": "lunch", "hours": [{"from": "12:00", "to": "13:00"}], "minReplicas": 2, "maxReplicas": 4}
    app = scaled_object(cron(), pollingInterval=60)
    await world.create(deployment(), app, scaling_schedule("busy", names=["app"], periods=[period]))
    await world.seconds(20)
    assert (await page(world, "scalingschedule/default/busy")).splitlines() == [
        "default/busy: period lunch: minReplicas 2, maxReplicas 4",
        "  it rules 1 ScaledObject: app",
        "next: period otherwise at 13:00 UTC, in 59 min 40 s",
    ]
    await until(world, 20, "13:01")
    assert (await page(world, "sched/busy")).startswith("default/busy: period otherwise: the manifests hold\n")


@pytest.mark.parametrize("what", ["environment/default/dev", "deployment/default/web", "override/default/evening"])
async def test_programs_get_the_same_as_json(world: World, what: str) -> None:
    target = {"kind": "Deployment", "name": "web"}
    await world.create(deployment("web", 2), environment(calendar=BREAK), override(target=target, state="Hold"))
    await world.seconds(20)
    view = await look(world.client, ExplainOptions(object=what, namespace="default", as_json=True))
    assert (view.body["namespace"], view.body["name"]) == ("default", what.rpartition("/")[2])
    assert orjson.dumps(view.body)
