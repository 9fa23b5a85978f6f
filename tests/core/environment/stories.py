"""Generated stories of four weeks of an environment: its hours, Overrides, people, another controller, and kills."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from keda_py.apis.environments.calendar import CalendarSpec
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.queries import moment_of
from keda_py.core.environment.calendar.reading import read_calendar
from keda_py.core.environment.decision.observation import Role
from keda_py.core.environment.overrides import OverrideSpec, OverrideState, TargetKey

START = datetime(2026, 3, 9, tzinfo=UTC)
WEEKS = timedelta(weeks=4)  # with the change of the clock in Prague and in New York
MINUTES = int(WEEKS.total_seconds()) // 60
WAVES = [
    {"name": "data", "selector": {"matchLabels": {"w": "data"}}, "timeout": "3m", "pause": "10s"},
    {"name": "services", "selector": {"matchLabels": {"w": "services"}}, "timeout": "2m"},
]
KEYS = [
    ("StatefulSet/db", Role.WORKLOAD, 0, 2),
    ("ScaledObject/queue", Role.SCALED_OBJECT, 1, 1),
    ("Deployment/web", Role.WORKLOAD, 1, 3),
    ("Deployment/off", Role.WORKLOAD, 2, 0),
    ("Deployment/git", Role.WORKLOAD, 2, 4),
    ("CronJob/report", Role.CRON_JOB, 2, 1),
]
AWAKE_PHASES, ASLEEP_PHASES = ("Waking", "Awake"), ("FallingAsleep", "Asleep")

at_minute = st.integers(60, MINUTES - 60).map(lambda minute: START + timedelta(minutes=minute))
half_hours = st.integers(0, 47).map(lambda half: f"{half // 2:02}:{half % 2 * 30:02}")


@dataclass(frozen=True)
class Story:
    """An event besides the calendar."""

    hours: list[dict[str, str]]
    zone: str
    holiday: int
    overrides: list[tuple[datetime, int, int, OverrideState]]
    edits: list[tuple[datetime, int, int]]
    kills: frozenset[int]
    lost: tuple[datetime, int]
    pods_take: list[int | None]
    fought: bool
    ready_by: bool
    parallel: int


stories = st.builds(
    Story,
    hours=st.tuples(st.sampled_from(["Mon-Fri", "", "Sat,Sun", "Mon,Wed,Fri"]), half_hours, half_hours)
    .filter(lambda each: each[1] != each[2])
    .map(lambda each: [{"days": each[0], "from": each[1], "to": each[2]}]),
    zone=st.sampled_from(["Europe/Prague", "America/New_York", "Asia/Seoul", "UTC"]),
    holiday=st.integers(0, 27),
    overrides=st.lists(st.tuples(at_minute, st.integers(10, 900), st.integers(-3, 5), st.sampled_from(OverrideState)), max_size=5),
    edits=st.lists(st.tuples(at_minute, st.integers(0, 3), st.integers(0, 6)), max_size=8),
    kills=st.frozensets(st.integers(1, 600), max_size=120),
    lost=st.tuples(at_minute, st.integers(0, 2000)),
    pods_take=st.lists(st.sampled_from([0, 5, 40, 200, None]), min_size=6, max_size=6),
    fought=st.booleans(),
    ready_by=st.booleans(),
    parallel=st.integers(1, 6),
)  # fmt: skip


def override(number: int, begins: datetime, minutes: int, target: int, state: OverrideState) -> OverrideSpec:
    member = 0 <= target < len(KEYS)
    kind, _, name = KEYS[target][0].partition("/") if member else ("Environment", "", "dev")
    if not member and state is OverrideState.EXACTLY:
        state = OverrideState.AWAKE
    times: dict[str, Any] = {"created": begins, "starts": begins, "ends": begins + timedelta(minutes=minutes)}
    replicas = 2 if state is OverrideState.EXACTLY else None
    return OverrideSpec(name=f"o{number}", target=TargetKey(kind, name), state=state, replicas=replicas, **times)


def hours_of(story: Story) -> dict[str, Any]:
    """Write the spec of its calendar."""
    day = (START + timedelta(days=story.holiday)).date().isoformat()
    return {"timeZone": story.zone, "hours": story.hours, "holidays": [{"dates": [day], "name": "Holiday"}]}


def calendar_of(story: Story) -> Calendar:
    return read_calendar(CalendarSpec.model_validate(hours_of(story)))


def boundaries_of(calendar: Calendar) -> list[datetime]:
    """List when it opens and closes in these weeks."""
    found, at = [], START
    while (change := moment_of(calendar, at).changes_at) is not None and change < START + WEEKS:
        found.append(change)
        at = change
    return found
