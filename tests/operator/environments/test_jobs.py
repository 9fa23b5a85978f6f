"""CronJobs that never run in the hours of their Environment: what the operator tells of changes that admission cannot see."""

from typing import Any

from keda_py.kube.resources import CALENDARS, CRON_JOBS, ENVIRONMENTS
from tests.builders import calendar, cron_job, environment
from tests.worlds.world import World


def _hours(begins: str, ends: str) -> dict[str, Any]:
    return {"timeZone": "UTC", "hours": [{"from": begins, "to": ends}]}


def _told(world: World) -> list[str]:
    return [note for _, reason, note in world.events("dev", "Environment") if reason == "JobNeverRuns"]


async def test_a_job_that_a_changed_calendar_leaves_without_a_time_is_told_once(world: World) -> None:
    """Admission judges an Environment, and says nothing of a Calendar that is edited."""
    office = {"calendarRef": {"name": "office"}}
    await world.create(calendar(**_hours("08:00", "20:00")), cron_job("backup", "0 19 * * *"), environment(**office))
    await world.seconds(60)
    assert _told(world) == []
    await world.patch(CALENDARS, {"spec": _hours("08:00", "18:00")}, "office")
    await world.seconds(120)
    (note,) = _told(world)
    assert note.startswith(
        'CronJob/backup: spec.schedule: "0 19 * * *" (UTC) never falls into the hours of Environment dev'
    )
    assert note.endswith("[job-never-runs]")
    await world.patch(CALENDARS, {"spec": _hours("08:00", "17:00")}, "office")
    await world.seconds(120)
    assert len(_told(world)) == 1


async def test_a_job_that_comes_later_is_told_and_one_that_has_a_time_is_not(world: World) -> None:
    await world.create(environment(calendar=_hours("08:00", "18:00")))
    await world.seconds(60)
    await world.create(cron_job("noon", "0 12 * * *"), cron_job("night", "0 3 * * *"))
    await world.seconds(60)
    assert [note.partition(":")[0] for note in _told(world)] == ["CronJob/night"]
    await world.patch(CRON_JOBS, {"spec": {"schedule": "0 4 * * *"}}, "noon")
    await world.seconds(60)
    assert [note.partition(":")[0] for note in _told(world)] == ["CronJob/night", "CronJob/noon"]


async def test_what_admission_has_told_already_is_no_event(world: World) -> None:
    await world.create(cron_job("night", "0 3 * * *"), environment(calendar=_hours("08:00", "18:00")))
    await world.seconds(120)
    assert _told(world) == []


async def test_what_changed_while_no_operator_ran_is_told_once_and_not_by_each_restart(world: World) -> None:
    office = {"calendarRef": {"name": "office"}}
    await world.create(calendar(**_hours("08:00", "20:00")), cron_job("backup", "0 19 * * *"), environment(**office))
    await world.seconds(60)
    await world.operator.stop()
    await world.patch(CALENDARS, {"spec": _hours("08:00", "18:00")}, "office")
    await world.create(cron_job("night", "0 3 * * *"))
    for _ in range(3):
        await world.operator.start()
        await world.seconds(60)
        assert sorted(note.partition(":")[0] for note in _told(world)) == ["CronJob/backup", "CronJob/night"]
        await world.operator.stop()


async def test_an_environment_that_was_applied_while_no_operator_ran_is_told_of_its_jobs(world: World) -> None:
    """Admission is the operator's, so that nothing has judged it."""
    await world.operator.stop()
    await world.create(cron_job("night", "0 3 * * *"), environment(calendar=_hours("08:00", "18:00")))
    await world.seconds(10)
    await world.operator.start()
    await world.seconds(60)
    assert [note.partition(":")[0] for note in _told(world)] == ["CronJob/night"]


async def test_a_hundred_jobs_that_never_run_are_told_in_few_notes_and_not_again(world: World) -> None:
    await world.create(environment(calendar=_hours("08:00", "18:00")))
    await world.seconds(60)
    await world.create(*(cron_job(f"night-{number}", "0 3 * * *") for number in range(104)))
    await world.seconds(300)
    known = len(_told(world))
    assert 0 < known <= 60
    assert len(world.get(ENVIRONMENTS, "dev")["status"]["jobsNeverRun"]) == 100
    await world.operator.stop()
    await world.operator.start()
    await world.seconds(60)
    assert len(_told(world)) == known
