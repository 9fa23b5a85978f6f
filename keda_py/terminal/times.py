"""Instants and durations for people: the own zone first, UTC beside it, to the second where that counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Writes instants (aware) as seen at `now`."""

    now: datetime
    zone: ZoneInfo | None = None

    @property
    def zone_name(self) -> str:
        """`KST`, or the whole name where the zone has only an offset for a name."""
        return _name(self.now, self.zone) if self.zone else "UTC"

    def stamp(self, at: datetime) -> str:
        """`2026-11-20 19:30:00` in the own zone."""
        return at.astimezone(self.zone or UTC).strftime("%Y-%m-%d %H:%M:%S")

    def both(self, at: datetime) -> str:
        """`2026-11-20 19:30:00 KST, 10:30:00 UTC`; UTC alone without a name."""
        if self.zone is None:
            return self.stamp(at)
        local, universal = at.astimezone(self.zone), at.astimezone(UTC)
        day = "" if local.date() == universal.date() else f"{universal:%Y-%m-%d} "
        return f"{self.stamp(at)} {_name(at, self.zone)}, {day}{universal:%H:%M:%S} UTC"

    def spoken(self, at: datetime) -> str:
        """`19:35 KST (10:35 UTC)`, `tomorrow 19:35 KST (10:35 UTC)`, `Mon 23 Nov 19:35 KST (10:35 UTC)`."""
        return f"{day} {self._hours(at)}" if (day := self._day(at)) else self._hours(at)

    def moment(self, at: datetime) -> str:
        """The same in a sentence: `at 19:35 KST (10:35 UTC)`, `tomorrow at 19:35 ...`, `on Mon 23 Nov at 19:35 ...`."""
        day = self._day(at)
        before = "" if not day else f"{day} " if day == "tomorrow" else f"on {day} "
        return f"{before}at {self._hours(at)}"

    def _hours(self, at: datetime) -> str:
        said = f"{_hour(at.astimezone(self.zone or UTC))} {_name(at, self.zone)}"
        return said if self.zone is None else f"{said} ({_hour(at.astimezone(UTC))} UTC)"

    def _day(self, at: datetime) -> str:
        """ "" for today."""
        local, today = at.astimezone(self.zone or UTC), self.now.astimezone(self.zone or UTC).date()
        if local.date() == today:
            return ""
        return "tomorrow" if local.date() == today + timedelta(days=1) else f"{local:%a %d %b}"

    def localised(self, text: str) -> str:
        """The text with its instants (2026-11-23T07:30:00Z, also before a comma or such) as this clock shows them."""
        words = ((word.rstrip(_AFTER), word) for word in text.split(" "))
        return " ".join(
            f"{self.spoken(at)}{word[len(bare) :]}" if (at := _instant(bare)) is not None else word
            for bare, word in words
        )

    def until(self, at: datetime) -> str:
        """`5 h 12 min`."""
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
    """`1h5m`, `42s`; what is over is 0s."""
    return "".join(f"{count}{unit}" for count, unit in _parts(length, ("d", "h", "m", "s"))) or "0s"


def spoken_duration(length: timedelta) -> str:
    """`5 h`, `2 d 3 h`, `42 s`: the two largest units."""
    parts = _parts(length, ("d", "h", "min", "s"))[:2]
    return " ".join(f"{count} {unit}" for count, unit in parts) or "0 s"


def _parts(length: timedelta, units: Sequence[str]) -> list[tuple[int, str]]:
    seconds = max(round(length.total_seconds()), 0)
    counts = (seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
    return [(count, unit) for count, unit in zip(counts, units, strict=True) if count]


def _hour(at: datetime) -> str:
    return at.strftime("%H:%M:%S" if at.second else "%H:%M")


def _name(at: datetime, zone: ZoneInfo | None) -> str:
    name = at.astimezone(zone).tzname() if zone else "UTC"
    return name if name and name.isalpha() else (zone.key if zone else "UTC")
