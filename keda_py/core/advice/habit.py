"""A change of habit: since when a workload is used at other hours than before. The weeks before it count no more.

Each Monday is tried as the boundary; the one between the most different halves wins, and is then moved by days.

A change needs three weeks, since two weeks off look like the end of a habit. Two weeks show one that has moved: about
as many hours came as went.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from keda_py.core.advice.marks import USED, runs_of
from keda_py.core.advice.profile import Days, by_weekday, idle_share, patterns, used_share

_BEFORE, _AFTER, _AFTER_MOVE = timedelta(days=14), timedelta(days=21), timedelta(days=14)
"""The least that is seen of the old habit and of the new one, and of one that has moved."""
_SEEN_BEFORE, _SEEN_AFTER, _SEEN_AFTER_MOVE = 2, 3, 2
"""Days of a weekday that have to be left of each, without public holidays: two days off are not yet a new habit."""
_MOVED_HOURS, _MOVED_SHARE = 2.5, 0.5
"""Hours of a week that went and came by a move at least: half an hour on five days; and how many of the hours that went
have to come: a job that runs while a team is away for two weeks is no move."""
_HABIT, _GONE = 0.6, 0.7
"""Used in so many of the weeks before, idle in so many of those after."""
_LEAST_HOURS = 1.0
_LOST, _GAINED = 1, 2
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitChange:
    """From `since` on; `lost` are hours of a week that are idle now, `gained` those that are used now.

    `weeks` are seen of the new habit at least.
    """

    since: date
    lost: float
    gained: float
    weeks: int = _SEEN_AFTER

    @property
    def forgets(self) -> bool:
        """Whether weeks before it would keep it awake for what is over. Hours that came on top need no forgetting."""
        return self.lost >= _LEAST_HOURS

    @property
    def is_known(self) -> bool:
        """Return whether so many weeks show it that neither chance nor days off can be the reason."""
        if self.weeks >= _SEEN_AFTER:
            return max(self.lost, self.gained) >= _LEAST_HOURS
        return min(self.lost, self.gained) >= _MOVED_HOURS and self.gained >= _MOVED_SHARE * self.lost


def find_change(days: Days) -> HabitChange | None:
    """The change with the most different halves, None where the weeks are alike."""
    first, last = min(days), max(days)
    begins = first - timedelta(days=first.weekday()) + _WEEK
    found: list[tuple[float, HabitChange]] = []
    while begins + _AFTER_MOVE <= last + _DAY:
        if begins - first >= _BEFORE:
            weeks = _SEEN_AFTER if begins + _AFTER <= last + _DAY else _SEEN_AFTER_MOVE
            found.append(_compare(days, begins, weeks))
        begins += _WEEK
    for _, change in sorted(found, key=lambda each: each[0], reverse=True):
        if change.is_known:
            refined = replace(change, since=_refine(days, change.since))
            if refined.weeks >= _SEEN_AFTER or _has_weekdays(days, refined):
                return refined
    return None


def _has_weekdays(days: Days, change: HabitChange) -> bool:
    """Return whether enough of each weekday is left since a move: one that was seen once would be awake all day."""
    left = by_weekday({day: row for day, row in days.items() if day >= change.since})
    return min(map(len, left)) >= change.weeks


def _compare(days: Days, since: date, weeks: int) -> tuple[float, HabitChange]:
    """How different the halves are, and hours that went and came."""
    score = lost = gained = 0.0
    for dated in by_weekday(days):
        cut = sum(day < since for day, _ in dated)
        after = len(dated) - cut
        if cut < _SEEN_BEFORE or after < weeks:
            continue
        weight = cut * after / (cut + after)
        change = {marks: _change(marks[:cut], marks[cut:]) for marks, _ in patterns(dated)}
        score += sum(count * change[marks][0] * weight for marks, count in patterns(dated))
        moved = bytes(change[marks][1] for marks in zip(*(row for _, row in dated), strict=True))
        lost, gained = lost + _hours_in_runs(moved, _LOST), gained + _hours_in_runs(moved, _GAINED)
    return score, HabitChange(since=since, lost=lost, gained=gained, weeks=weeks)


def _change(old: Sequence[int], new: Sequence[int]) -> tuple[float, int]:
    """By how much use changed in a slot, and whether the habit of it went or came."""
    before, now = used_share(old), used_share(new)
    if before is None or now is None:
        return 0.0, 0
    lost = before >= _HABIT and idle_share(new) >= _GONE
    gained = now >= _HABIT and idle_share(old) >= _GONE
    return abs(before - now), _LOST if lost else _GAINED if gained else 0


def _hours_in_runs(moved: bytes, kind: int) -> float:
    """Hours in runs of half an hour or more: moments at random look like a change in a slot here and there."""
    hour = len(moved) / 24
    return sum((end - start) / hour for start, end in runs_of(moved, kind) if end - start >= hour / 2)


def _refine(days: Days, monday: date) -> date:
    """The day within a week of that Monday which divides old days from new ones best."""
    old, new = ({day: row for day, row in days.items() if _is_far(day, monday, later)} for later in (False, True))
    if min(map(len, (*by_weekday(old), *by_weekday(new)))) == 0:
        return monday
    shares = [[_used_of(dated) for dated in by_weekday(half)] for half in (old, new)]
    near = sorted(day for day in days if monday - _WEEK <= day < monday + _WEEK)
    wrong = {day: [_distance(days[day], half[day.weekday()]) for half in shares] for day in near}

    def cost(since: date) -> tuple[float, int]:
        return sum(wrong[day][day >= since] for day in near), abs((since - monday).days)

    return min((monday + step * _DAY for step in range(-6, 7)), key=cost)


def _is_far(day: date, monday: date, later: bool) -> bool:
    return day >= monday + _WEEK if later else day < monday - _WEEK


def _used_of(dated: Sequence[tuple[date, bytearray]]) -> list[float]:
    return [used_share(marks) or 0.0 for marks in zip(*(row for _, row in dated), strict=True)]


def _distance(row: bytearray, shares: Sequence[float]) -> float:
    return sum(abs((mark == USED) - share) for mark, share in zip(row, shares, strict=True))
