"""Calendars that are referred to: their statuses, their files, and what a broken one does: nothing."""

from keda_py.kube.resources import CALENDARS, CLUSTER_CALENDARS, CONFIG_MAPS, Obj
from tests.builders import calendar, config_map, deployment, environment
from tests.operator.environments.builders import condition, events, status, until
from tests.worlds.world import World

ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//keda-py//tests//EN
BEGIN:VEVENT
UID:1
DTSTART;VALUE=DATE:20261124
SUMMARY:Company day
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")


def from_file() -> list[Obj]:
    return [{"ics": {"configMapKeyRef": {"name": "days", "key": "days.ics"}}}]


async def test_a_calendar_says_whether_it_is_open_and_what_comes_next(world: World) -> None:
    await world.create(calendar(holidays=[{"country": "KR"}]))
    await world.seconds(1)
    told = world.get(CALENDARS, "office")["status"]
    assert (told["open"], told["nextChange"]["to"]) == (True, "Closed")
    assert told["nextHolidays"][0]["date"] == "2026-12-25"
    await until(world, 20, "18:01")
    assert world.get(CALENDARS, "office")["status"]["open"] is False


async def test_a_holiday_of_a_file_keeps_an_environment_asleep(world: World) -> None:
    await world.create(config_map("days", **{"days.ics": ICS}), calendar(holidays=from_file()))
    await world.create(deployment("web", 2), environment(calendarRef={"name": "office"}))
    await until(world, 23, "12:00")
    assert world.replicas("web") == 2
    await until(world, 24, "12:00")
    assert world.replicas("web") == 0
    assert "Company day" in status(world)["because"]


async def test_a_missing_file_puts_nothing_to_sleep_and_is_said_once(world: World) -> None:
    told = events(world)
    await world.create(calendar(holidays=from_file()))
    await world.create(deployment("web", 2), environment(calendarRef={"name": "office"}))
    await until(world, 21, "12:00")
    assert world.replicas("web") == 2
    assert condition(world, "Valid") == ("False", "CalendarInvalid")
    assert told.count(("Warning", "EnvironmentInvalid")) == 1
    (valid,) = world.get(CALENDARS, "office")["status"]["conditions"]
    assert "there is no ConfigMap 'days'" in valid["message"]
    await world.create(config_map("days", **{"days.ics": ICS}))
    await world.seconds(3700)
    assert world.replicas("web") == 0
    assert world.find(CONFIG_MAPS, "days") is not None


async def test_a_calendar_of_the_cluster_serves_every_namespace(world: World) -> None:
    await world.create(calendar(kind="ClusterCalendar"))
    reference = {"name": "office", "kind": "ClusterCalendar"}
    await world.create(deployment("web", 2), environment(calendarRef=reference))
    await until(world, 20, "18:01")
    assert world.replicas("web") == 0
    assert world.get(CLUSTER_CALENDARS, "office")["status"]["open"] is False
