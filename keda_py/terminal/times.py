"""Instants and durations for people: in the Calendar's zone and in the reader's, to the second where that counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_MINUTE = timedelta(minutes=1)
_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Writes instants (aware) as seen at `now`.

    `zone` belongs to the Calendar or window that the times are about; without one it is None. `reader` is the zone of
    the person who reads. If both show the same time it is written once.
    """

    now: datetime
    zone: ZoneInfo | None = None
    reader: ZoneInfo = _UTC

    def of(self, zone: ZoneInfo | None) -> "Times":
        """Return a copy for times of that zone."""
        return replace(self, zone=zone)

    @property
    def first(self) -> ZoneInfo:
        """Zone in which each time is written."""
        return self.zone or self.reader

    @property
    def second(self) -> ZoneInfo | None:
        """Second zone beside the first; None if both show the same time."""
        same = self.now.astimezone(self.first).utcoffset() == self.now.astimezone(self.reader).utcoffset()
        return None if same else self.reader

    @property
    def zone_name(self) -> str:
        """Return `KST`, or the whole name of a zone whose short name is only an offset."""
        return _name(self.now, self.first)

    def stamp(self, at: datetime) -> str:
        """Write `2026-11-20 19:30:00` in the first zone."""
        return at.astimezone(self.first).strftime("%Y-%m-%d %H:%M:%S")

    def both(self, at: datetime) -> str:
        """Write `2026-11-20 19:30:00 KST, 11:30:00 CET`; `2026-11-20 19:30:00 KST` for a reader there."""
        text = f"{self.stamp(at)} {_name(at, self.first)}"
        if self.second is None:
            return text
        local, beside = at.astimezone(self.first), at.astimezone(self.second)
        day = "" if local.date() == beside.date() else f"{beside:%Y-%m-%d} "
        return f"{text}, {day}{beside:%H:%M:%S} {_name(at, self.second)}"

    def spoken(self, at: datetime) -> str:
        """Write `19:35 KST (10:35 UTC)`, `tomorrow 19:35 KST (10:35 UTC)`, `Mon 23 Nov 19:35 KST (10:35 UTC)`."""
        return f"{day} {self._hours(at)}" if (day := self._day(at)) else self._hours(at)

    def moment(self, at: datetime) -> str:
        """For a sentence: `at 19:35 KST (10:35 UTC)`, `tomorrow at 19:35 ...`, `on Mon 23 Nov at 19:35 ...`."""
        day = self._day(at)
        before = "" if not day else f"{day} " if day == "tomorrow" else f"on {day} "
        return f"{before}at {self._hours(at)}"

    def _hours(self, at: datetime) -> str:
        text = f"{_hour(at.astimezone(self.first))} {_name(at, self.first)}"
        if self.second is None:
            return text
        beside = at.astimezone(self.second)
        day = "" if beside.date() == at.astimezone(self.first).date() else f"{beside:%a} "
        return f"{text} ({day}{_hour(beside)} {_name(at, self.second)})"

    def _day(self, at: datetime) -> str:
        """Name the day of an instant; empty for today."""
        local, today = at.astimezone(self.first), self.now.astimezone(self.first).date()
        if local.date() == today:
            return ""
        return "tomorrow" if local.date() == today + timedelta(days=1) else f"{local:%a %d %b}"

    def localised(self, text: str) -> str:
        """Rewrite the instants in a text (2026-11-23T07:30:00Z, also before a comma) as this clock shows them."""
        words = ((word.rstrip(_AFTER), word) for word in text.split(" "))
        return " ".join(
            f"{self.spoken(at)}{word[len(bare) :]}" if (at := _instant(bare)) is not None else word
            for bare, word in words
        )

    def until(self, at: datetime) -> str:
        """Write the time left, as `5 h 12 min`."""
        return spoken_duration(at - self.now)


_AFTER = ",;:)."


def _instant(word: str) -> datetime | None:
    if not (word.endswith("Z") and word[:1].isdigit()):
        return None
    try:
        return datetime.fromisoformat(word)
    except ValueError:
        return None


def duration(length: timedelta) -> str:
    """Write `1h5m`, `42s`; 0s for a negative length."""
    return "".join(f"{count}{unit}" for count, unit in _parts(length, ("d", "h", "m", "s"))) or "0s"


def spoken_duration(length: timedelta) -> str:
    """Write the two largest units: `5 h`, `2 d 3 h`, `42 s`."""
    parts = _parts(length, ("d", "h", "min", "s"))[:2]
    return " ".join(f"{count} {unit}" for count, unit in parts) or "0 s"


def rough_duration(length: timedelta) -> str:
    """Write it for a column: `5 h 12 min`, `12 min`; seconds only below a minute."""
    parts = [part for part in _parts(length, ("d", "h", "min", "s"))[:2] if part[1] != "s" or length < _MINUTE]
    return " ".join(f"{count} {unit}" for count, unit in parts) or "0 s"


def _parts(length: timedelta, units: Sequence[str]) -> list[tuple[int, str]]:
    seconds = max(round(length.total_seconds()), 0)
    counts = (seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
    return [(count, unit) for count, unit in zip(counts, units, strict=True) if count]


def _hour(at: datetime) -> str:
    return at.strftime("%H:%M:%S" if at.second else "%H:%M")


def _name(at: datetime, zone: ZoneInfo) -> str:
    name = at.astimezone(zone).tzname() or ""
    return name if name.isalpha() else zone.key
