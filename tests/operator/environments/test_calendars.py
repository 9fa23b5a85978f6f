"""Calendars that are referred to: their statuses, their files, and what a broken one does: nothing."""

import asyncio
from datetime import UTC, datetime
from typing import cast

from keda_py.apis.environments.environment import EnvironmentSpec
from keda_py.calendars.ics import MOST_BYTES
from keda_py.clock import SteppedClock
from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.resources import CALENDARS, CLUSTER_CALENDARS, CONFIG_MAPS, Obj
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.files import Files
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


async def test_files_that_are_too_long_together_are_refused_before_any_is_read(world: World) -> None:
    half = ICS + " " * (MOST_BYTES // 2 - len(ICS))
    keys = ({"name": "days", "key": "days.ics"}, {"name": "more", "key": "days.ics"})
    holidays = [{"country": "KR"}, *({"ics": {"configMapKeyRef": key}} for key in keys)]
    await world.create(config_map("days", **{"days.ics": half}), config_map("more", **{"days.ics": half}))
    await world.create(calendar(holidays=holidays))
    await world.seconds(1)
    assert _valid(world) == ("True", "")
    await world.patch(CONFIG_MAPS, {"data": {"days.ics": half + " "}}, name="more")
    await world.seconds(3700)
    told = "this file and those before have more than 1000000 bytes; leave out years that are over"
    assert _valid(world) == ("False", f"spec.holidays[2].ics: {told}")


def _valid(world: World) -> tuple[str, str]:
    (valid,) = world.get(CALENDARS, "office")["status"]["conditions"]
    return valid["status"], valid.get("message", "")


async def test_a_calendar_of_the_cluster_serves_every_namespace(world: World) -> None:
    await world.create(calendar(kind="ClusterCalendar"))
    reference = {"name": "office", "kind": "ClusterCalendar"}
    await world.create(deployment("web", 2), environment(calendarRef=reference))
    await until(world, 20, "18:01")
    assert world.replicas("web") == 0
    assert world.get(CLUSTER_CALENDARS, "office")["status"]["open"] is False


async def test_one_that_goes_just_as_it_was_built_is_given_to_who_asked_and_then_forgotten() -> None:
    clock = SteppedClock(datetime(2026, 11, 20, tzinfo=UTC))
    calendars = Calendars(clock, cast(EnvironmentCaches, None), cast(ClusterReader, None), cast(Files, None), "keda")
    live = calendar()
    live["metadata"] |= {"namespace": "default", "uid": "1", "resourceVersion": "1"}
    asked = EnvironmentSpec.model_validate({"calendarRef": {"name": "office"}})

    async def delete() -> None:
        while calendars.has_files("default", "office", asked):  # it is not built yet
            await asyncio.sleep(0)
        calendars.forget(ObjectKey("Calendar", "default", "office"))

    async with asyncio.timeout(10):
        found, _ = await asyncio.gather(calendars.of_live(live), delete())
    assert str(found.zone) == "UTC"
    assert calendars.has_files("default", "office", asked)
