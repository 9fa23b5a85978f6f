"""`--at-most-waits`: a lower limit is kept, and gives the same hours or longer ones, which deny no more."""

import random
from array import array
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from keda_py.advice.proposals.advise import Advice, Proposal, advise
from keda_py.advice.proposals.places import PlaceRule
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.core.advice.history import History
from tests.advice.drawn import drawn
from tests.core.advice.habits import awake_minutes, changed
from tests.sweeps import size

LIMITS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 20.0)


def with_odd_use(history: History, chance: random.Random) -> History:
    """Use at odd moments, at some of them again in further weeks."""

    def use(values: "array[float]") -> None:
        week = 7 * 86_400 // history.step
        for _ in range(chance.randrange(12)):
            first, length = chance.randrange(len(values)), chance.randrange(1, 30)
            for start in range(first, len(values), week * chance.choice((1, 3, 4, 5))):
                for at in range(start, min(start + length, len(values))):
                    values[at] += 6.0

    return changed(history, use)


def denied(advice: Proposal) -> float:
    """Seconds of use that would have met a sleeping workload."""
    return sum(each.used for each in advice.proof.waits)


@pytest.mark.parametrize("seed", sorted({*range(size(20, 6)), 12}))
def test_a_lower_limit_is_kept_by_longer_hours_that_deny_no_more(seed: int) -> None:
    trace = drawn(seed)
    history = with_odd_use(trace.history(seed), random.Random(seed))
    observed = Observed(workload=WorkloadKey("shop", "Deployment", "web"), history=history)
    zone = ZoneInfo(trace.zone)
    found: list[Advice] = [advise(observed, PlaceRule(own=zone, zone=zone), limit) for limit in LIMITS]
    proposed = [(limit, each) for limit, each in zip(LIMITS, found, strict=True) if isinstance(each, Proposal)]
    assert proposed == list(zip(LIMITS, found, strict=True))[len(found) - len(proposed) :], "a higher limit gives less"
    for limit, each in proposed:
        assert each.proof.waits_a_week <= limit
    for (_, lower), (_, higher) in pairwise(proposed):
        assert awake_minutes(lower.candidate.hours) >= awake_minutes(higher.candidate.hours)
        assert denied(lower) <= denied(higher)
