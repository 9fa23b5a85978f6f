"""Changes that outlive the process: kept in the object's status, told after a restart, written with what is written."""

from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS, Obj
from tests.builders import deployment, metrics_api, scaled_job, scaled_object
from tests.operator.explain.test_insight import explain, insight, reasons
from tests.worlds.world import World

NIGHT = ["Inactive", "Activated", "Active", "CoolingDown", "Deactivated", "Inactive"]


async def sleep_and_wake(world: World) -> None:
    """A workload that woke, cooled down and went to sleep again."""
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=60))
    await world.seconds(20)
    world.jobs(3)
    await world.seconds(20)
    world.jobs(0)
    await world.seconds(90)


def history(world: World) -> list[Obj]:
    kept: list[Obj] = world.status().get("kedaPyHistory") or []
    return kept


async def test_after_a_restart_it_is_still_told_why_it_woke_and_no_write_was_made_for_that(world: World) -> None:
    written = world.writes_of(SCALED_OBJECTS)
    await sleep_and_wake(world)
    assert [one["reason"] for one in history(world)] == NIGHT
    with_history = len(written)
    await world.operator.stop()
    await world.operator.start()
    await world.seconds(20)
    body = await insight(world)
    assert reasons(body) == NIGHT
    assert body["changes"][1]["replicas"] == {"before": 0, "after": 1}
    assert body["changes"][1]["triggers"] == [{"metric": "s0-metric-api-value", "value": 3, "active": True}]
    await world.operator.stop()

    world.operator.env["KEDA_PY_DECISION_HISTORY"] = "0"
    await world.delete(SCALED_OBJECTS)
    await world.operator.start()
    await world.seconds(1)
    written.clear()
    await world.create(scaled_object(metrics_api(world.url), pollingInterval=10, cooldownPeriod=60))
    await world.seconds(20)
    world.jobs(3)
    await world.seconds(20)
    world.jobs(0)
    await world.seconds(90)
    assert history(world) == []
    assert len(written) == with_history


async def test_an_object_that_flaps_is_not_written_more_often_for_it_and_loses_nothing_at_the_end(world: World) -> None:
    await world.create(deployment(), scaled_object(metrics_api(world.url), pollingInterval=5, cooldownPeriod=600))
    written = world.writes_of(SCALED_OBJECTS)
    for _ in range(20):
        world.jobs(3)
        await world.seconds(5)
        world.jobs(0)
        await world.seconds(5)
    assert len(distinct(written)) <= 8
    await world.operator.stop()
    assert history(world)[-1]["reason"] == "CoolingDown"
    assert len(history(world)) == 32


async def test_a_scaled_job_that_creates_all_the_time_is_written_for_it_once_in_five_minutes(world: World) -> None:
    await world.create(scaled_job(metrics_api(world.url), pollingInterval=30, maxReplicaCount=100))
    written = world.writes_of(SCALED_JOBS, "work")
    for count in range(1, 12):
        world.jobs(5 * count)
        await world.seconds(30)
    assert len(distinct(written)) == 2
    assert len((await insight(world, "work", "scaledjobs"))["changes"]) == 12


def distinct(written: list[Obj]) -> list[list[Obj]]:
    """The histories that were written, each once."""
    kept = [(one.get("status") or {}).get("kedaPyHistory") or [] for one in written]
    return [one for one, before in zip(kept, [[], *kept], strict=False) if one != before]


async def test_explain_tells_the_changes_since_a_time_of_one_object_and_of_all(world: World) -> None:
    await sleep_and_wake(world)
    await world.operator.stop()
    await world.operator.start()
    await world.seconds(20)
    code, text = await explain(world, "-A", "--since", "2020-01-01")
    assert code == 0
    assert "default/app" in text
    assert "0 -> 1" in text
    assert "woke, because s0-metric-api-value is active" in text
    code, text = await explain(world, "default/app", "--since", "2026-11-20T12:01:00Z")
    assert code == 0
    assert "went to sleep" in text
    assert "woke" not in text


async def test_what_is_forged_in_one_status_is_told_of_that_object_alone_and_paints_nothing(quiet_world: World) -> None:
    world = quiet_world
    await world.create(scaled_object(metrics_api(world.url)), scaled_object(metrics_api(world.url), name="other"))
    forged = [
        {"time": "2026-11-20T12:00:00Z", "reason": reason, "replicas": {"before": 0, "after": 99}}
        for reason in ("[red]forged[/red]", "\x1b[31mforged")
    ]
    path = SCALED_OBJECTS.named("default", "app", "status")
    await world.client.patch(path, {"status": {"kedaPyHistory": forged * 200}})
    code, text = await explain(world, "-A", "--since", "2020-01-01")
    assert code == 0
    assert "[red]forged[/red]" in text
    assert "\x1b" not in text
    assert "default/other" not in text
    assert text.count("0 -> 99") == 32
