"""Draw traces of workloads at random, each with its truth."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from keda_py.advice.proposals.places import country_of
from keda_py.calendars.countries import country_holidays
from keda_py.core.advice.history import STEPS
from tests.advice.unseen import IdleFloor, Layer, Unseen
from tests.core.advice.habits import Window

ZONES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Santiago",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Asia/Tokyo",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Jerusalem",
    "Africa/Cairo",
)
FLOORS = (
    IdleFloor(),
    IdleFloor(),
    IdleFloor(),
    IdleFloor(level=0.1, noise=0.18),
    IdleFloor(level=0.3, noise=0.05),
    IdleFloor(minutes=(0,), job=2.0),
    IdleFloor(level=0.2, noise=0.05, minutes=(10, 40), job=1.0),
)


def drawn(seed: int) -> Unseen:
    """A habit of people, perhaps with a batch, on a floor, with gaps and days off."""
    chance = random.Random(seed)
    zone = chance.choice(ZONES)
    start = date(2026, 1, 1) + timedelta(days=chance.randrange(330))
    days = chance.randrange(28, 70)
    people = _people(chance)
    batch = _batch(chance, people)
    layers = [Layer(windows=people, off=_off(chance, zone, start, days), moved=chance.choice((0, 0, 10, 20)))]
    layers += [Layer(windows=batch, least=5.0, most=9.0)] if batch else []
    step = chance.choice((300, 300, 300, 600, 900))
    missing = (0.0, 0.0, 0.02, 0.05) if step == STEPS[0] else (0.0, 0.0, 0.02)
    lost = [(at, at + chance.uniform(0.1, 2.0)) for at in [chance.uniform(0, days)] if chance.random() < 0.3]
    return Unseen(
        layers=layers,
        truth=[*people, *batch],
        zone=zone,
        start=start,
        days=days,
        step=step,
        floor=chance.choice(FLOORS),
        lost=lost,
        dropped=0.0 if lost else chance.choice(missing),
    )


def _clock(quarters: int) -> str:
    return f"{quarters // 4 % 24:02}:{quarters % 4 * 15:02}"


def _people(chance: random.Random) -> Sequence[Window]:
    days = chance.choice(("Mon-Fri", "Mon-Fri", "Mon-Thu,Sun", "Mon-Sat", "Mon-Sun", "Sat-Sun", "Tue-Thu"))
    begins = chance.randrange(24, 56)
    ends = begins + chance.randrange(16, 48)
    if ends - begins < 28 or chance.random() < 0.7:
        return [(days, _clock(begins), _clock(ends))]
    pause = chance.randrange(begins + 12, ends - 12)
    return [(days, _clock(begins), _clock(pause)), (days, _clock(pause + 6), _clock(ends))]


def _batch(chance: random.Random, people: Sequence[Window]) -> Sequence[Window]:
    if chance.random() < 0.5:
        return []
    days = chance.choice(("Mon-Sun", "Sun", "Tue,Thu", "Mon-Fri"))
    begins = chance.randrange(4, 18)
    return [(days, _clock(begins), _clock(begins + chance.randrange(1, 5)))]


def _off(chance: random.Random, zone: str, start: date, days: int) -> Sequence[date]:
    """Public holidays of its country, and perhaps a day or a week besides."""
    all_days = [start + timedelta(days=each) for each in range(days)]
    country = country_of(ZoneInfo(zone).key)
    years = tuple(range(start.year, start.year + 2))
    holidays = country_holidays(country, "", years, field="country") if country and chance.random() < 0.7 else {}
    first = chance.randrange(days)
    leave = all_days[first : first + chance.choice((0, 0, 1, 7))]
    return [*(day for day in all_days if day in holidays), *leave]
