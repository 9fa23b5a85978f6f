"""The account of one object: how long it was observed, asleep and with how many replicas, this month and the last.

The counterfactual is the HPA alone: it keeps at least max(minReplicaCount, 1), so that many replicas are saved while an
object sleeps, and none while it is awake; `statement.py` derives others from the same sums. Pure, and bounded: two
months, fifteen days and two totals. It is kept in memory and stored with writes that happen anyway, or once in six
hours if counts have moved. After a restart the time since the last write counts if the count is still the same;
otherwise it is not known and left out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from keda_py.core.values.times import write_time

# Longest time between two looks; a longer one means that the clock was stepped.
LONGEST_GAP = timedelta(days=32)
STORED_EVERY = timedelta(hours=6)
"""Interval of writes for accounts alone, if counts have moved."""
# Today, the seven days before, and the same days a week earlier.
MOST_DAYS = 15
_LONGEST_NUMBER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Sums of a month in seconds; `name` is as in 2026-11, UTC. `failing`: time up only because sources failed."""

    name: str
    seconds: float = 0.0
    asleep: float = 0.0
    replicas: float = 0.0
    saved: float = 0.0
    failing: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Sums of a day in seconds; `name` is as in 2026-11-20, UTC."""

    name: str
    seconds: float = 0.0
    asleep: float = 0.0
    replicas: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """The state from an instant on: `count` replicas, while the HPA alone would keep `instead`."""

    count: int
    instead: int
    failing: bool = False
    """Whether it has replicas only because its sources fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The sums up to `at`, and the state `held` since then. `restored`: not updated since a start.

    `kept` and `kept_at` are the state and instant that were stored last: a restart continues from there, so that
    nothing is lost unless something has `moved` since.
    """

    at: datetime
    held: LedgerState
    month: Month
    previous: Month | None = None
    days: tuple[Day, ...] = ()
    """Oldest first."""
    total_replicas: float = 0.0
    total_saved: float = 0.0
    restored: bool = False
    kept: LedgerState | None = None
    kept_at: datetime | None = None
    moved: bool = True


def note(ledger: Ledger | None, now: datetime, held: LedgerState, *, before: int | None = None) -> Ledger:
    """Update the sums up to now; `held` is the state from now on. `before` is the observed count until now, None: as
    remembered.
    """
    if ledger is None:
        return Ledger(at=now, held=held, month=Month(name=_name(now)))
    # After a restart the time since the last write counts only if the count is still the same: otherwise it changed at
    # an unknown moment.
    known = not ledger.restored or before is None or before == ledger.held.count
    passed = _advance(ledger, now) if known and timedelta(0) < now - ledger.at <= LONGEST_GAP else ledger
    moved = ledger.moved or not known or held != ledger.kept
    found = _in_month(passed, now)
    if (found.at, found.held, found.restored, found.moved) == (now, held, False, moved):
        return found  # nothing has changed, as in most looks
    return replace(found, at=now, held=held, restored=False, moved=moved)


def is_due(ledger: Ledger | None, now: datetime) -> bool:
    """Whether the account has moved and was not stored for six hours, which a kill would lose."""
    if ledger is None or not ledger.moved:
        return False
    return ledger.kept_at is None or not timedelta(0) <= now - ledger.kept_at < STORED_EVERY


def seconds_until_due(ledger: Ledger | None, now: datetime) -> float:
    """Return the seconds until `is_due`, unless counts move before; infinite if nothing has moved."""
    if ledger is None or not ledger.moved:
        return math.inf
    if is_due(ledger, now) or ledger.kept_at is None:
        return 0.0
    return (STORED_EVERY - (now - ledger.kept_at)).total_seconds()


def kept(ledger: Ledger) -> Ledger:
    """Return the ledger after it was stored."""
    return replace(ledger, kept=ledger.held, kept_at=ledger.at, moved=False)


def _advance(ledger: Ledger, now: datetime) -> Ledger:
    """Add the time up to now to the sums, day by day."""
    while ledger.at < now:
        ledger = _in_month(ledger, ledger.at)
        until = min(_next_day(ledger.at), now)
        seconds, month, held = (until - ledger.at).total_seconds(), ledger.month, ledger.held
        asleep = seconds if held.count == 0 else 0.0
        used, saved = seconds * held.count, asleep * held.instead
        ledger = replace(
            ledger,
            at=until,
            month=Month(
                name=month.name,
                seconds=month.seconds + seconds,
                asleep=month.asleep + asleep,
                replicas=month.replicas + used,
                saved=month.saved + saved,
                failing=month.failing + (seconds if held.failing else 0.0),
            ),
            days=_with_day(ledger, seconds, asleep, used),
            total_replicas=ledger.total_replicas + used,
            total_saved=ledger.total_saved + saved,
        )
    return ledger


def _with_day(ledger: Ledger, seconds: float, asleep: float, used: float) -> tuple[Day, ...]:
    name, days = f"{ledger.at.astimezone(UTC):%Y-%m-%d}", ledger.days
    day, rest = (days[-1], days[:-1]) if days and days[-1].name == name else (Day(name=name), days)
    summed = Day(name=name, seconds=day.seconds + seconds, asleep=day.asleep + asleep, replicas=day.replicas + used)
    return (*rest, summed)[-MOST_DAYS:]


def _in_month(ledger: Ledger, at: datetime) -> Ledger:
    name = _name(at)
    if name <= ledger.month.name:
        return ledger
    return replace(ledger, month=Month(name=name), previous=ledger.month)


def _name(at: datetime) -> str:
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{utc.year:04}-{utc.month:02}"


def _next_day(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def write_ledger(ledger: Ledger) -> dict[str, Any]:
    """Write `status.kedaPySavings`, in whole seconds."""
    previous = {} if ledger.previous is None else {"previous": _write_month(ledger.previous)}
    failing = {"failing": True} if ledger.held.failing else {}
    days = [
        {
            "name": day.name,
            "seconds": round(day.seconds),
            "asleepSeconds": round(day.asleep),
            "replicaSeconds": round(day.replicas),
        }
        for day in ledger.days
    ]
    return {
        "at": write_time(ledger.at),
        "replicas": ledger.held.count,
        "instead": ledger.held.instead,
        "month": _write_month(ledger.month),
        "days": days,
        "totalReplicaSeconds": round(ledger.total_replicas),
        "totalSavedSeconds": round(ledger.total_saved),
    } | (previous | failing)


def _write_month(month: Month) -> dict[str, Any]:
    failing = {"failingSeconds": round(month.failing)} if month.failing else {}
    return {
        "name": month.name,
        "seconds": round(month.seconds),
        "asleepSeconds": round(month.asleep),
        "replicaSeconds": round(month.replicas),
        "savedSeconds": round(month.saved),
    } | failing


def read_ledger(stored: Mapping[str, Any]) -> Ledger | None:
    """Read `status.kedaPySavings`; None if missing or edited by hand: then the account begins anew."""
    try:
        previous, at = stored.get("previous"), datetime.fromisoformat(stored["at"]).astimezone(UTC)
        held = LedgerState(
            count=int(_number(stored["replicas"])),
            instead=int(_number(stored["instead"])),
            failing=stored.get("failing") is True,
        )
        return Ledger(
            at=at,
            held=held,
            month=_read_month(stored["month"]),
            previous=None if previous is None else _read_month(previous),
            days=tuple(_read_day(day) for day in (stored.get("days") or ())[-MOST_DAYS:]),
            total_replicas=_number(stored["totalReplicaSeconds"]),
            total_saved=_number(stored["totalSavedSeconds"]),
            restored=True,
            kept=held,
            kept_at=at,
            moved=False,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _read_month(stored: Mapping[str, Any]) -> Month:
    name = stored["name"]
    _check_name(name, "%Y-%m")
    return Month(
        name=name,
        seconds=_number(stored["seconds"]),
        asleep=_number(stored["asleepSeconds"]),
        replicas=_number(stored["replicaSeconds"]),
        saved=_number(stored["savedSeconds"]),
        failing=_number(stored.get("failingSeconds", 0)),
    )


def _read_day(stored: Mapping[str, Any]) -> Day:
    name = stored["name"]
    _check_name(name, "%Y-%m-%d")
    return Day(
        name=name,
        seconds=_number(stored["seconds"]),
        asleep=_number(stored["asleepSeconds"]),
        replicas=_number(stored["replicaSeconds"]),
    )


@lru_cache(maxsize=256)
def _check_name(name: str, form: str) -> None:
    """Raise ValueError unless it names a month or a day.

    All accounts name the same two months and fifteen days, and a look at an Environment reads those of all members: for
    each day `strptime` takes 3 us.
    """
    datetime.strptime(name, form).replace(tzinfo=UTC)


def _number(stored: object) -> float:
    if isinstance(stored, bool) or not isinstance(stored, int) or not 0 <= stored < _LONGEST_NUMBER:
        raise ValueError("no count of seconds")
    return float(stored)
