"""Habits with disturbances: floors that scatter or move, resets, late evenings, moves, gaps, holidays, constant low use."""

import math
import random
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from keda_py.advice.proposals.advise import Proposal
from keda_py.core.advice.history import History
from tests.advice.test_unseen_habits import EVERY, OFFICE, advised, moved, of
from tests.advice.traces import advised as advised_on
from tests.advice.traces import hours_in, written
from tests.advice.unseen import IdleFloor, Layer, Unseen
from tests.core.advice.habits import Window, changed, is_right

Change = Callable[["array[float]", random.Random], None]
WEEK, DAY, HOUR = 2016, 288, 12
"""In steps."""
NIGHTS = [(day + 22 / 24, day + 30 / 24) for day in range(42)]
FIRST_OF_MONTH = [day for day in EVERY if day.day != 1]


@dataclass(frozen=True, slots=True)
class DisturbedUse:
    """Use with values that are changed afterwards."""

    use: Unseen
    change: Change

    @property
    def zone(self) -> str:
        return self.use.zone

    @property
    def truth(self) -> Sequence[Window] | None:
        return self.use.truth

    def history(self, seed: int = 1) -> History:
        return changed(self.use.history(seed), lambda values: self.change(values, random.Random(seed + 99)))


def adding(each: Callable[[int, random.Random], float]) -> Change:
    """More in each step."""

    def add(values: "array[float]", chance: random.Random) -> None:
        for at in range(len(values)):
            values[at] = max(values[at] + each(at, chance), 0.0)

    return add


def used_on(days: Sequence[int], begins: float, closes: float) -> Change:
    """Use on single days of the trace, in hours of the day."""
    spans = {day * DAY + at for day in days for at in range(int(begins * HOUR), int(closes * HOUR))}
    return adding(lambda at, chance: chance.uniform(0.5, 2.0) if at in spans else 0.0)


def only(value: Callable[[int, random.Random], float]) -> DisturbedUse:
    """No layer of use, but these values."""
    return DisturbedUse(Unseen(truth=None), adding(value))


def lost_at(count: int) -> Change:
    def lose(values: "array[float]", chance: random.Random) -> None:
        for _ in range(count):
            values[chance.randrange(len(values))] = math.nan

    return lose


def fading(values: "array[float]", _: random.Random) -> None:
    for at in range(len(values)):
        values[at] *= max(1 - 1.05 * at / len(values), 0.05)


def berlin(*off: date, start: date, days: int = 42) -> Unseen:
    return Unseen(layers=[Layer(windows=OFFICE, off=off)], truth=OFFICE, zone="Europe/Berlin", start=start, days=days)


CHECKED = of(*OFFICE, floor=IdleFloor(level=0.2))
HABITS: dict[str, Unseen | DisturbedUse] = {
    "day and night with a quiet Sunday": of(("Mon-Sat", "00:00", "24:00")),
    "six quiet hours on Sundays alone": Unseen(
        layers=[Layer(windows=[("Mon-Sat", "00:00", "24:00"), ("Sun", "06:00", "24:00")])], truth=None
    ),
    "two hours later from the fourth week on": moved(
        ("Mon-Fri", "08:00", "17:00"), ("Mon-Fri", "10:00", "19:00"), 3, 3
    ),
    "an hour later": moved(OFFICE[0], ("Mon-Fri", "10:00", "19:00"), 3, 3),
    "half an hour later": moved(OFFICE[0], ("Mon-Fri", "09:30", "18:30"), 4, 4),
    "from weekdays to weekends": moved(OFFICE[0], ("Sat-Sun", "10:00", "20:00"), 4, 4),
    "from Wednesdays to Fridays": moved(("Wed", "09:00", "18:00"), ("Fri", "09:00", "18:00"), 4, 4),
    "summer time ends in Sydney": of(*OFFICE, zone="Australia/Sydney", start=date(2026, 3, 9)),
    "summer time begins in Cairo on a Friday": of(
        ("Mon-Thu,Sun", "09:00", "17:00"), zone="Africa/Cairo", start=date(2026, 4, 6)
    ),
    "a week of holidays in Japan": Unseen(
        layers=[
            Layer(windows=OFFICE, off=[date(2026, 4, 29), date(2026, 5, 4), date(2026, 5, 5), date(2026, 5, 6)]),
        ],
        truth=OFFICE,
        zone="Asia/Tokyo",
        start=date(2026, 4, 6),
    ),
    "Easter and what follows": berlin(
        date(2026, 4, 3), date(2026, 4, 6), date(2026, 5, 1), date(2026, 5, 14), start=date(2026, 3, 30), days=56
    ),
    "nine days of Christmas": berlin(
        *(date(2025, 12, 24) + timedelta(days=each) for each in range(9)), start=date(2025, 12, 1)
    ),
    "a batch at 03:00 on weekdays": of(*OFFICE, ("Mon-Fri", "03:00", "03:30")),
    "a batch on the first of the month beside an office": Unseen(
        layers=[Layer(windows=OFFICE), Layer(windows=[("Mon-Sun", "03:00", "05:00")], off=FIRST_OF_MONTH)],
        truth=OFFICE,
        days=56,
    ),
    "a batch on the first of the month alone": Unseen(
        layers=[Layer(windows=[("Mon-Sun", "03:00", "05:00")], off=FIRST_OF_MONTH)], truth=None, days=63
    ),
    "bursts of health checks": DisturbedUse(
        CHECKED, adding(lambda _, chance: chance.uniform(0.2, 0.8) if chance.random() < 0.02 else 0.0)
    ),
    "another replica with its checks": DisturbedUse(CHECKED, adding(lambda at, _: 0.2 if at >= 3 * WEEK else 0.0)),
    "half as many checks more": DisturbedUse(CHECKED, adding(lambda at, _: 0.1 if at >= 3 * WEEK else 0.0)),
    "checks that begin in the third week": DisturbedUse(
        of(*OFFICE), adding(lambda at, chance: chance.gauss(0.2, 0.01) if at >= 2 * WEEK else 0.0)
    ),
    "checks that begin in the middle of a week": DisturbedUse(
        of(*OFFICE), adding(lambda at, chance: chance.gauss(0.2, 0.01) if at >= 2 * WEEK + 800 else 0.0)
    ),
    "more checks from the middle of a week on, beside rare use": DisturbedUse(
        of(("Tue,Thu", "13:00", "15:00"), floor=IdleFloor(level=0.05, noise=0.2)),
        adding(lambda at, _: 0.2 if at >= 6500 else 0.0),
    ),
    "checks that end": DisturbedUse(
        of(*OFFICE), adding(lambda at, chance: chance.gauss(0.2, 0.01) if at < 2 * WEEK else 0.0)
    ),
    "a floor that scatters by half": of(*OFFICE, floor=IdleFloor(level=0.2, noise=0.5)),
    "a floor of any value up to 0.4": DisturbedUse(of(*OFFICE), adding(lambda _, chance: chance.uniform(0.0, 0.4))),
    "an exponential floor": DisturbedUse(of(*OFFICE), adding(lambda _, chance: chance.expovariate(10.0))),
    "bots day and night": DisturbedUse(
        of(*OFFICE), adding(lambda _, chance: sum(chance.random() < 0.3 for _ in range(10)) / 300)
    ),
    "a request now and then day and night": DisturbedUse(
        Unseen(layers=[Layer(windows=OFFICE)], truth=None),
        adding(lambda _, chance: 1 / 300 if chance.random() < 0.02 else 0.0),
    ),
    "nights that were not scraped": Unseen(layers=[Layer(windows=OFFICE)], truth=None, lost=NIGHTS),
    "two hours of each night that were not scraped": of(
        *OFFICE, ("Mon-Sun", "02:00", "04:00"), lost=[(day + 2 / 24, day + 4 / 24) for day in range(42)]
    ),
    "a gap at work": Unseen(
        layers=[Layer(windows=OFFICE)],
        truth=[*OFFICE, ("Sat-Sun", "11:00", "12:00")],
        lost=[(day + 11 / 24, day + 12 / 24) for day in range(42)],
    ),
    "counters that began again": DisturbedUse(of(*OFFICE), lost_at(40)),
    "a last week that is missing": of(*OFFICE, lost=[(35, 42)]),
    "somebody who stayed late once": DisturbedUse(of(*OFFICE), used_on([16], 18, 23)),
    "somebody who stayed late last week": DisturbedUse(of(*OFFICE), used_on([38], 18, 23)),
    "a Saturday of work": DisturbedUse(of(*OFFICE), used_on([26], 10, 14)),
    "two Saturdays of work": DisturbedUse(of(*OFFICE), used_on([12, 33], 10, 14)),
    "a season that fades": DisturbedUse(of(*OFFICE), fading),
    "use that ended": Unseen(layers=[Layer(windows=OFFICE, last=EVERY[35])], truth=None, days=56),
    "two weeks": Unseen(layers=[Layer(windows=OFFICE)], truth=None, days=14),
    "use that began in the middle": Unseen(layers=[Layer(windows=OFFICE, first=EVERY[21])], truth=OFFICE),
    "another window each day": of(
        ("Mon", "06:00", "14:00"), ("Tue", "10:00", "18:00"), ("Wed", "12:00", "20:00"), ("Fri", "14:00", "23:00")
    ),
    "a short Saturday within the hours of the other days": of(("Mon-Fri", "07:05", "16:55"), ("Sat", "10:20", "12:10")),
    "one use in weeks": DisturbedUse(Unseen(truth=None), used_on([17], 8, 8.1)),
    "constant low use": only(lambda _, chance: max(chance.gauss(0.05, 0.015), 0.0)),
    "constant low use of single requests": only(lambda _, chance: 1 / 300 if chance.random() < 0.4 else 0.0),
    "a curve that never ends": only(
        lambda at, chance: max(3 + 2.5 * math.sin(math.tau * at / DAY) + chance.gauss(0, 0.2), 0.05)
    ),
}


@pytest.mark.parametrize("name", HABITS)
def test_each_disturbed_habit_is_found_as_it_is_true(name: str) -> None:
    trace = HABITS[name]
    found = advised(trace, 1)
    if trace.truth is None:
        assert not isinstance(found, Proposal), found.candidate
        return
    assert isinstance(found, Proposal), found.because
    assert is_right(found.candidate.hours, trace.truth), [str(each) for each in found.candidate.hours]


def test_a_rate_below_zero_is_missing_and_not_idle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A counter that began again gives one, where a trace has plain differences."""

    def fall(values: "array[float]") -> None:
        for day in range(42):
            for at in range(day * DAY + 2 * HOUR, day * DAY + 4 * HOUR):
                values[at] = -3.0

    path = written(tmp_path, web=changed(of(*OFFICE).history(), fall))
    (found,) = advised_on(capsys, "--trace", path, "--timezone", "UTC")["workloads"]
    assert hours_in(found) == ["Mon-Sun 02:00-04:00", "Mon-Fri 09:00-18:00"]


def test_a_floor_that_moved_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, web=HABITS["another replica with its checks"].history())
    (found,) = advised_on(capsys, "--trace", path, "--timezone", "UTC")["workloads"]
    (told,) = (each for each in found["evidence"] if each.startswith("idle floor"))
    assert "idle floor: 0.4 requests/s" in told
    assert "it moved, and was 0.2 before" in told
