"""nightly-scale-down: four days of three environments in Seoul."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from keda_py.demo.phases import Phases
from keda_py.demo.picture import draw
from keda_py.demo.recorder import Recorder
from keda_py.demo.timeline import Timeline, TimelineChange
from keda_py.kube.resources import SCALED_OBJECTS
from keda_py.localkube.cluster import ClusterOptions
from tests.examples.pages import ENVIRONMENTS, EXAMPLES
from tests.examples.play import Play, play
from tests.localkube.kubectl import needs_kubectl

FOLDER = EXAMPLES / "nightly-scale-down"
SEOUL = ZoneInfo("Asia/Seoul")
FRIDAY = datetime(2026, 11, 27, tzinfo=SEOUL)
WORKING = (0, 3)  # Friday and Monday
NAMES = tuple(f"some-application-{environment}" for environment in ENVIRONMENTS)
DEVELOP, RELEASE, PRODUCTION = NAMES


class Blank:
    """Nobody looks on."""

    def show(self, change: TimelineChange) -> None: ...

    def tick(self, now: datetime) -> None: ...


def wanted() -> Iterator[tuple[datetime, str, int]]:
    """When the count of which Deployment becomes what; a cooldown of 300 s follows each window."""
    for day in range(4):
        if day in WORKING:
            yield FRIDAY + timedelta(days=day, hours=8), RELEASE, 1
        yield FRIDAY + timedelta(days=day, hours=8, minutes=30), DEVELOP, 1
        yield FRIDAY + timedelta(days=day, hours=19, minutes=35), DEVELOP, 0
        if day in WORKING:
            yield FRIDAY + timedelta(days=day, hours=20, minutes=35), RELEASE, 0


def shortened(played: Timeline) -> Timeline:
    """By environment."""

    def short(name: str) -> str:
        return name.removeprefix("some-application-")

    changes = [replace(change, name=short(change.name)) for change in played.changes]
    first = {short(name): count for name, count in played.first.items()}
    return Timeline(start=played.start, end=played.end, changes=changes, first=first)


SELDOM, AS_WRITTEN = 600, None


async def poll(at: Play, seconds: int | None) -> None:
    """Days pass sooner: a schedule that turns is looked at by itself, whatever the interval."""
    for name in (DEVELOP, RELEASE):
        scaled_object = SCALED_OBJECTS.named("some-application", f"{name}-scaledobject")
        await at.world.client.patch(scaled_object, {"spec": {"pollingInterval": seconds}})


@needs_kubectl
async def test_develop_sleeps_at_night_release_at_the_weekend_too_and_production_never(tmp_path: Path) -> None:
    async with play(tmp_path, "nightly-scale-down", options=ClusterOptions(hpa_sync_seconds=900)) as at:
        await at.until(FRIDAY)
        store, clock = at.world.cluster.store, at.world.clock
        recorder = Recorder(store, clock, NAMES, Blank(), Phases(store, clock, "", SEOUL))
        await at.apply()
        await at.shows()
        await poll(at, SELDOM)
        await at.until(FRIDAY + timedelta(hours=7, minutes=50))
        await poll(at, AS_WRITTEN)
        await at.until(FRIDAY + timedelta(hours=8, minutes=40))
        await poll(at, SELDOM)
        await at.until(FRIDAY + timedelta(days=1, hours=12))
        await at.shows()
        await at.until(FRIDAY + timedelta(days=4))
        played = recorder.timeline(FRIDAY, at.world.clock.now())
    later = [change for change in played.changes if change.at > FRIDAY + timedelta(minutes=1)]
    assert [(change.at.replace(microsecond=0), change.name, change.after) for change in later] == list(wanted())
    develop, release, production = (played.replica_hours(name) for name in NAMES)
    a_week = [round(7 / 4 * develop), round(5 / 2 * release), round(7 / 4 * production)]
    assert a_week == [78, 63, 336], "as the README says"
    picture = draw(shortened(played), ENVIRONMENTS, SEOUL, title="Asleep at night, awake in the morning")
    (tmp_path / "days.svg").write_text(picture, encoding="utf-8")
    same = (tmp_path / "days.svg").read_text(encoding="utf-8") == (FOLDER / "days.svg").read_text(encoding="utf-8")
    assert same, f"the picture has changed: cp {tmp_path}/days.svg {FOLDER}"
