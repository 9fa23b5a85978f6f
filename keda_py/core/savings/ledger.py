"""The account of one object: how long it was observed, asleep and with how many replicas, this month and the last.

The counterfactual is the HPA alone: it has no less than max(minReplicaCount, 1), so while an object sleeps that many
are saved, and nothing is while it is awake. Pure, and bounded: two months and two totals. It is kept in memory and
stored with writes that happen anyway; after a restart the time since the last one counts where the count is still the
same, and else is not known and counts for nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from keda_py.core.values.times import write_time

LONGEST_GAP = timedelta(days=32)
"""Between two looks; longer ones are a stepped clock."""
_LONGEST_NUMBER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Sums in seconds; `name` is as in 2026-11, UTC."""

    name: str
    seconds: float = 0.0
    asleep: float = 0.0
    replicas: float = 0.0
    saved: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Since `at` there are `count` replicas; `instead` the HPA alone would have. `stored`: not noted since a start."""

    at: datetime
    count: int
    instead: int
    month: Month
    previous: Month | None = None
    total_replicas: float = 0.0
    total_saved: float = 0.0
    stored: bool = False


def note(ledger: Ledger | None, now: datetime, *, count: int, instead: int, before: int | None = None) -> Ledger:
    """The account up to now; from now on there are `count`. `before` is what was seen, None: what is remembered."""
    if ledger is None:
        return Ledger(at=now, count=count, instead=instead, month=Month(name=_name(now)))
    known = not ledger.stored or before is None or before == ledger.count
    passed = _let_pass(ledger, now) if known and timedelta(0) < now - ledger.at <= LONGEST_GAP else ledger
    return replace(_in_month(passed, now), at=now, count=count, instead=instead, stored=False)


def _let_pass(ledger: Ledger, now: datetime) -> Ledger:
    """Month by month."""
    while ledger.at < now:
        ledger = _in_month(ledger, ledger.at)
        until = min(_next_month(ledger.at), now)
        seconds, month = (until - ledger.at).total_seconds(), ledger.month
        asleep = seconds if ledger.count == 0 else 0.0
        used, saved = seconds * ledger.count, asleep * ledger.instead
        ledger = replace(
            ledger,
            at=until,
            month=Month(
                name=month.name,
                seconds=month.seconds + seconds,
                asleep=month.asleep + asleep,
                replicas=month.replicas + used,
                saved=month.saved + saved,
            ),
            total_replicas=ledger.total_replicas + used,
            total_saved=ledger.total_saved + saved,
        )
    return ledger


def _in_month(ledger: Ledger, at: datetime) -> Ledger:
    name = _name(at)
    if name <= ledger.month.name:
        return ledger
    return replace(ledger, month=Month(name=name), previous=ledger.month)


def _name(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m}"


def _next_month(at: datetime) -> datetime:
    first = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def write_ledger(ledger: Ledger) -> dict[str, Any]:
    """As in `status.kedaPySavings`: whole seconds."""
    previous = {} if ledger.previous is None else {"previous": _write_month(ledger.previous)}
    return {
        "at": write_time(ledger.at),
        "replicas": ledger.count,
        "instead": ledger.instead,
        "month": _write_month(ledger.month),
        "totalReplicaSeconds": round(ledger.total_replicas),
        "totalSavedSeconds": round(ledger.total_saved),
    } | previous


def _write_month(month: Month) -> dict[str, Any]:
    return {
        "name": month.name,
        "seconds": round(month.seconds),
        "asleepSeconds": round(month.asleep),
        "replicaSeconds": round(month.replicas),
        "savedSeconds": round(month.saved),
    }


def read_ledger(stored: Mapping[str, Any]) -> Ledger | None:
    """Of `status.kedaPySavings`; None if missing or edited by hand: then it begins anew."""
    try:
        previous = stored.get("previous")
        return Ledger(
            at=datetime.fromisoformat(stored["at"]).astimezone(UTC),
            count=int(_number(stored["replicas"])),
            instead=int(_number(stored["instead"])),
            month=_read_month(stored["month"]),
            previous=None if previous is None else _read_month(previous),
            total_replicas=_number(stored["totalReplicaSeconds"]),
            total_saved=_number(stored["totalSavedSeconds"]),
            stored=True,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _read_month(stored: Mapping[str, Any]) -> Month:
    name = stored["name"]
    datetime.strptime(name, "%Y-%m").replace(tzinfo=UTC)
    return Month(
        name=name,
        seconds=_number(stored["seconds"]),
        asleep=_number(stored["asleepSeconds"]),
        replicas=_number(stored["replicaSeconds"]),
        saved=_number(stored["savedSeconds"]),
    )


def _number(stored: object) -> float:
    if isinstance(stored, bool) or not isinstance(stored, int) or not 0 <= stored < _LONGEST_NUMBER:
        raise ValueError("no count of seconds")
    return float(stored)
