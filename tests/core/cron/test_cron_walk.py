"""Cron against brute force: ten years are walked through once per zone, and up to 200 expressions are checked against it.

The walk notes, for every field and value, at which minutes the local clock shows it, as a bit set (an int). What an
expression ought to do is then an OR over the values of each field and an AND over the fields; no calendar is involved.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from keda_py.core.cron.windows import CronWindow, is_open, next_change, next_fire
from tests.sweeps import size

ZONES = ["Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Asia/Seoul"]
START = datetime(2024, 1, 1, tzinfo=UTC)
DAYS = 3653
EXPRESSIONS_PER_ZONE = size(200, 50)
MOMENTS_PER_EXPRESSION = 12

# Every offset and every shift of these zones is a multiple of half an hour, so the local clock runs evenly within one.
# Each half hour owns 32 bits (30 minutes and two unused), so that it fills whole bytes.
HALF_HOUR, DAY = timedelta(minutes=30), timedelta(days=1)
HALVES_A_DAY = 48
SLOTS = 32
ALL_MINUTES = ((1 << 30) - 1).to_bytes(4, "little")

LIMITS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}


@dataclass
class Walk:
    """Ten years of one zone, minute by minute."""

    zone: ZoneInfo
    shows: dict[str, dict[int, int]]
    """Of the minutes only 0 and 30, at which a half hour begins: each of these sets is 700 kB."""
    gaps: list[tuple[int, list[datetime]]]
    """(slot of the first existing minute after the gap, the local minutes that were skipped)."""
    shifts: list[datetime]
    _shown: dict[tuple[str, frozenset[int]], int] = field(default_factory=dict)

    def shows_any(self, name: str, values: frozenset[int]) -> int:
        """At which minutes the local clock shows one of these values; many an expression asks for all of them."""
        if (name, values) not in self._shown:
            shown = 0
            for value in values:
                shown |= self._shows(name, value)
            self._shown[name, values] = shown
        return self._shown[name, values]

    def _shows(self, name: str, value: int) -> int:
        if name != "minute":
            return self.shows[name][value]
        base = 30 * (value // 30)
        return self.shows[name][base] << (value - base)


def walk_through(name: str) -> Walk:
    zone = ZoneInfo(name)
    halves = DAYS * 48
    noted = {field: {v: bytearray(4 * halves) for v in range(low, high + 1)} for field, (low, high) in LIMITS.items()}
    noted["minute"] = {base: bytearray(4 * halves) for base in (0, 30)}
    gaps, shifts = [], []
    expected: datetime | None = None
    for half, count in even_pieces(zone, halves):
        instant = START + half * HALF_HOUR
        local = instant.astimezone(zone).replace(tzinfo=None)
        if expected is not None and local != expected:
            shifts.append(instant)
            minutes = int((local - expected) / timedelta(minutes=1))
            if minutes > 0:
                gaps.append((half * SLOTS, [expected + timedelta(minutes=each) for each in range(minutes)]))
        note(noted, half, count, local)
        expected = local + count * HALF_HOUR
    shows = {f: {v: int.from_bytes(values.pop(v), "little") for v in tuple(values)} for f, values in noted.items()}
    return Walk(zone, shows, gaps, shifts)


def even_pieces(zone: ZoneInfo, halves: int) -> Iterator[tuple[int, int]]:
    """(first half hour, how many) within which the local clock runs evenly: whole days, but for the days of a shift.

    A day that ends with the offset with which it began has no shift: these zones have two a year at most, months apart.
    """
    half = 0
    while half < halves:
        instant = START + half * HALF_HOUR
        is_even = instant.astimezone(zone).utcoffset() == (instant + DAY).astimezone(zone).utcoffset()
        count = min(HALVES_A_DAY, halves - half) if is_even else 1
        yield half, count
        half += count


def note(noted: dict[str, dict[int, bytearray]], half: int, count: int, local: datetime) -> None:
    """The local clock runs evenly from `local` on, for `count` half hours, a day at most."""
    begin = 2 * local.hour + local.minute // 30
    for each in range(count):
        hour, minute = divmod((begin + each) % HALVES_A_DAY, 2)
        at = 4 * (half + each)
        noted["hour"][hour][at : at + 4] = ALL_MINUTES
        noted["minute"][30 * minute][at] = 1
    midnight = min(count, HALVES_A_DAY - begin)
    note_day(noted, half, midnight, local)
    note_day(noted, half + midnight, count - midnight, local + DAY)


def note_day(noted: dict[str, dict[int, bytearray]], half: int, count: int, local: datetime) -> None:
    whole = slice(4 * half, 4 * (half + count))
    for name, value in (("day", local.day), ("month", local.month), ("weekday", local.isoweekday() % 7)):
        noted[name][value][whole] = ALL_MINUTES * count


def slot_of(instant: datetime) -> int:
    half, rest = divmod(instant - START, HALF_HOUR)
    return half * SLOTS + rest // timedelta(minutes=1)


def instant_of(slot: int) -> datetime:
    return START + (slot // SLOTS) * HALF_HOUR + timedelta(minutes=slot % SLOTS)


@dataclass
class Expression:
    text: str
    values: dict[str, set[int]]
    either_day: bool

    def matches(self, local: datetime) -> bool:
        values = self.values
        day, weekday = local.day in values["day"], local.isoweekday() % 7 in values["weekday"]
        days = (day or weekday) if self.either_day else (day and weekday)
        clock = local.minute in values["minute"] and local.hour in values["hour"]
        return clock and days and local.month in values["month"]

    def fires(self, walk: Walk) -> int:
        """All firings as a bit set."""
        shown = {field: walk.shows_any(field, frozenset(values)) for field, values in self.values.items()}
        day, weekday = shown["day"], shown["weekday"]
        days = (day | weekday) if self.either_day else (day & weekday)
        bits = shown["minute"] & shown["hour"] & days & shown["month"]
        for slot, skipped in walk.gaps:
            if any(self.matches(local) for local in skipped):
                bits |= 1 << slot
        return bits

    def written_as(self, walk: Walk, at: datetime) -> datetime:
        """The local time for which this fires at `at`: across a gap, the first of the skipped ones."""
        local = at.astimezone(walk.zone).replace(tzinfo=None)
        skipped = [each for slot, minutes in walk.gaps if slot == slot_of(at) for each in minutes]
        return next((each for each in skipped if self.matches(each)), local)


def draw_field(rng: random.Random, field: str) -> tuple[str, set[int], bool]:
    low, high = LIMITS[field]
    first, last = sorted((rng.randint(low, high), rng.randint(low, high)))
    step = rng.randint(2, max(2, (high - low) // 2))
    several = rng.sample(range(low, high + 1), rng.randint(2, 4))
    return rng.choice([
        ("*", set(range(low, high + 1)), True),
        ("?", set(range(low, high + 1)), True),
        (f"*/{step}", set(range(low, high + 1, step)), False),
        (f"{first}", {first}, False),
        (f"{first}-{first}", {first}, False),
        (f"{first}-{last}", set(range(first, last + 1)), False),
        (f"{low}-{high}", set(range(low, high + 1)), False),
        (f"{first}-{last}/{step}", set(range(first, last + 1, step)), False),
        (f"{first}/{step}", set(range(first, high + 1, step)), False),
        (",".join(map(str, several)), set(several), False),
    ])  # fmt: skip


def draw_expression(rng: random.Random) -> Expression:
    drawn = {field: draw_field(rng, field) for field in LIMITS}
    if rng.random() < 0.5:  # firings in the small hours, where the clocks change
        hour = rng.randint(0, 3)
        drawn["hour"] = (str(hour), {hour}, False)
    if rng.random() < 0.6:
        drawn["month"] = ("*", set(range(1, 13)), True)
    text = " ".join(drawn[field][0] for field in LIMITS)
    values = {field: each[1] for field, each in drawn.items()}
    return Expression(text, values, either_day=not (drawn["day"][2] or drawn["weekday"][2]))


def first_after(fires: bytes, after: datetime) -> datetime | None:
    """The first firing strictly after `after`; None beyond the walk."""
    begin = slot_of(after) + 1
    for byte in range(begin // 8, len(fires), 1 << 15):
        window = int.from_bytes(fires[byte : byte + (1 << 15)], "little") & ~((1 << max(0, begin - 8 * byte)) - 1)
        if window:
            return instant_of(8 * byte + (window & -window).bit_length() - 1)
    return None


def draw_moments(rng: random.Random, walk: Walk) -> list[datetime]:
    """Aware instants: anywhere in the first half of the walk, and close to the changes of the clock."""
    anywhere = [START + timedelta(minutes=rng.randrange(DAYS * 720)) for _ in range(MOMENTS_PER_EXPRESSION // 2)]
    near = rng.choices(walk.shifts or [START + timedelta(days=366)], k=MOMENTS_PER_EXPRESSION // 2)
    return anywhere + [each + timedelta(minutes=rng.randint(-1500, 180)) for each in near]


@pytest.mark.parametrize("zone", ZONES)
def test_expressions_and_windows_behave_as_ten_years_of_minutes_show(zone: str) -> None:
    rng = random.Random(zone)
    walk = walk_through(zone)
    starts = [draw_expression(rng) for _ in range(EXPRESSIONS_PER_ZONE)]
    end, end_bits = starts[-1], all_firings(starts[-1], walk)
    for expression in starts:
        bits = all_firings(expression, walk)
        window = CronWindow(start=expression.text, end=end.text, timezone=zone)
        for moment in draw_moments(rng, walk):
            start_at, end_at = first_after(bits, moment), first_after(end_bits, moment)
            if start_at is None or end_at is None:
                continue  # further away than the walk goes
            where = f"{expression.text} .. {end.text} in {zone} at {moment.astimezone(walk.zone)}"
            assert next_fire(expression.text, zone, moment) == start_at, where
            # Two firings that one gap pushed to the same instant keep the order in which they are written.
            end_is, start_is = end.written_as(walk, end_at), expression.written_as(walk, start_at)
            assert is_open(window, moment) == ((end_at, end_is) <= (start_at, start_is)), where
            assert next_change(window, moment) == min(start_at, end_at), where
        end, end_bits = expression, bits


def all_firings(expression: Expression, walk: Walk) -> bytes:
    return expression.fires(walk).to_bytes(DAYS * 48 * 4, "little")
