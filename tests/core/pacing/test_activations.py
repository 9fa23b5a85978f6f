"""The budget of activations: so many a second, namespaces in turn, the highest priority of each first."""

import pytest

from keda_py.core.pacing.activations import Bucket, Claim, ClaimQueue, read_priority


def popped(line: ClaimQueue) -> list[object]:
    found = []
    while (claim := line.pop()) is not None:
        found.append(claim.key)
    return found


def test_namespaces_take_turns_and_in_each_the_highest_priority_goes_first() -> None:
    line = ClaimQueue()
    for number in range(3):
        line.add(Claim(f"greedy-{number}", "greedy", priority=1_000_000))
    line.add(Claim("batch", "shop"))
    line.add(Claim("checkout", "shop", priority=5))
    assert popped(line) == ["greedy-0", "checkout", "greedy-1", "batch", "greedy-2"]


def test_one_that_comes_late_waits_for_one_turn_of_the_others_and_not_for_all_that_they_want() -> None:
    line = ClaimQueue()
    for number in range(100):
        line.add(Claim(f"greedy-{number}", "greedy"))
    for number in range(10):
        assert line.pop() == Claim(f"greedy-{number}", "greedy")
    line.add(Claim("checkout", "shop"))
    assert "checkout" in popped(line)[:2]


def test_one_that_waits_already_keeps_its_place_and_one_that_is_withdrawn_has_none() -> None:
    line = ClaimQueue()
    for key in ("first", "second", "third", "first"):
        line.add(Claim(key, "shop"))
    line.discard("second")
    assert (len(line), "second" in line) == (2, False)
    assert popped(line) == ["first", "third"]


def test_what_comes_and_goes_all_the_time_is_not_kept() -> None:
    line = ClaimQueue()
    line.add(Claim("steady", "shop"))

    for number in range(20_000):
        line.add(Claim("flapping", "shop", priority=number % 7 - 10))
        line.discard("flapping")
    assert len(line._waiting["shop"]) < 100
    assert popped(line) == ["steady"]


def test_a_second_holds_as_many_as_it_is_said_to() -> None:
    bucket, begun = Bucket(per_second=4, tokens=4, at=0), []
    for tick in range(200):
        bucket = bucket.refilled(tick / 100)
        while bucket.has_one:
            bucket = bucket.taken()
            begun.append(tick / 100)
    assert begun[:4] == [0, 0, 0, 0]
    assert begun[4:] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75], abs=0.011)


@pytest.mark.parametrize(
    ("text", "priority"),
    [("", 0), ("7", 7), ("-3", -3), ("9999999", 1_000_000), ("high", 0), ("1" * 5000, 0), ("--1", 0), ("١", 0)],
)
def test_a_priority_is_a_whole_number_within_bounds(text: str, priority: int) -> None:
    assert read_priority({"keda-py.dev/priority": text}) == priority
