"""The texts of a calendar: times of day, days of the week, dates and ranges of dates."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from keda_py.errors import ConfigError

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY = 24 * 60
"""Minutes of a day."""
MOST_DAYS = 3_660
"""Days in all dates and ranges of a calendar: ten years."""
_LONGEST = 200
_ONE = timedelta(days=1)


def parse_minute(text: str, *, field: str) -> int:
    """Read minutes after midnight, 0 to 1440. Raises ConfigError."""
    hours, colon, minutes = text.partition(":")
    if colon and _is_number(hours, 2) and _is_number(minutes, 2) and len(minutes) == 2:
        minute = int(hours) * 60 + int(minutes)
        if int(minutes) < 60 and minute <= DAY:
            return minute
    raise ConfigError(
        f"{field}: {text[:_LONGEST]!r} is not a time of day; write 00:00 to 24:00, such as 08:30", field=field
    )


def parse_weekdays(text: str, *, field: str) -> tuple[int, ...]:
    """Read `Mon-Fri`, `Sat,Sun`, `Fri-Mon`; every day for an empty text. Monday is 0. Raises ConfigError."""
    if not text:
        return tuple(range(7))
    if len(text) > _LONGEST:  # it is told as the reason of each opening
        excess = f"{text[:_LONGEST]!r} has more than {_LONGEST} characters; write for example Mon-Fri"
        raise ConfigError(f"{field}: {excess}", field=field)
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        start, end = _weekday(first, text, field), _weekday(last if dash else first, text, field)
        found.update((start + step) % 7 for step in range((end - start) % 7 + 1))
    return tuple(sorted(found))


def _weekday(word: str, text: str, field: str) -> int:
    for number, name in enumerate(WEEKDAYS):
        if word.lower() == name.lower():
            return number
    shown = text[:_LONGEST]
    raise ConfigError(f"{field}: {shown!r} are not days of the week; write for example Mon-Fri or Sat,Sun", field=field)


def parse_dates(texts: Sequence[str], *, field: str, most: int = MOST_DAYS) -> Iterator[date]:
    """List each day of `2026-12-24` and `2026-12-28/2027-01-03`, ends included. Raises ConfigError.

    `most` is what is left of MOST_DAYS, which count for all holidays of a calendar together, and for all its
    exceptions: a day that is named twice counts twice.
    """
    count = 0
    for number, text in enumerate(texts):
        where = f"{field}[{number}]"
        start, slash, end = text.partition("/")
        first = _parse_date(start, text, where)
        last = _parse_date(end, text, where) if slash else first
        if last < first:
            raise ConfigError(f"{where}: {text[:_LONGEST]!r} ends before it begins; write FIRST/LAST", field=where)
        length = (last - first).days + 1
        count += length
        if count > most:
            verb = "makes" if length > MOST_DAYS else "and the dates before it make"
            message = f"{where}: {text[:_LONGEST]!r} {verb} more than {MOST_DAYS} days; write shorter ranges"
            raise ConfigError(message, field=where)
        for step in range(length):
            yield first + step * _ONE


def _parse_date(word: str, text: str, field: str) -> date:
    parts = word.split("-")
    if [len(part) for part in parts] == [4, 2, 2] and all(_is_number(part, 4) for part in parts):
        try:
            found = date(int(parts[0]), int(parts[1]), int(parts[2]))
        except ValueError:
            pass
        else:
            if 1970 <= found.year <= 2200:
                return found
    shown = text[:_LONGEST]
    message = f"{field}: {shown!r} is not a date or a range; write for example 2026-12-24 or 2026-12-28/2027-01-03"
    raise ConfigError(message, field=field)


def _is_number(text: str, longest: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= longest
