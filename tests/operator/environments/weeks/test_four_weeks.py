"""Four weeks of two environments on the very operator: what must hold whatever happens, whenever it is killed."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.overrides import OverrideState
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES
from keda_py.localkube.cluster import ClusterOptions
from tests.core.environment.stories import (
    ASLEEP_PHASES,
    AWAKE_PHASES,
    KEYS,
    START,
    WEEKS,
    Story,
    at_minute,
    boundaries_of,
    stories,
)
from tests.http_server import http_server
from tests.operator.environments.weeks.life import ARGO, HOUR, PERSON, Life, Thing
from tests.patient import PatientLoop
from tests.properties import explored
from tests.worlds.world import open_world

SECOND = timedelta(seconds=1)
DAY_SECONDS = 86400.0
Act = Callable[[], Awaitable[None]]

moves = st.lists(st.tuples(at_minute, st.integers(0, len(KEYS) - 1)), max_size=3)
kills = st.frozensets(st.integers(1, 400), max_size=6)


@dataclass(frozen=True)
class Moment:
    """Something to be done at an instant, or to be looked at then; `boundary` of the calendar is a second ago."""

    at: datetime
    act: Act | None = None
    boundary: bool = False


def at(day: int, clock: str) -> datetime:
    """UTC, of a day of the story: the first is a Monday, in the third week Prague changes its clocks."""
    hour, minute = map(int, clock.split(":"))
    return START + timedelta(days=day - 1, hours=hour, minutes=minute)


AWAKE, ASLEEP, HOLD, EXACTLY = OverrideState.AWAKE, OverrideState.ASLEEP, OverrideState.HOLD, OverrideState.EXACTLY
DB, QUEUE, WEB, OFF, GIT, REPORT = range(len(KEYS))
DEV = -1
OVERRIDES_AND_PEOPLE = Story(
    hours=[{"days": "Mon,Wed,Fri", "from": "08:30", "to": "19:30"}],
    zone="Europe/Prague",
    holiday=4,
    overrides=[
        (at(1, "18:00"), 240, DEV, AWAKE),
        (at(3, "10:00"), 90, DEV, ASLEEP),
        (at(8, "18:20"), 30, DEV, HOLD),
        (at(9, "12:00"), 600, WEB, AWAKE),
        (at(10, "23:00"), 120, WEB, EXACTLY),
        (at(15, "10:00"), 60, QUEUE, ASLEEP),
        (at(15, "10:20"), 60, DEV, AWAKE),
        (at(28, "23:30"), 60, DEV, AWAKE),
    ],
    edits=[
        (at(1, "10:00"), WEB, 6),
        (at(2, "22:00"), DB, 1),
        (at(8, "22:00"), OFF, 2),
        (at(12, "11:00"), WEB, 2),
        (at(17, "07:31"), DB, 4),
        (at(22, "23:00"), QUEUE, 3),
    ],
    kills=frozenset(),
    lost=(at(24, "12:00"), 600),
    pods_take=[5, 5, 40, 0, 5, 0],
    fought=False,
    ready_by=True,
    parallel=2,
)
NEIGHBOURS_AND_GIT = Story(
    hours=[{"days": "Sat,Sun", "from": "22:00", "to": "06:00"}],
    zone="America/New_York",
    holiday=13,
    overrides=[(at(7, "01:00"), 300, GIT, ASLEEP), (at(21, "02:00"), 45, DB, EXACTLY)],
    edits=[(at(14, "04:00"), WEB, 0), (at(15, "12:00"), WEB, 5), (at(20, "12:00"), DB, 0)],
    kills=frozenset(),
    lost=(START, 0),
    pods_take=[5, 0, None, 5, 5, 0],
    fought=True,
    ready_by=False,
    parallel=6,
)


@example(story=OVERRIDES_AND_PEOPLE, moves=[], kills=frozenset({14, 61, 140, 233}))
@example(
    story=NEIGHBOURS_AND_GIT,
    moves=[(at(9, "12:00"), WEB), (at(15, "03:00"), DB), (at(16, "12:00"), QUEUE), (at(22, "08:00"), DB)],
    kills=frozenset({33, 90, 151}),
)
@explored(60)
@given(story=stories, moves=moves, kills=kills)
def test_four_weeks_of_the_operator_lose_no_count_and_no_boundary(
    story: Story, moves: list[tuple[datetime, int]], kills: frozenset[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=PatientLoop) as runner:
        runner.run(live_through(Path(folder), story, moves, kills))


async def live_through(folder: Path, story: Story, moves: list[tuple[datetime, int]], kills: frozenset[int]) -> None:
    options = ClusterOptions(hpa_sync_seconds=DAY_SECONDS)
    async with (
        asyncio.TaskGroup() as tasks,
        http_server() as server,
        open_world(folder, server, tasks, options) as world,
    ):
        life = Life(world, story, kills, twins=bool(moves))
        await life.begin()
        for moment in moments(life, moves):
            await life.reach(moment.at)
            if moment.act is not None:
                await moment.act()
                await life.reach(moment.at + SECOND / 2)
            check(life)
            if moment.boundary:
                no_boundary_is_missed(life)
        await everything_is_given_back_at_the_end(life)


def moments(life: Life, moves: list[tuple[datetime, int]]) -> list[Moment]:
    """In their order."""
    story, things = life.story, list(life.things.values())
    boundaries = boundaries_of(life.calendar)
    lost_from, lost_for = story.lost
    found = [
        *(Moment(at + SECOND, boundary=True) for at in boundaries),
        *(Moment(at + HOUR) for at in boundaries),
        *(Moment(each[0], partial(life.create_override, number)) for number, each in enumerate(story.overrides)),
        *(Moment(at, partial(life.scale, things[who], max(count, int(who == 1)))) for at, who, count in story.edits),
        *(Moment(at, partial(life.move, things[who])) for at, who in moves),
    ]
    if lost_for:
        found += [
            Moment(lost_from, life.lose_calendar),
            Moment(lost_from + timedelta(minutes=lost_for), life.find_calendar),
        ]
    if story.fought:
        git = life.things["Deployment/git"]
        found += [Moment(START + HOUR * (5 * step) + SECOND * 7, partial(life.sync, git)) for step in range(1, 134)]
    return sorted((one for one in found if one.at < START + WEEKS), key=lambda one: one.at)


def check(life: Life) -> None:
    assert not life.problems
    for thing in life.things.values():
        status = life.status(thing.owner)
        if life.now - thing.moved < HOUR or life.rule_of(thing) is not None:
            continue
        if status["phase"] == "Awake":
            its_count_is_restored(life, thing)
        if status["phase"] == "Asleep" and not life.lost and not moment_of(life.calendar, life.now).open:
            nothing = life.count(thing) == 0 or thing.manager in (PERSON, ARGO)
            assert nothing, f"{thing.key} is up by itself at {life.now}"


def its_count_is_restored(life: Life, thing: Thing) -> None:
    """Waves time out, and what waits behind a member that never becomes ready has its turn all the same."""
    remembered = (life.status(thing.owner).get("members") or {}).get(thing.key)
    if remembered is not None:
        slow = any(one is None for one in life.story.pods_take)
        assert slow, f"{thing.key} is still remembered at {life.now}: {remembered}"
        return
    count = life.count(thing)
    restored = count >= thing.owned if thing.kind == "ScaledObject" else count == thing.owned
    assert restored, f"{thing.key} has {count} of {thing.owned} at {life.now}"


def no_boundary_is_missed(life: Life) -> None:
    """Unless an Override has ruled in the last hours, or there is no calendar."""
    since = life.now - 2 * HOUR
    ruled = any(each.created <= life.now and (each.ends is None or each.ends > since) for each in life.overrides)
    if ruled or life.lost:
        return
    phases = AWAKE_PHASES if moment_of(life.calendar, life.now).open else ASLEEP_PHASES
    for name in life.environments:
        assert life.status(name)["phase"] in phases, f"{name} missed a boundary at {life.now}"


async def everything_is_given_back_at_the_end(life: Life) -> None:
    """However it stands then."""
    await life.reach(START + WEEKS)
    for live in life.world.all(OVERRIDES):
        await life.delete_override(live["metadata"]["name"])
    await life.reach(START + WEEKS + SECOND * 60)
    for name in life.environments:
        await life.world.delete(ENVIRONMENTS, name)
    await life.reach(START + WEEKS + SECOND * 600)
    for thing in life.things.values():
        count = life.count(thing)
        assert count == thing.owned or (thing.kind == "ScaledObject" and count >= 1), f"{thing.key} has {count}"
    assert not life.problems
