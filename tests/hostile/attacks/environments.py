"""What sleeps and wakes: a namespace that is full of it, while the neighbour's own goes on by its calendar."""

from datetime import timedelta
from itertools import count

from keda_py.clock import SystemClock
from keda_py.kube.resources import CALENDARS, CONFIG_MAPS, DEPLOYMENTS, ENVIRONMENTS, OVERRIDES, Obj
from tests.builders import config_map, deployment, obj
from tests.hostile import innocent
from tests.hostile.case import Case
from tests.hostile.cleaning import HOSTILE
from tests.hostile.trial import Trial
from tests.hostile.waiting import until

CLOCK = SystemClock()
GROUP = "keda-py.dev/v1alpha1"
MEMBERS, CHOOSING, OVERRIDING, HEAVY = 500, 200, 1000, 20
SETTLED, LATE = timedelta(seconds=15), timedelta(seconds=5)
"""Before the neighbour's boundary it is to be seen awake; and how long after it the count may be written."""
TEN_YEARS = "2026-01-01/2035-12-31"
SPANS = [{"from": f"{n // 4:02d}:{n % 4 * 15:02d}", "to": f"{n // 4:02d}:{n % 4 * 15 + 10:02d}"} for n in range(50)]
FILE: Obj = {"ics": {"configMapKeyRef": {"name": "nights", "key": "ics"}}}
CALENDAR: Obj = {"timeZone": "UTC", "hours": SPANS}
CALENDARS_OF: tuple[Obj, ...] = (
    CALENDAR | {"holidays": [FILE]},
    CALENDAR | {"holidays": [{"dates": [TEN_YEARS]}]},
    CALENDAR | {"exceptions": [{"dates": [TEN_YEARS], "hours": SPANS}] * 200},
    CALENDAR | {"holidays": [FILE] * 50},
)
"""As heavy as may be; and the same many times."""


async def _nights(trial: Trial) -> None:
    """Most are too many and are refused; all are looked at. A member that changes without end has each look again."""
    await trial.create(CONFIG_MAPS, config_map(trial.case, ics=recurrences()))
    await trial.each(lambda n: _calendar(trial, n), HEAVY)
    await trial.each(lambda n: trial.create(DEPLOYMENTS, deployment(f"{trial.case}-{n}", n % 2)), MEMBERS)
    await trial.each(lambda n: _environment(trial, n), CHOOSING)
    await trial.each(lambda n: _override(trial, n), OVERRIDING)
    trial.spawn(_changes(trial))
    await _neighbour(trial)


def recurrences() -> str:
    """An iCalendar file with as many events as may be, each day, and with exceptions."""
    beginning = ["BEGIN:VEVENT", "UID:{n}", "SUMMARY:{n}", "DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY"]
    event = "\r\n".join([*beginning, *["EXDATE;VALUE=DATE:20260102"] * 100, "END:VEVENT", ""])
    events = "".join(event.format(n=n) for n in range(200))
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n"


async def _calendar(trial: Trial, number: int) -> None:
    spec = CALENDARS_OF[number % len(CALENDARS_OF)]
    await trial.create(CALENDARS, obj(GROUP, "Calendar", f"{trial.case}-{number}", spec=spec))


async def _environment(trial: Trial, number: int) -> None:
    """All select all."""
    spec = {"calendarRef": {"name": f"{trial.case}-{number % HEAVY}"}, "grace": "0s", "selector": {}}
    await trial.create(ENVIRONMENTS, obj(GROUP, "Environment", f"{trial.case}-{number}", spec=spec))


async def _override(trial: Trial, number: int) -> None:
    """Each looks its end up in a calendar."""
    target = {"kind": "Environment", "name": f"{trial.case}-{number % CHOOSING}"}
    spec = {"target": target, "state": "Awake" if number % 2 else "Asleep", "until": "NextChange"}
    await trial.create(OVERRIDES, obj(GROUP, "Override", f"{trial.case}-{number}", spec=spec))


async def _changes(trial: Trial) -> None:
    for number in count():
        change = {"metadata": {"labels": {"changed": str(number)}}}
        await trial.client.patch(DEPLOYMENTS.named(HOSTILE, f"{trial.case}-{number % MEMBERS}"), change)


async def _neighbour(trial: Trial) -> None:
    """The innocent tenant's own closes with a minute of the clock, and its workload sleeps from then on, not before."""
    boundary = (CLOCK.now() + SETTLED).replace(second=0, microsecond=0) + timedelta(minutes=1)
    hours = {"from": f"{boundary - timedelta(hours=12):%H:%M}", "to": f"{boundary:%H:%M}"}
    calendar = {"timeZone": "UTC", "hours": [hours]}
    labels = {"matchLabels": {"sleeps": "yes"}}
    workload = deployment(trial.case, 1)
    workload["metadata"]["labels"] = {"sleeps": "yes"}
    spec = {"calendar": calendar, "grace": "0s", "selector": labels}
    await trial.create_in(innocent.NAMESPACE, DEPLOYMENTS, workload)
    await trial.create_in(innocent.NAMESPACE, ENVIRONMENTS, obj(GROUP, "Environment", trial.case, spec=spec))
    path = ENVIRONMENTS.named(innocent.NAMESPACE, trial.case)
    await until(trial.client, path, _is_awake, innocent.NEW_SECONDS)

    async def check() -> None:
        seconds = (boundary + LATE - CLOCK.now()).total_seconds()
        await until(trial.client, DEPLOYMENTS.named(innocent.NAMESPACE, trial.case), _sleeps, seconds)
        assert CLOCK.now() >= boundary, "the neighbour's workload fell asleep before its calendar closed"

    trial.afterwards(check)


def _is_awake(live: Obj) -> bool:
    return bool((live.get("status") or {}).get("phase") == "Awake")


def _sleeps(live: Obj) -> bool:
    return not live["spec"]["replicas"]


CASES = (
    Case(
        id="nights",
        sentence="200 Environments, 1 000 Overrides and the heaviest Calendars for 500 members that change without end,"
        " while the other tenant's Environment closes at its hour",
        attack=_nights,
    ),
)
