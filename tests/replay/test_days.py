"""Timelines cut into local days."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from keda_py.replay.days import BLOCKS, days_of
from keda_py.replay.timeline import Step, Timeline

PRAGUE = ZoneInfo("Europe/Prague")


def step(at: datetime, before: int, replicas: int) -> Step:
    return Step(at=at, before=before, replicas=replicas, reason="", because="")


@pytest.mark.parametrize(
    ("begins", "hours"),
    [(datetime(2026, 3, 28, 23, tzinfo=UTC), 23), (datetime(2026, 10, 24, 22, tzinfo=UTC), 25)],
    ids=["spring", "autumn"],
)
def test_a_day_of_summer_time_is_as_long_as_it_is(begins: datetime, hours: int) -> None:
    timeline = Timeline(begins=begins, ends=begins + timedelta(hours=hours), replicas=1)
    days = list(days_of(timeline, PRAGUE))
    assert [day.up_seconds for day in days] == [hours * 3600]
    skipped = sum(share == 0 for share in days[0].shares)
    assert skipped == (2 if hours == 23 else 0)


def test_a_block_that_is_up_in_part_has_its_share() -> None:
    begins = datetime(2026, 11, 23, tzinfo=UTC)
    steps = (step(begins + timedelta(minutes=40), 0, 2), step(begins + timedelta(minutes=60), 2, 0))
    timeline = Timeline(begins=begins, ends=begins + timedelta(days=1), replicas=0, steps=steps)
    day = next(days_of(timeline, ZoneInfo("UTC")))
    assert (len(day.shares), day.shares[1], day.most) == (BLOCKS, pytest.approx(2 / 3), 2)
    assert (day.up_seconds, day.replica_seconds) == (1200, 2400)


def test_a_ramp_is_one_move_and_what_turns_back_is_two() -> None:
    at = datetime(2026, 11, 23, tzinfo=UTC)
    second = timedelta(seconds=15)
    steps = (step(at, 0, 1), step(at + second, 1, 4), step(at + 2 * second, 4, 5), step(at + 3 * second, 5, 0))
    timeline = Timeline(begins=at, ends=at + timedelta(days=1), replicas=0, steps=steps)
    assert [(move.before, move.replicas) for move in timeline.moves] == [(0, 5), (5, 0)]
