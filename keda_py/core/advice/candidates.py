"""A history, a zone and holidays -> hours that may be proposed, the shortest first, or why there are none.

A later candidate tolerates less use while it is asleep, so that a proposal that would deny too much is narrowed to the
next one. Windows without a habit behind them end the list: odd moments cannot be made hours.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from keda_py.core.advice.days import lay_on_days
from keda_py.core.advice.floor import Floor, NoFloor, find_floor, floors_of
from keda_py.core.advice.habit import HabitChange, find_change
from keda_py.core.advice.history import History
from keda_py.core.advice.hours import AwakeHours, asleep_hours, hours_of, union_of
from keda_py.core.advice.marks import ABSENT, UNKNOWN, USED, Marks, close_sessions, join_marks, mark_steps, mark_weeks
from keda_py.core.advice.profile import LEAST_WEEKS, RECENT, RECENT_DAYS, Days, awake_slots, ever_awake
from keda_py.core.environment.calendar.days import DAY

# Three weeks: in fewer, each odd day would be a third of what is known.
LEAST = timedelta(days=21)
_LEAST_KNOWN = 0.5
# Seconds between two uses that still count as one: shorter than the shortest sleep, so no sleep would fit between them.
_PAUSE = 3300
_TOLERATED = (0.36, 0.15, 0.0)
"""Shares of the weeks in which a slot may have been used, or unknown, and still be asleep."""
_WORTH = 7.0
"""Hours asleep a week below which nothing is proposed."""
_REGULAR = 0.4
"""A window was used on so many of the days on which anything is known of it."""
_MOST_UNSEEN = 24.0
"""Hours a week that are kept awake only because nothing is known of them."""
_MOST_WINDOWS = 4
"""Of a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Measured use of one workload: the floor, the marks, and its days since `change`, without holidays."""

    history: History
    zone: ZoneInfo
    floor: Floor
    marks: Marks
    days: Days
    further: Days = field(default_factory=dict)
    """Days that were taken out: public holidays, and those before `change`. Their idle slots confirm idle ones."""
    change: HabitChange | None = None
    holidays: tuple[tuple[date, str], ...] = ()
    """Those that were taken out."""

    @property
    def least_weeks(self) -> int:
        """Return in how many weeks a slot has to be seen idle: a move that two weeks show has no third one."""
        return LEAST_WEEKS if self.change is None else min(self.change.weeks, LEAST_WEEKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Awake in these hours of the local week; in none: asleep always. `closed`: on public holidays, too."""

    hours: tuple[AwakeHours, ...]
    closed: bool = False


@dataclass(frozen=True, slots=True)
class NoCandidate:
    """The reason against any proposal."""

    because: str


def measure(history: History, *further: History) -> tuple[Floor, Marks] | NoCandidate:
    """The floor and the marks, which depend on no zone. `further` are other kinds of use over the same steps."""
    first, *others = map(_measure, (history, *further))
    if isinstance(first, NoCandidate):
        return first
    marks = first[1]
    for other in others:
        if isinstance(other, NoCandidate):
            return other
        marks = replace(marks, steps=join_marks(marks.steps, other[1].steps))
    return first[0], marks


def _measure(history: History) -> tuple[Floor, Marks] | NoCandidate:
    refused = refuse_history(history)
    if refused is not None:
        return refused
    floors = floors_of(history)
    if floors:
        return floors[-1], mark_weeks(history, floors)
    floor = find_floor(history)
    return NoCandidate(floor.because) if isinstance(floor, NoFloor) else (floor, mark_steps(history, floor))


def refuse_history(history: History) -> NoCandidate | None:
    """Say why a history is too short, or has too many gaps, to show a habit."""
    length = history.ends - history.origin
    if length < LEAST:
        text = f"there are {length.total_seconds() / 86_400:.0f} days of data, and a weekly habit needs {LEAST.days}"
        return NoCandidate(text)
    if history.known < _LEAST_KNOWN:
        return NoCandidate(f"{1 - history.known:.0%} of the data is missing, and what is missing is not idle")
    return None


def look_at(history: History, found: tuple[Floor, Marks], zone: ZoneInfo, holidays: Mapping[date, str]) -> Use:
    """The days that count."""
    floor, marks = found
    days = lay_on_days(history, close_sessions(marks.steps, _PAUSE // history.step), zone)
    taken = tuple((day, holidays[day]) for day in days if day in holidays)
    seen = lay_on_days(history, marks.steps, zone)
    change = find_change({day: row for day, row in seen.items() if day not in holidays})
    since = change.since if change is not None and change.forgets else date.min
    return Use(
        history=history,
        zone=zone,
        floor=floor,
        marks=marks,
        days={day: row for day, row in days.items() if day >= since and day not in holidays},
        further={day: row for day, row in days.items() if day < since or day in holidays},
        change=change,
        holidays=taken,
    )


def candidates(use: Use) -> Iterator[Candidate | NoCandidate]:
    """The shortest hours first; `NoCandidate` as the last one says why no longer ones follow."""
    if USED not in use.marks.steps:
        yield from _never_used(use)
        return
    hours: tuple[AwakeHours, ...] = ()
    ever = ever_awake(use.days)
    for number, tolerated in enumerate(_TOLERATED):
        # An end that moves may come close to other days' ends than before, and then not move as far: hours that deny
        # less would be shorter there. So each candidate has the hours of the one before it.
        awake = awake_slots(use.days, tolerated, use.further, use.least_weeks)
        shorter, hours = hours, union_of(hours, hours_of(awake, ever))
        if number and hours == shorter:
            continue
        refused = _refuse(use, hours)
        if refused is not None:
            yield refused
            return
        yield Candidate(hours=hours, closed=_closed_on_holidays(use, hours))


def _never_used(use: Use) -> Iterator[Candidate | NoCandidate]:
    hours = hours_of(awake_slots(use.days, _TOLERATED[0], use.further), ever_awake(use.days))
    if hours:
        yield NoCandidate("no use was seen, but too much of the data is missing, and what is missing is not idle")
    else:
        yield Candidate(hours=())


def _refuse(use: Use, hours: tuple[AwakeHours, ...]) -> NoCandidate | None:
    if use.change is not None and not any(USED in row for row in use.days.values()):
        return NoCandidate(f"it was used until {use.change.since} and never since; is it still needed?")
    if not hours:
        return NoCandidate(
            "it is used at odd moments, at no hour in more than a third of the weeks: there is no pattern"
        )
    if asleep_hours(hours) < _WORTH:
        missing = f"; {1 - use.history.known:.0%} of the data is missing" if use.history.known < 0.95 else ""
        return NoCandidate(f"it is used, or not known to be idle, at nearly all hours of the week{missing}")
    if any(sum(day in each.days for each in hours) > _MOST_WINDOWS for day in range(7)):
        return NoCandidate("it is used at many odd moments of a day: there is no pattern")
    unseen = 0.0
    for each in hours:
        for weekday in each.days:
            regular, unknown = _usage(use, each, weekday)
            if not regular:
                return NoCandidate(
                    f"its use is at odd moments, such as {each}, on few of the days: there is no pattern"
                )
            unseen += (each.end - each.start) / 60 if unknown else 0.0
    if unseen > _MOST_UNSEEN:
        return NoCandidate(f"nothing is known of {unseen:.0f} hours of the week, and what is missing is not idle")
    return None


def _usage(use: Use, window: AwakeHours, weekday: int) -> tuple[bool, bool]:
    """Whether the window is a habit or unknown, and whether it is there only because it is unknown."""
    unknown = steps = 0
    used: list[bool] = []
    for day in sorted(use.days):
        if day.weekday() == weekday:
            marks = slots_of(use, day, window)
            if len(marks) > marks.count(UNKNOWN):
                used.append(USED in marks)
            unknown, steps = unknown + marks.count(UNKNOWN), steps + marks.count(USED)
    regular = sum(used) >= _REGULAR * len(used) or all(used[-2:]) or _is_new(use, window)
    return regular or unknown > steps, unknown > steps


def _is_new(use: Use, window: AwakeHours) -> bool:
    """Whether these times were used on several days of the last week: a habit that began, or came to another day."""
    newest = max(use.days)
    days = (day for day in use.days if day > newest - RECENT)
    return sum(USED in slots_of(use, day, window) for day in days) >= RECENT_DAYS


def slots_of(use: Use, day: date, window: AwakeHours) -> bytearray:
    """Return the marks of the window that begins on that day; local times that summer time skips are left out."""
    minutes = use.history.step // 60
    row = use.days[day] + use.days.get(day + timedelta(days=1), bytearray([ABSENT]) * (DAY // minutes))
    return bytearray(mark for mark in row[window.start // minutes : window.end // minutes] if mark != ABSENT)


def _closed_on_holidays(use: Use, hours: tuple[AwakeHours, ...]) -> bool:
    """Where some fell on a day with hours, and none of these was used."""
    since = min(use.days)
    days = {day for day, _ in use.holidays if day >= since and any(day.weekday() in each.days for each in hours)}
    rows = lay_on_days(use.history, use.marks.steps, use.zone)
    return bool(days) and not any(USED in rows[day] or UNKNOWN in rows[day] for day in days)
