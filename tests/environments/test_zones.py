"""Times of Environments: in the zone of their Calendar, and beside it in the reader's."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from keda_py.clock import FakeClock
from keda_py.core.environment.overrides import OverrideState
from keda_py.environments.ending import Ending, end_overrides
from keda_py.environments.overriding import Wish, request
from keda_py.environments.show import look_at_all, look_at_one
from keda_py.explanation.night import night_lines, night_of, night_page
from keda_py.explanation.requests import list_objects
from keda_py.explanation.rulers import read_rulers
from keda_py.kube.resources import ENVIRONMENTS, OVERRIDES, SCALED_OBJECTS
from keda_py.terminal.times import Times
from tests.builders import calendar, cron, environment, metrics_api, override, scaled_object
from tests.environments.builders import NOW
from tests.worlds.world import open_world

KST, CET, UNIVERSAL = ZoneInfo("Asia/Seoul"), ZoneInfo("Europe/Prague"), ZoneInfo("UTC")
SLEEPS = {"at": "2026-11-20T18:30:00Z", "to": "Asleep", "because": "outside of the hours"}


@pytest.mark.parametrize(
    ("zone", "reader", "told"),
    [
        (KST, CET, "03:30 KST (Fri 19:30 CET)"),
        (KST, UNIVERSAL, "03:30 KST (Fri 18:30 UTC)"),
        (KST, KST, "03:30 KST"),
        (None, CET, "19:30 CET"),
        (None, UNIVERSAL, "18:30 UTC"),
        (ZoneInfo("Europe/Berlin"), CET, "19:30 CET"),
    ],
)
def test_a_time_is_labelled_with_each_zone_and_told_once_where_both_are_one(
    zone: ZoneInfo | None, reader: ZoneInfo, told: str
) -> None:
    assert Times(now=NOW, zone=zone, reader=reader).spoken(datetime(2026, 11, 20, 18, 30, tzinfo=UTC)) == told


async def test_until_is_read_on_the_clock_of_the_person_who_writes_it(tmp_path: Path) -> None:
    times = Times(now=NOW, reader=CET)
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        await world.create(environment())
        wish = Wish(state=OverrideState.AWAKE, until="22:00")
        told, made = await request(world.client, "default", wish, times)
        assert made["spec"]["until"] == "2026-11-20T21:00:00Z"
        assert "until 21:00 UTC (22:00 CET)" in told[0]


async def test_env_tells_the_times_of_its_calendar_also_of_one_that_it_only_names(tmp_path: Path) -> None:
    times = Times(now=NOW, reader=CET)
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        hours = [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]
        await world.create(calendar(timeZone="Asia/Seoul", hours=hours))
        await world.create(environment("seoul", calendarRef={"name": "office"}), environment("own"))
        for name in ("seoul", "own"):
            override = {"name": "x", "state": "Awake", "until": "2026-11-20T18:30:00Z"}
            status = {"phase": "Awake", "nextChange": SLEEPS, "override": override}
            await world.client.patch(ENVIRONMENTS.named("default", name, "status"), {"status": status})
        page, _ = await look_at_one(world.client, "default", "seoul", times, 200)
        assert "next: sleeps at 03:30 KST (Fri 19:30 CET)" in page.plain
        table, _ = await look_at_all(world.client, "default", times, 200)
        assert "kept awake by Override x until 03:30 KST (Fri 19:30 CET)" in table.plain
        assert "kept awake by Override x until 18:30 UTC (19:30 CET)" in table.plain


async def test_end_tells_the_time_of_an_override_in_the_zone_of_its_calendar_and_of_the_reader(tmp_path: Path) -> None:
    seoul = {"timeZone": "Asia/Seoul", "hours": [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]}
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        until = {"state": "Awake", "until": "2026-11-20T18:30:00Z"}
        dev, web = {"kind": "Environment", "name": "seoul"}, {"kind": "Deployment", "name": "web"}
        await world.create(environment("seoul", calendar=seoul), override("x", target=dev, **until))
        await world.create(override("only", **until), override("lone", target=web, **until))
        for name in ("x", "only", "lone"):
            status = {"phase": "Active", "ends": "2026-11-20T18:30:00Z"}
            await world.client.patch(OVERRIDES.named("default", name, "status"), {"status": status})
        wish = Ending(everything=True, dry_run=True)
        told, _ = await end_overrides(world.client, "default", wish, Times(now=NOW, reader=CET))
        both = "until 03:30 KST (Fri 19:30 CET)"
        assert [both in line for line in told if line.startswith("Override")] == [False, True, True]
        assert "Deployment web kept awake until 19:30 CET" in told[0]


async def test_a_night_of_all_objects_is_told_in_the_zone_of_each_and_of_the_reader(tmp_path: Path) -> None:
    office = cron("30 8 * * *", "30 19 * * *", timezone="Asia/Seoul")
    seoul = {"timeZone": "Asia/Seoul", "hours": [{"days": "Mon-Fri", "from": "08:30", "to": "19:30"}]}
    queue = metrics_api("http://queue")
    async with open_world(tmp_path, clock=FakeClock(NOW)) as world:
        await world.create(scaled_object(office, name="own"), scaled_object(queue, name="none"))
        member = scaled_object(queue, name="member")
        member["metadata"]["labels"] = {"team": "a"}
        await world.create(member)
        await world.create(environment("seoul", calendar=seoul, selector={"matchLabels": {"team": "a"}}))
        for name in ("own", "none", "member"):
            changed = {"time": "2026-11-20T16:30:00Z", "reason": "Deactivated", "replicas": {"before": 1, "after": 0}}
            status = {"status": {"kedaPyHistory": [changed]}}
            await world.client.patch(SCALED_OBJECTS.named("default", name, "status"), status)
        rulers, times = await read_rulers(world.client, ""), Times(now=NOW, reader=CET)
        night = night_of(await list_objects(world.client, ""), NOW - timedelta(hours=1), times, rulers)
        head, _, *rows = night_page(night, 200).plain.splitlines()
        assert head.split()[:5] == ["Time", "(CET)", "In", "its", "zone"]
        assert [("17:30:00" in row, "2026-11-21 01:30:00 KST" in row) for row in rows] == [
            (True, "own" in row or "member" in row) for row in rows
        ]
        assert [line.partition("  ")[0] for line in night_lines(night)] == [
            "2026-11-21 01:30:00 KST, 2026-11-20 17:30:00 CET",
            "2026-11-20 17:30:00 CET",
            "2026-11-21 01:30:00 KST, 2026-11-20 17:30:00 CET",
        ]
