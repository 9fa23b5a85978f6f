"""Traces that no recording has, each with its truth: hours within half an hour of it, outside of it, or nothing."""

from datetime import date, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

import pytest

from keda_py.advice.proposals.advise import Advice, Proposal, advise
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.advice.reports.evidence import evidence_of
from keda_py.core.advice.history import History
from keda_py.core.savings.statement import Prices
from tests.advice.drawn import drawn
from tests.advice.unseen import MONDAY, IdleFloor, Layer, Unseen
from tests.core.advice.habits import Window, is_right
from tests.sweeps import size

OFFICE: tuple[Window, ...] = (("Mon-Fri", "09:00", "18:00"),)
EVERY = tuple(MONDAY + timedelta(days=each) for each in range(100))


def of(*windows: Window, **more: object) -> Unseen:
    """A workload that is used in these windows."""
    return Unseen(layers=[Layer(windows=windows)], truth=windows, **more)  # type: ignore[arg-type]


def moved(old: Window, new: Window, weeks: int, after: int) -> Unseen:
    since = MONDAY + timedelta(weeks=weeks)
    layers = [Layer(windows=[old], last=since), Layer(windows=[new], first=since)]
    return Unseen(layers=layers, truth=[new], days=7 * (weeks + after))


UNSEEN: dict[str, Unseen] = {
    "two shifts": of(("Mon-Fri", "06:00", "14:00"), ("Mon-Fri", "14:00", "22:00")),
    "two shifts with a pause": of(("Mon-Fri", "06:00", "13:30"), ("Mon-Fri", "14:30", "22:00")),
    "three shifts from Monday to Friday": Unseen(
        layers=[
            Layer(windows=[("Mon-Fri", "06:00", "14:00"), ("Mon-Fri", "14:00", "22:00"), ("Mon-Fri", "22:00", "06:00")])
        ],
        truth=[("Mon", "06:00", "24:00"), ("Tue-Fri", "00:00", "24:00"), ("Sat", "00:00", "06:00")],
    ),
    "early and late in turns": Unseen(
        layers=[
            Layer(windows=[("Mon-Fri", "06:00", "14:00")], every=2),
            Layer(windows=[("Mon-Fri", "14:00", "22:00")], every=2, phase=1),
        ],
        truth=[("Mon-Fri", "06:00", "22:00")],
    ),
    "a batch in the nights of Tuesday and Thursday": of(*OFFICE, ("Tue,Thu", "01:00", "02:30")),
    "a backup over midnight": of(*OFFICE, ("Mon-Sun", "23:30", "00:30")),
    "a batch of a quarter of an hour": of(*OFFICE, ("Mon-Sun", "04:00", "04:15")),
    "half a day on Saturdays": of(*OFFICE, ("Sat", "09:00", "13:00")),
    "half a day on Fridays": of(("Mon-Thu", "08:00", "17:00"), ("Fri", "08:00", "13:00")),
    "a gap at lunch": of(("Mon-Fri", "08:00", "11:45"), ("Mon-Fri", "13:15", "17:30")),
    "a long siesta": of(("Mon-Sat", "09:30", "13:30"), ("Mon-Sat", "17:00", "21:00")),
    "a meal at noon and one in the evening": of(("Mon-Sun", "11:00", "14:00"), ("Mon-Sun", "17:30", "23:00")),
    "a bar": of(("Thu", "18:00", "01:00"), ("Fri-Sat", "18:00", "04:00")),
    "one weekday": of(("Wed", "10:00", "12:00")),
    "a report on Mondays": of(("Mon", "05:00", "05:30")),
    "Sunday to Thursday": of(("Mon-Thu,Sun", "09:00", "17:00"), zone="Asia/Jerusalem"),
    "every day": of(("Mon-Sun", "07:00", "23:00")),
    "day and night but for weekends": of(("Mon-Fri", "00:00", "24:00")),
    "weekly maintenance beside the office": of(*OFFICE, ("Sun", "02:00", "06:00")),
    "weekly maintenance stops what is always used": Unseen(
        layers=[Layer(windows=[("Mon-Sat", "00:00", "24:00"), ("Sun", "00:00", "02:00"), ("Sun", "06:00", "24:00")])],
        truth=None,
    ),
    "summer time begins": of(*OFFICE, zone="Europe/Paris", start=date(2026, 3, 9)),
    "summer time ends": of(*OFFICE, zone="Europe/Warsaw", start=date(2026, 10, 5), days=42),
    "summer time begins in New York": of(
        ("Mon-Fri", "08:30", "17:30"), zone="America/New_York", start=date(2026, 2, 16)
    ),
    "summer time ends in Chicago": of(("Mon-Fri", "07:00", "19:00"), zone="America/Chicago", start=date(2026, 10, 12)),
    "summer time begins in Sydney": of(*OFFICE, zone="Australia/Sydney", start=date(2026, 9, 14)),
    "summer time ends in Auckland": of(("Mon-Fri", "08:00", "17:00"), zone="Pacific/Auckland", start=date(2026, 3, 16)),
    "half an hour of summer time": of(*OFFICE, zone="Australia/Lord_Howe", start=date(2026, 3, 16)),
    "a night shift over the change of clocks": of(
        ("Mon-Sun", "22:00", "06:00"), zone="Europe/Berlin", start=date(2026, 3, 9)
    ),
    "a batch in the hour that is skipped": of(
        *OFFICE, ("Mon-Sun", "02:15", "02:45"), zone="Europe/Berlin", start=date(2026, 3, 9)
    ),
    "a job in UTC beside people with summer time": Unseen(
        layers=[Layer(windows=OFFICE), Layer(windows=[("Mon-Sun", "02:00", "03:00")], zone="UTC")],
        truth=[*OFFICE, ("Mon-Sun", "04:00", "05:00")],
        zone="Europe/Berlin",
        start=date(2026, 3, 9),
    ),
    "holidays of another country": Unseen(
        layers=[Layer(windows=OFFICE, off=[date(2026, 5, 1), date(2026, 5, 4), date(2026, 5, 5), date(2026, 5, 6)])],
        truth=OFFICE,
        zone="Europe/Berlin",
        start=date(2026, 4, 13),
    ),
    "two weeks of Christmas": Unseen(
        layers=[Layer(windows=OFFICE, off=[date(2025, 12, 22) + timedelta(days=each) for each in range(14)])],
        truth=OFFICE,
        zone="Europe/Vienna",
        start=date(2025, 12, 1),
    ),
    "two weeks of holidays at the end": Unseen(layers=[Layer(windows=OFFICE, off=EVERY[28:42])], truth=OFFICE),
    "a team that begins earlier": moved(("Mon-Fri", "10:00", "19:00"), ("Mon-Fri", "07:00", "16:00"), 3, 3),
    "a team that begins later": moved(("Mon-Fri", "07:00", "15:00"), ("Mon-Fri", "11:00", "19:00"), 4, 4),
    "a team that is on the other side of the world": moved(OFFICE[0], ("Mon-Fri", "22:00", "06:00"), 4, 4),
    "hours that grow": moved(OFFICE[0], ("Mon-Fri", "09:00", "21:00"), 3, 3),
    "hours that shrink": moved(("Mon-Fri", "06:00", "22:00"), OFFICE[0], 3, 3),
    "Fridays that are off now": moved(OFFICE[0], ("Mon-Thu", "09:00", "18:00"), 4, 4),
    "weekends that are on now": moved(OFFICE[0], ("Mon-Sun", "09:00", "18:00"), 4, 3),
    "a batch that came": Unseen(
        layers=[Layer(windows=OFFICE), Layer(windows=[("Mon-Sun", "02:00", "03:00")], first=EVERY[21])],
        truth=[*OFFICE, ("Mon-Sun", "02:00", "03:00")],
    ),
    "a batch that went": Unseen(
        layers=[Layer(windows=OFFICE), Layer(windows=[("Mon-Sun", "02:00", "03:00")], last=EVERY[21])],
        truth=OFFICE,
    ),
    "checks every 10 s": of(*OFFICE, floor=IdleFloor(level=0.1, noise=0.18)),
    "checks every 10 s at a strict pace": of(*OFFICE, floor=IdleFloor(level=0.1, noise=0.0)),
    "checks of many replicas": of(*OFFICE, floor=IdleFloor(level=4.0, noise=0.03)),
    "checks alone": Unseen(truth=None, floor=IdleFloor(level=0.1, noise=0.1)),
    "a sidecar each hour": of(*OFFICE, floor=IdleFloor(minutes=[0], job=3.0)),
    "a sidecar each hour for ten minutes": of(*OFFICE, floor=IdleFloor(minutes=[30, 35], job=3.0)),
    "a sidecar each quarter of an hour": of(*OFFICE, floor=IdleFloor(minutes=[0, 15, 30, 45], job=1.0)),
    "a sidecar each ten minutes": of(*OFFICE, floor=IdleFloor(minutes=range(0, 60, 10), job=0.5)),
    "a sidecar each hour beside checks": of(*OFFICE, floor=IdleFloor(level=0.1, noise=0.1, minutes=[0], job=2.0)),
    "a sidecar at the minute at which use begins": of(
        ("Mon-Fri", "09:00", "18:15"), ("Sun", "04:00", "04:15"), step=900, floor=IdleFloor(minutes=[0], job=2.0)
    ),
    "two sidecars an hour and samples each ten minutes": of(
        *OFFICE, step=600, floor=IdleFloor(level=0.2, minutes=[10, 40], job=1.0)
    ),
    "a sidecar alone": Unseen(truth=(), floor=IdleFloor(minutes=[0], job=3.0)),
    "samples that are missing here and there": of(*OFFICE, dropped=0.15),
    "a week that is missing": of(*OFFICE, lost=[(14, 21)]),
    "days that are missing": of(*OFFICE, lost=[(3, 4.5), (11.2, 12), (30, 31)]),
    "nights that are missing": Unseen(
        layers=[Layer(windows=OFFICE)], truth=None, lost=[(each + 0.8, each + 1.3) for each in range(42)]
    ),
    "three weeks and a half": of(*OFFICE, days=25),
    "a history that begins on a Saturday": of(*OFFICE, start=date(2026, 8, 8), days=38),
    "two weeks and a half": Unseen(layers=[Layer(windows=OFFICE)], truth=None, days=18),
    "few requests": Unseen(layers=[Layer(windows=OFFICE, least=0.003, most=0.01, presence=0.5)], truth=OFFICE),
    "people who come and go": Unseen(layers=[Layer(windows=OFFICE, moved=25)], truth=OFFICE),
    "once in two weeks": Unseen(
        layers=[Layer(windows=OFFICE), Layer(windows=[("Sun", "03:00", "05:00")], every=2)],
        truth=[*OFFICE, ("Sun", "03:00", "05:00")],
        days=56,
    ),
    "the last days of each month": Unseen(
        layers=[Layer(windows=[("Mon-Sun", "00:00", "24:00")], off=[each for each in EVERY if each.day < 28])],
        truth=None,
        days=84,
    ),
    "hours that come an hour later each day": Unseen(
        layers=[
            Layer(
                windows=[("Mon-Sun", f"{each % 24:02}:00", f"{(each + 3) % 24:02}:00")],
                first=EVERY[each],
                last=EVERY[each + 1],
            )
            for each in range(42)
        ],
        truth=None,
    ),
    "three shifts in turns": Unseen(
        layers=[
            Layer(windows=[("Mon-Fri", begins, ends)], every=3, phase=phase)
            for phase, (begins, ends) in enumerate([("06:00", "14:00"), ("14:00", "22:00"), ("22:00", "06:00")])
        ],
        truth=[("Mon", "06:00", "24:00"), ("Tue-Fri", "00:00", "24:00"), ("Sat", "00:00", "06:00")],
    ),
    "steps of a minute's multiple": of(*OFFICE, step=900),
    "steps of half an hour": of(*OFFICE, step=1800),
    "steps of an hour": of(*OFFICE, step=3600),
    "steps of an hour in India": of(("Mon-Fri", "09:30", "18:30"), zone="Asia/Kolkata", step=3600),
    "steps of half an hour in Nepal": of(("Mon-Fri", "09:30", "18:30"), zone="Asia/Kathmandu", step=1800),
}


class ZonedTrace(Protocol):
    """Values in a zone."""

    @property
    def zone(self) -> str: ...
    def history(self, seed: int = 1) -> History: ...


def advised(trace: ZonedTrace, seed: int) -> Advice:
    """The advice on a trace, proven, with the public holidays of its zone."""
    observed = Observed(workload=WorkloadKey("shop", "Deployment", "web"), history=trace.history(seed))
    zone = ZoneInfo(trace.zone)
    return advise(observed, PlaceRule(own=zone, zone=zone), 2.0)


@pytest.mark.parametrize("name", UNSEEN)
def test_each_unseen_habit_is_found_as_it_is_true(name: str) -> None:
    trace = UNSEEN[name]
    found = advised(trace, 1)
    if trace.truth is None:
        assert not isinstance(found, Proposal), found.candidate
        return
    assert isinstance(found, Proposal), found.because
    hours = found.candidate.hours
    assert is_right(hours, trace.truth) if trace.truth else not hours, [str(each) for each in hours]


@pytest.mark.parametrize("seed", range(size(60, 12)))
def test_each_drawn_habit_is_found_as_it_is_true(seed: int) -> None:
    trace = drawn(seed)
    assert trace.truth
    found = advised(trace, seed)
    assert isinstance(found, Proposal), found.because
    assert is_right(found.candidate.hours, trace.truth), [str(each) for each in found.candidate.hours]


def test_hours_that_moved_two_weeks_ago_are_proposed_and_told_to_be_new() -> None:
    found = advised(moved(("Mon-Fri", "09:00", "18:00"), ("Mon-Fri", "06:30", "15:30"), 5, 2), 1)
    assert isinstance(found, Proposal), found.because
    assert [str(each) for each in found.candidate.hours] == ["Mon-Fri 06:30-15:30"]
    told = (
        "its hours changed on Mon 2026-09-07: 12.5 h a week came and 12.5 h went, the weeks before do not count; "
        "two weeks show it, so ask whether that is to stay"
    )
    assert told in evidence_of(found, Prices())
