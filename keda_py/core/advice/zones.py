"""In which zone a habit is sharpest: where summer time begins or ends, the wrong zone smears it by an hour."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from keda_py.core.advice.days import lay_on_days
from keda_py.core.advice.history import History
from keda_py.core.advice.marks import USED
from keda_py.core.advice.profile import by_weekday, patterns, used_share

KNOWN = (
    "UTC",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Santiago",
    "Australia/Sydney",
    "Australia/Adelaide",
    "Pacific/Auckland",
    "Asia/Jerusalem",
    "Africa/Cairo",
)
"""One or more of each rule of summer time that is in force somewhere with many people."""
_SHARPER = 0.9
_NOON = 13.25
"""The middle of a working day, to choose between zones that change their clocks together."""


def sharpest_zone(history: History, steps: bytearray, first: ZoneInfo) -> tuple[ZoneInfo, bool]:
    """`first`, or a zone in which the habit is clearly sharper; and whether the clocks of any changed meanwhile."""
    zones = [first, *(ZoneInfo(key) for key in KNOWN if key != first.key)]
    groups: dict[tuple[float, ...], list[ZoneInfo]] = {}
    for zone in zones:
        groups.setdefault(_changes(history, zone), []).append(zone)
    if len(groups) == 1:
        return first, False
    blur = {rule: _blur(history, steps, alike[0]) for rule, alike in groups.items()}
    rule = min(blur, key=lambda each: blur[each])
    if blur[rule] >= _SHARPER * blur[_changes(history, first)]:
        return first, True
    return min(groups[rule], key=lambda zone: abs(_middle(history, steps, zone) - _NOON)), True


def _changes(history: History, zone: ZoneInfo) -> tuple[float, ...]:
    """Hours by which its clock is off from what it was at the beginning, day by day."""
    days = range((history.ends - history.origin).days + 1)
    offsets = [(history.origin + timedelta(days=day)).astimezone(zone).utcoffset() or timedelta() for day in days]
    return tuple((each - offsets[0]).total_seconds() / 3600 for each in offsets)


def _blur(history: History, steps: bytearray, zone: ZoneInfo) -> float:
    """How often the weeks disagree about a slot."""
    total = 0.0
    for dated in by_weekday(lay_on_days(history, steps, zone)):
        for marks, count in patterns(dated):
            share = used_share(marks)
            total += count * share * (1 - share) if share is not None else 0.0
    return total


def _middle(history: History, steps: bytearray, zone: ZoneInfo) -> float:
    """Return the mean local hour of all use."""
    count = hours = 0.0
    for row in lay_on_days(history, steps, zone).values():
        for slot, mark in enumerate(row):
            if mark == USED:
                count, hours = count + 1, hours + slot * 24 / len(row)
    return hours / count if count else _NOON
