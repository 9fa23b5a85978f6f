"""In which order workloads start, from recorded starts that are invented here: steps of 15 s, so many replicas ready."""

import math
import random
from collections.abc import Mapping, Sequence

import pytest

from keda_py.core.advice.start_order import MemberStart, Precedence, coarse_starts, layers_of, precedences_of

STEPS = 80


def started(
    at: int, *, restarts: int | None = None, restarted_at: int = 0, gap: int | None = None, drops: int = 0
) -> MemberStart:
    """A member that is ready from step `at` on; `drops` steps before that it was ready and came back to not ready."""
    ready = [0.0] * at + [1.0] * (STEPS - at)
    if drops:
        ready[at - drops - 1] = 1.0
    if gap is not None:
        ready[gap] = math.nan
    counts = None if restarts is None else [0.0] * restarted_at + [float(restarts)] * (STEPS - restarted_at)
    return MemberStart(ready=ready, restarts=counts)


def pairs(starts: Sequence[Mapping[str, MemberStart]]) -> set[tuple[str, str]]:
    return {(each.first, each.then) for each in precedences_of(starts)}


def only(starts: Sequence[Mapping[str, MemberStart]]) -> Precedence:
    (found,) = precedences_of(starts)
    return found


def test_a_workload_that_restarts_until_another_is_ready_starts_after_it() -> None:
    starts = [{"db": started(4), "api": started(7, restarts=3, restarted_at=2)} for _ in range(9)]
    assert only(starts).words == "api was ready after db in 9 of 9 starts, 45 s later, restarted 3 times before"


def test_a_workload_that_was_ready_last_without_a_restart_needed_nothing() -> None:
    """A slow start is no need, where restarts are recorded and there were none."""
    starts = [{"db": started(4, restarts=0), "api": started(20, restarts=0)} for _ in range(9)]
    assert pairs(starts) == set()


def test_restarts_after_the_other_was_ready_do_not_count() -> None:
    starts = [{"db": started(4), "api": started(20, restarts=2, restarted_at=5)} for _ in range(9)]
    assert pairs(starts) == set()


@pytest.mark.parametrize(("restarting", "expected"), [(5, {("db", "api")}), (4, set())])
def test_restarts_are_needed_in_half_of_the_starts(restarting: int, expected: set[tuple[str, str]]) -> None:
    starts = [
        {"db": started(4), "api": started(9, restarts=int(number < restarting), restarted_at=1)} for number in range(10)
    ]
    assert pairs(starts) == expected


def test_readiness_that_came_back_to_not_ready_is_a_need() -> None:
    starts = [{"db": started(10), "api": started(11, restarts=0, drops=4)} for _ in range(5)]
    assert only(starts).words == "api was ready after db in 5 of 5 starts, 15 s later, lost its readiness before"


def test_a_gap_in_each_start_is_enough_where_restarts_are_not_recorded() -> None:
    starts = [{"db": started(4), "api": started(6 + number)} for number in range(5)]
    assert only(starts).words == "api was ready after db in 5 of 5 starts, 60 s later; restarts are not recorded"
    starts[3] = {"db": started(4), "api": started(5)}
    assert pairs(starts) == set()


def test_one_start_of_ten_may_be_in_another_order() -> None:
    usual = {"db": started(4), "api": started(7, restarts=1, restarted_at=2)}
    other = {"db": started(9), "api": started(7, restarts=1, restarted_at=2)}
    assert pairs([*[usual] * 9, other]) == {("db", "api")}
    assert pairs([*[usual] * 8, other, other]) == set()


def test_a_random_order_is_none() -> None:
    chance = random.Random(3)
    starts = [
        {name: started(chance.randint(2, 30), restarts=2, restarted_at=1) for name in ("a", "b", "c")}
        for _ in range(20)
    ]
    assert pairs(starts) == set()


def test_four_starts_are_too_few() -> None:
    start = {"db": started(4), "api": started(7, restarts=3, restarted_at=2)}
    assert pairs([start] * 4) == set()
    assert pairs([start] * 5) == {("db", "api")}


@pytest.mark.parametrize(
    "unknown",
    [
        {"db": started(4)},
        {"db": started(4), "api": started(7, restarts=3, gap=40)},
        {"db": MemberStart(ready=[math.nan] * 3 + [1.0] * 77), "api": started(7, restarts=3)},
        {"db": started(4), "api": started(STEPS, restarts=3)},
    ],
    ids=["no series", "a gap", "ready at its first value", "never ready"],
)
def test_a_start_with_a_missing_value_counts_for_neither(unknown: Mapping[str, MemberStart]) -> None:
    start = {"db": started(4), "api": started(7, restarts=3, restarted_at=2)}
    assert pairs([*[start] * 4, unknown]) == set()
    assert only([*[start] * 5, unknown]).starts == 5


def test_a_workload_that_was_created_in_a_start_is_known_from_its_first_value_of_0() -> None:
    created = MemberStart(ready=[math.nan] * 3 + [0.0] + [1.0] * 76)
    starts = [{"db": created, "api": started(7, restarts=3, restarted_at=2)} for _ in range(5)]
    assert pairs(starts) == {("db", "api")}


def test_layers_follow_what_has_to_be_ready_before() -> None:
    starts = [
        {
            "db": started(4, restarts=0),
            "queue": started(6, restarts=0),
            "api": started(9, restarts=2, restarted_at=1),
            "web": started(14, restarts=3, restarted_at=8),
        }
        for _ in range(6)
    ]
    found = precedences_of(starts)
    assert layers_of(["web", "api", "queue", "db", "cron"], found) == (("cron", "db", "queue"), ("api",), ("web",))


def test_a_circle_has_no_layers() -> None:
    circle = [
        Precedence(first=first, then=then, starts=5, after=5, steps=2, restarts=1, lost=False)
        for first, then in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    assert layers_of(["a", "b", "c"], circle) is None


def test_starts_are_found_where_all_were_down_and_the_newest_come_first() -> None:
    nan = math.nan
    db = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, nan, nan, 1.0]
    api = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, nan, 1.0]
    assert coarse_starts([db, api], most=20, apart=1) == [8, 4, 0]
    assert coarse_starts([db, api], most=2, apart=1) == [8, 4]
    assert coarse_starts([db, api], most=20, apart=5) == [8, 0]
    assert coarse_starts([], most=20, apart=1) == []
