"""Differences that become disagreements, how long they last, and how many are remembered."""

from datetime import UTC, datetime, timedelta

from keda_py.core.shadow.comparison import Claim, Matter, Side
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.shadow.ledger import Disagreements

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY = ObjectKey("ScaledObject", "shop", "app")
MINUTE = timedelta(minutes=1)


def claim(*, agree: bool = False, subject: str = "", matter: Matter = Matter.REPLICAS) -> Claim:
    return Claim(matter=matter, subject=subject, ours=Side(value="1"), theirs=Side(value="0"), agree=agree)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_a_difference_counts_once_it_has_lasted_and_it_has_been_since_it_began() -> None:
    ledger = Disagreements(NOON)
    assert [ledger.note(KEY, [claim()], at(second), MINUTE) for second in (0, 59, 60, 70)] == [[], [], [claim()], []]
    (one,) = ledger.holding()
    assert (one.since, one.until, ledger.found) == (NOON, None, 1)
    ledger.note(KEY, [claim(agree=True)], at(90), MINUTE)
    assert list(ledger.holding()) == []
    assert [one.until for one in ledger.ended()] == [at(90)]


def test_a_short_difference_leaves_no_trace_and_begins_anew() -> None:
    ledger = Disagreements(NOON)
    for second in range(0, 600, 30):
        ledger.note(KEY, [claim(agree=second % 60 == 0)], at(second), MINUTE)
    assert (list(ledger.holding()), ledger.ended(), ledger.found) == ([], [], 0)


def test_each_metric_is_a_matter_of_its_own() -> None:
    ledger = Disagreements(NOON)
    for second in (0, 60):
        ledger.note(KEY, [claim(subject=name, matter=Matter.METRIC) for name in "ab"], at(second), MINUTE)
    assert [one.claim.subject for one in ledger.holding_of(KEY)] == ["a", "b"]


def test_what_is_gone_or_paused_disagrees_no_longer() -> None:
    ledger, other = Disagreements(NOON), ObjectKey("ScaledObject", "shop", "other")
    for second in (0, 60):
        ledger.note(KEY, [claim()], at(second), MINUTE)
        ledger.note(other, [claim()], at(second), MINUTE)
    ledger.forget(KEY, at(61))
    ledger.skip(other, "paused", at(62))
    assert [one.until for one in ledger.ended()] == [at(61), at(62)]
    assert (ledger.compared, ledger.why_not) == (0, {other: "paused"})
    ledger.note(other, [], at(63), MINUTE)
    assert (ledger.compared, ledger.why_not) == (1, {})


def test_what_is_over_is_remembered_within_bounds() -> None:
    ledger = Disagreements(NOON, most_ended=3)
    for number in range(10):
        for second in (0, 60):
            ledger.note(KEY, [claim()], at(200 * number + second), MINUTE)
        ledger.note(KEY, [], at(200 * number + 100), MINUTE)
    assert (len(ledger.ended()), ledger.found) == (3, 10)


def test_no_namespace_displaces_what_is_remembered_of_another() -> None:
    ledger, quiet = Disagreements(NOON, most_ended=3), ObjectKey("ScaledObject", "bank", "app")
    for key in (quiet, *[KEY] * 10):
        for second in (0, 60):
            ledger.note(key, [claim()], at(second), MINUTE)
        ledger.note(key, [], at(100), MINUTE)
    assert [one.key.namespace for one in ledger.ended()].count("bank") == 1
