"""Deletion of a namespace without use for `deleteAfter`: the time counted, what is in the way, what is next. Pure.

Time is counted as it passes, and no stored time is compared with the clock: neither a clock that is wrong, nor a
restored cluster, nor an edited status makes the count longer. What was not watched is not counted, and any use begins
anew. The count is stored where only the operator writes; the status shows it and is never read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from keda_py.apis.environments.environment import DeletionStatus
from keda_py.apis.foreign import text_at
from keda_py.core.environment.decision.state import Activity
from keda_py.core.values.durations import in_words
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import ConfigError

ALLOW_LABEL: Final = "keda-py.dev/allow-deletion"
"""Label of a namespace, `"true"`, without which it is never deleted."""
NOTICE: Final = timedelta(days=1)
"""Shortest time between the announcement and the deletion."""
LONGEST_GAP: Final = timedelta(hours=2)
"""Longest time between two looks that counts; each Environment is looked at once an hour at least."""
_PROTECTED = ("default", "openshift")
_PREFIXES = ("kube-", "openshift-")
_SECOND, _SAME = timedelta(seconds=1), timedelta(minutes=2)


def is_protected(namespace: str, own: str) -> bool:
    """Return whether a namespace is the cluster's or the operator's own, and so never deleted."""
    return namespace in (*_PROTECTED, own) or namespace.startswith(_PREFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleCount:
    """Time without use that was counted; `span` names it by its beginning, so that another one begins at 0.

    `announced` is the count at the announcement. `seen` is when it was stored last.
    """

    span: str
    idle: timedelta = timedelta(0)
    announced: timedelta | None = None
    seen: datetime


def count_idle(
    known: IdleCount | None, activity: Activity | None, elapsed: timedelta, now: datetime
) -> IdleCount | None:
    """Return the count now; None while it is used, or use is not known. `elapsed` is measured, since the last look."""
    if activity is None or activity.in_use:
        return None
    span = write_time(activity.last)
    if known is None or known.span != span:
        return IdleCount(span=span, seen=now)
    if not timedelta(0) <= elapsed <= LONGEST_GAP:
        return replace(known, announced=None, seen=now)
    return replace(known, idle=known.idle + elapsed, seen=now)


def resume(stored: IdleCount, now: datetime) -> IdleCount:
    """Return the count that another process stored; after a gap, or if the clock went back, it is announced anew."""
    gap = now - stored.seen
    return stored if timedelta(0) <= gap <= LONGEST_GAP else replace(stored, announced=None)


class DeletionStep(StrEnum):
    """Step that is taken about a namespace now."""

    NONE = ""
    ANNOUNCE = "Announce"
    WITHDRAW = "Withdraw"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPlan:
    """`count` is stored after the status. `look_after` is the time to the next step, if nothing changes."""

    count: IdleCount
    at: datetime
    status: DeletionStatus
    step: DeletionStep = DeletionStep.NONE
    look_after: timedelta | None = None


def plan_deletion(
    count: IdleCount,
    delete_after: timedelta,
    obstacle: str,
    now: datetime,
    *,
    asleep: bool,
    shown: datetime | None = None,
) -> DeletionPlan:
    """Decide about a namespace that is idle; `obstacle` says why it may not be deleted, "" if it may.

    `shown` is the time that the last plan gave, which goes on to stand there if it is about the same.
    """
    if obstacle:
        at = _steady(now + delete_after - count.idle, shown)
        status = DeletionStatus(at=write_time(at), blocked=obstacle, summary=f"would be deleted at {write_time(at)}")
        step = DeletionStep.WITHDRAW if count.announced is not None else DeletionStep.NONE
        return DeletionPlan(count=replace(count, announced=None), at=at, status=status, step=step)
    step = DeletionStep.NONE
    if count.announced is None and is_near(count, delete_after):
        count, step = replace(count, announced=count.idle), DeletionStep.ANNOUNCE
    begins = count.announced if count.announced is not None else delete_after - NOTICE
    remaining = max(delete_after, begins + NOTICE) - count.idle
    # The instant that is shown is rounded, and is waited for, too: nothing goes a minute before it was said to go.
    at = _steady(now + remaining, shown)
    remaining = max(remaining, at - now)
    if remaining <= timedelta(0) and asleep:
        step = DeletionStep.DELETE
    announced = count.announced is not None
    wait = remaining if announced else begins - count.idle
    return DeletionPlan(
        count=count,
        at=at,
        status=DeletionStatus(at=write_time(at), announced=announced, summary=f"deleted at {write_time(at)}"),
        step=step,
        look_after=max(wait, _SECOND) if wait > timedelta(0) else None,
    )


def is_near(count: IdleCount, delete_after: timedelta) -> bool:
    """Return whether so much was counted that the deletion is to be announced."""
    return count.idle >= delete_after - NOTICE


def _steady(at: datetime, shown: datetime | None) -> datetime:
    """Round an instant up to the minute; one that is shown stays if it is about the same, which saves a write."""
    if shown is not None and abs(shown - at) < _SAME:
        return shown
    return (at + timedelta(minutes=1) - timedelta(microseconds=1)).replace(second=0, microsecond=0)


def announcement(namespace: str, plan: DeletionPlan, delete_after: timedelta) -> str:
    """Return the note of the Event a day before."""
    return (
        f"namespace {namespace} is deleted at {plan.status.at}, not used for {in_words(delete_after)} by then; an "
        f"Override, a rollout or work of a trigger keeps it, and so does the end of its label {ALLOW_LABEL}"
    )


def write_count(namespace: str, count: IdleCount) -> dict[str, Any]:
    """Return what `read_count` reads: durations in seconds, times in RFC 3339."""
    stored: dict[str, Any] = {
        "namespace": namespace,
        "span": count.span,
        "idleSeconds": int(count.idle.total_seconds()),
        "seen": write_time(count.seen),
    }
    return stored if count.announced is None else {**stored, "announcedAt": int(count.announced.total_seconds())}


def read_count(stored: Mapping[str, Any]) -> IdleCount | None:
    """Read a stored count; None for one of another shape, so that it begins anew."""
    idle, announced = stored.get("idleSeconds"), stored.get("announcedAt")
    if type(idle) is not int or not 0 <= idle <= _MOST or not text_at(stored, "span"):
        return None
    if announced is not None and (type(announced) is not int or not 0 <= announced <= idle):
        return None
    try:
        seen = parse_time(text_at(stored, "seen"), field="seen")
    except ConfigError:
        return None
    return IdleCount(
        span=text_at(stored, "span"),
        idle=idle * _SECOND,
        announced=None if announced is None else announced * _SECOND,
        seen=seen,
    )


_MOST = 10 * 366 * 24 * 3600
