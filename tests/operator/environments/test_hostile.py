"""What one tenant writes stops neither the operator nor the environments of others, nor the next process."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import model_validator

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.fairness import TenantPlaces
from keda_py.apis.environments.calendar import CalendarRef
from keda_py.apis.wire import Wire
from keda_py.clock import SteppedClock
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.overrides import MOST_OVERRIDES
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError
from keda_py.kube.resources import CALENDARS, DEPLOYMENTS, OVERRIDES, Obj
from keda_py.operator.cluster.reader import ClusterReader
from keda_py.operator.environments.known.caches import EnvironmentCaches
from keda_py.operator.environments.known.calendars import Calendars
from keda_py.operator.environments.known.changes import pause_between
from keda_py.operator.environments.known.files import MOST_KEPT, Files
from keda_py.operator.environments.known.manifest_cache import Parsed
from keda_py.operator.environments.known.override_cache import Overriding
from keda_py.operator.environments.override_kind import LOOKED_AT_ONCE
from keda_py.operator.environments.state import EnvironmentMemory
from tests.builders import calendar, deployment, environment, override, scaling_schedule
from tests.costs import slowness, within
from tests.operator.environments.builders import LUNCH, status, until
from tests.worlds.world import World


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (override("far", state="Awake", **{"from": "9999-12-31T23:00:00Z", "for": "2h"}), "spec.from: '9999-12-31"),
        (override("far", state="Awake", until="9999-12-31T23:00:00Z"), "spec.until: '9999-12-31"),
        (calendar("far", holidays=[{"country": "APR"}]), "spec.holidays[0].country: 'APR' is unknown"),
    ],
    ids=["a begin at the end of time", "an end there", "a country that is no country"],
)
async def test_what_cannot_be_meant_is_told_and_the_next_process_leads_all_the_same(
    world: World, body: dict[str, Any], told: str
) -> None:
    periods = [{"name": "day", "calendarRef": {"name": "far"}, "minReplicas": 1}]
    schedule = scaling_schedule(names=["app"], periods=periods)
    await world.create(deployment("web", 2), environment(calendar=LUNCH), schedule, body)
    await world.seconds(10)
    await world.operator.kill()
    await world.operator.start()
    await until(world, 20, "12:05")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")
    kind = OVERRIDES if body["kind"] == "Override" else CALENDARS
    found = world.get(kind, "far")["status"]
    (valid,) = [one for one in found["conditions"] if one["type"] == "Valid"]
    assert (valid["status"], valid["message"][: len(told)]) == ("False", told)


async def test_of_members_that_come_and_go_nothing_is_remembered(world: World) -> None:
    await world.create(environment(calendar=LUNCH))
    await until(world, 20, "12:05")
    for number in range(5):
        await world.create(deployment(f"web-{number}", 1))
        await world.seconds(5)
        assert world.replicas(f"web-{number}") == 0
        await world.delete(DEPLOYMENTS, f"web-{number}")
    await world.seconds(5)
    assert world.operator.assembly is not None
    (state,) = world.operator.assembly.environments.environments.states.values()
    assert (state.written, status(world).get("members", {})) == ({}, {})


async def test_thousands_of_overrides_that_have_ended_cost_little_until_they_go() -> None:
    def ended(number: int) -> Obj:
        made = override(f"o{number}", state="Awake", target={"kind": "Environment", "name": "dev"}, **{"for": "1s"})
        made["metadata"] |= {"namespace": "shop", "uid": str(number), "creationTimestamp": "2026-11-20T10:00:00Z"}
        made["metadata"]["resourceVersion"] = str(number)
        return {**made, "status": {"phase": "Ended", "ends": "2026-11-20T10:00:01Z"}}

    lives = [ended(number) for number in range(5000)]
    caches = SimpleNamespace(
        overrides=SimpleNamespace(objects=lambda namespace: list(lives), subscribe=lambda notify: None),
        environments=SimpleNamespace(objects=lambda namespace: []),
    )
    overriding = Overriding(
        SteppedClock(datetime(2026, 11, 20, tzinfo=UTC)), cast(EnvironmentCaches, caches), cast(Calendars, None)
    )
    costs = []
    for number in range(5):
        lives[0]["metadata"]["resourceVersion"] = str(10_000 + number)
        before = time.process_time()
        await overriding.of_namespace("shop")
        costs.append(time.process_time() - before)
    assert min(costs) < 0.01 * slowness()


def test_what_cannot_be_parsed_is_not_tried_again_before_it_changes() -> None:
    tried = []

    class Refused(Wire):
        @model_validator(mode="before")
        @classmethod
        def refuse(cls, body: Obj) -> Obj:
            tried.append(body["metadata"]["generation"])
            raise ValueError

    def ask(generation: int) -> ConfigError:
        live = {"metadata": {"uid": "1", "generation": generation, "resourceVersion": str(len(tried))}}
        with pytest.raises(ConfigError) as refused:
            parsed.of(key, live)
        return refused.value

    parsed, key = Parsed(Refused), ObjectKey("Calendar", "shop", "odd")
    first, second = ask(1), ask(1)
    assert (tried, str(first), first is second) == ([1], str(second), False)
    ask(2)
    parsed.forget(key)
    ask(2)
    assert tried == [1, 2, 2]


def memory(world: World, name: str = "dev") -> EnvironmentMemory:
    """What is remembered of an Environment."""
    assert world.operator.assembly is not None
    states = world.operator.assembly.environments.environments.states.values()
    return next(state for state in states if state.key.name == name)


async def label(world: World, **labels: str) -> None:
    await world.client.patch(DEPLOYMENTS.named("default", "web"), {"metadata": {"labels": labels}})


async def test_a_label_that_no_selector_asks_for_makes_no_environment_look(world: World) -> None:
    waves = [{"name": "first", "selector": {"matchLabels": {"wave": "first"}}}]
    await world.create(deployment("web", 2), environment(selector={"matchLabels": {"tier": "web"}}, waves=waves))
    await world.seconds(10)
    before = memory(world).looked
    await label(world, changed="1")
    await world.seconds(10)
    assert memory(world).looked == before
    await label(world, tier="web")
    await world.seconds(10)
    assert status(world)["membersTotal"] == 1
    await label(world, wave="first")
    await world.seconds(10)
    assert [wave.get("total", 0) for wave in status(world)["waves"]] == [1, 0]


async def test_a_count_is_looked_at_by_the_environment_that_has_the_member_alone(world: World) -> None:
    await world.create(deployment("web", 2), environment("dev"))
    await world.seconds(10)
    await world.create(environment("late"))
    await world.seconds(10)
    before = {name: memory(world, name).looked for name in ("dev", "late")}
    await world.client.patch(DEPLOYMENTS.named("default", "web"), {"spec": {"replicas": 3}})
    await world.seconds(10)
    assert memory(world, "dev").looked > before["dev"]
    assert memory(world, "late").looked == before["late"]


async def test_between_two_looks_that_changes_ask_for_there_is_a_pause_and_none_before_a_boundary(world: World) -> None:
    await world.create(deployment("web", 2), environment(calendar=LUNCH))
    await world.seconds(100)
    await world.client.patch(DEPLOYMENTS.named("default", "web"), {"spec": {"replicas": 3}})
    await world.seconds(1)
    state = memory(world)
    before, state.pause = state.looked, 60.0
    for count in (4, 5, 6):
        await world.client.patch(DEPLOYMENTS.named("default", "web"), {"spec": {"replicas": count}})
        await world.seconds(1)
    assert memory(world).looked == before
    await world.seconds(57)
    assert memory(world).looked == pytest.approx(before + 60.0)
    memory(world).pause = 3600.0
    await until(world, 20, "12:05")
    assert (world.replicas("web"), status(world)["phase"]) == (0, "Asleep")


def test_the_pause_is_that_of_a_crowd_and_nothing_for_all_others() -> None:
    assert [pause_between(30, 1), pause_between(50, 2)] == [0.0, pytest.approx(0.01)]
    assert pause_between(500, 20) == pytest.approx(1.0)
    assert [pause_between(500, 20, 0.03), pause_between(30, 1, 60.0)] == [pytest.approx(3.0), 10.0]


ICS = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20261124\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
TODAY = date(2026, 11, 20)


@pytest.fixture
async def files() -> AsyncIterator[Files]:
    async with AnswerBounds() as answers:
        yield Files(SteppedClock(datetime(2026, 11, 20, tzinfo=UTC)), answers)


async def test_the_same_file_is_read_once_a_day_for_all_that_name_it(files: Files) -> None:
    first = await files.holidays("shop", ICS, TODAY, "UTC", "a")
    assert set(first) == {date(2026, 11, 24)}
    assert await files.holidays("shop", bytes(bytearray(ICS)), TODAY, "UTC", "b") is first
    assert await files.holidays("shop", ICS, date(2026, 11, 21), "UTC", "a") is not first
    for number in range(MOST_KEPT):
        await files.holidays("shop", ICS.replace(b"UID:1", b"UID:%d" % (number + 2)), TODAY, "UTC", "a")
    assert await files.holidays("shop", ICS, TODAY, "UTC", "a") is not first


async def test_what_is_wrong_with_a_file_is_told_with_the_place_of_each_that_names_it(files: Files) -> None:
    for field in ("spec.holidays[0].ics", "spec.holidays[1].ics", "spec.holidays[0].ics"):
        with pytest.raises(ConfigError, match=r"not an iCalendar file") as caught:
            await files.holidays("shop", b"no", TODAY, "UTC", field)
        assert caught.value.field == field


def ics_of(events: int, *lines: str) -> bytes:
    text = ICS.replace(b"END:VEVENT", "\r\n".join((*lines, "END:VEVENT")).encode())
    begin, event, end = text.partition(b"BEGIN:VEVENT")[0], text[text.index(b"BEGIN:VEVENT") :], b"END:VCALENDAR\r\n"
    return begin + event.removesuffix(end) * events + end


async def test_a_file_that_is_hard_to_read_costs_the_loop_nothing(files: Files) -> None:
    await files.holidays("shop", ICS, TODAY, "UTC", "a")  # starts the process
    text = ics_of(100, "RRULE:FREQ=DAILY;COUNT=4000;BYMONTHDAY=31;BYDAY=MO,TU,WE,TH,FR,SA,SU")
    text = text.replace(b"DATE:20261124", b"DATE:20170131")
    with within(0.1, time.thread_time):  # reading it takes five times as long
        found = await files.holidays("shop", text, TODAY, "UTC", "a")
    assert date(2027, 8, 31) in found


async def test_a_file_that_takes_too_long_is_refused_and_not_read_again() -> None:
    text, words = (
        ics_of(1000, *["A:b"] * 180),
        r"^spec\.x: the file is too costly to read \(the answer took more than 0.3 s",
    )
    async with AnswerBounds(cpu_seconds=0.3) as answers:
        files = Files(SteppedClock(datetime(2026, 11, 20, tzinfo=UTC)), answers)
        for _ in range(2):
            with pytest.raises(ConfigError, match=words) as refused:
                await files.holidays("shop", text, TODAY, "UTC", "spec.x")
    assert refused.value.field == "spec.x"


async def test_a_file_that_a_calendar_names_often_is_looked_up_once(files: Files) -> None:
    asked: list[str] = []

    async def get(resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        asked.append(name)
        return {"data": {"ics": ICS.decode()}, "metadata": {"uid": "1", "resourceVersion": "1"}}

    file = {"ics": {"configMapKeyRef": {"name": "nights", "key": "ics"}}}
    live = calendar("often", holidays=[file] * 50)
    live["metadata"] |= {"namespace": "shop", "uid": "1", "resourceVersion": "1"}
    clock = SteppedClock(datetime(2026, 11, 20, tzinfo=UTC))
    reader = cast(ClusterReader, SimpleNamespace(get=get))
    calendars = Calendars(clock, cast(EnvironmentCaches, None), reader, files, "keda")
    assert set((await calendars.of_live(live)).holidays) == {date(2026, 11, 24)}
    assert asked == ["nights"]


async def test_overrides_that_end_with_a_change_ask_for_a_calendar_once_together() -> None:
    asked: list[str] = []

    async def of_environment(namespace: str, name: str, spec: Any) -> Calendar:
        asked.append(name)
        raise ConfigError("spec: broken", field="spec")

    def one(number: int) -> Obj:
        target = {"kind": "Environment", "name": f"dev-{number % 20}"}
        made = override(f"o{number}", state="Awake", target=target, until="NextChange")
        made["metadata"] |= {"namespace": "shop", "uid": str(number), "creationTimestamp": "2026-11-20T10:00:00Z"}
        made["metadata"]["resourceVersion"] = str(number)
        return made

    lives = [one(number) for number in range(100)]
    spec = SimpleNamespace(calendar_ref=CalendarRef(name="office"))
    caches = SimpleNamespace(
        overrides=SimpleNamespace(objects=lambda namespace: lives, subscribe=lambda notify: None),
        environments=SimpleNamespace(objects=lambda namespace: [{}, {}], get=lambda namespace, name: {"name": name}),
    )
    calendars = cast(Calendars, SimpleNamespace(spec_of=lambda live: spec, of_environment=of_environment))
    clock = SteppedClock(datetime(2026, 11, 20, tzinfo=UTC))
    overriding = Overriding(clock, cast(EnvironmentCaches, caches), calendars)
    await overriding.of_namespace("shop")
    assert asked == ["dev-0"]


async def test_of_a_crowd_of_overrides_the_oldest_are_read_whatever_comes_and_goes() -> None:
    lives: dict[str, Obj] = {}
    heard: list[Any] = []
    caches = SimpleNamespace(overrides=SimpleNamespace(objects=lambda _: [*lives.values()], subscribe=heard.append))
    clock = SteppedClock(datetime(2026, 11, 20, tzinfo=UTC))
    overriding = Overriding(clock, cast(EnvironmentCaches, caches), cast(Calendars, None))

    def tell(number: int, phase: str | None) -> None:
        made = override(f"o{number:04}", state="Awake")
        made["metadata"] |= {"namespace": "shop", "uid": str(number), "creationTimestamp": "2026-11-20T10:00:00Z"}
        new = {**made, "status": {"phase": phase}} if phase is not None else None
        old = lives.pop(str(number), None)
        if new is not None:
            lives[str(number)] = new
        heard[0](old, new)

    def first_that_is_refused() -> int:
        return next(
            number for number in range(2000) if str(number) in lives and not overriding.has_room("shop", str(number))
        )

    for number in range(MOST_OVERRIDES + 50):
        tell(number, "Active")
        overriding.room("shop")
    assert first_that_is_refused() == MOST_OVERRIDES
    tell(0, None)
    assert first_that_is_refused() == MOST_OVERRIDES + 1
    tell(MOST_OVERRIDES + 40, None)
    tell(1, "Ended")
    assert first_that_is_refused() == MOST_OVERRIDES + 2
    for number in range(2, 60):
        tell(number, "Ended")
    assert overriding.has_room("shop", str(MOST_OVERRIDES + 49))
    tell(MOST_OVERRIDES + 50, "Active")
    assert overriding.has_room("shop", str(MOST_OVERRIDES + 50))


async def test_of_a_crowd_that_comes_at_once_a_few_of_each_namespace_have_a_turn() -> None:
    turns, working, most = TenantPlaces(LOOKED_AT_ONCE), Counter[str](), Counter[str]()

    async def write(namespace: str) -> None:
        async with turns.turn(namespace):
            working[namespace] += 1
            most[namespace] = max(most[namespace], working[namespace])
            await asyncio.sleep(0)
            working[namespace] -= 1

    async with asyncio.TaskGroup() as tasks:
        for number in range(100):
            tasks.create_task(write(f"n{number % 2}"))
    assert most == {"n0": LOOKED_AT_ONCE, "n1": LOOKED_AT_ONCE}
