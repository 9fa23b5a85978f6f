"""What is kept of an object's changes in its status: enough to tell why, never too much, and nothing made up."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from keda_py.core.decision import Reason
from keda_py.core.jobs.decision import JobReason
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.decisions.history import (
    MOST_BYTES,
    MOST_ENTRIES,
    DecisionHistory,
    compact,
    is_lively,
    read_history,
    with_entry,
)
from keda_py.operator.decisions.record import DecisionRecord, Entry, JobCounts, TriggerNote

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = timedelta(hours=24)


def entry(reason: Reason, minutes: float = 0, before: int = 1, after: int = 1, **more: Any) -> Entry:
    return Entry(at=NOON + timedelta(minutes=minutes), reason=reason, before=before, after=after, **more)


def kept(*entries: Entry, keep: timedelta = DAY) -> DecisionHistory:
    history = DecisionHistory()
    for one in entries:
        history = with_entry(history, one, keep)
    return history


def status(*changes: Any) -> dict[str, Any]:
    return {"kedaPyHistory": list(changes)}


def test_a_change_tells_its_replicas_and_the_triggers_that_were_active_or_failed() -> None:
    triggers = (
        TriggerNote(metric="s0-redis", value=3, active=True),
        TriggerNote(metric="s1-idle", value=0),
        TriggerNote(metric="s2-prometheus", error="no answer"),
    )
    woke = compact(entry(Reason.ACTIVATED, before=0, after=1, triggers=triggers))
    assert woke == {
        "time": "2026-11-20T12:00:00Z",
        "reason": "Activated",
        "triggers": [
            {"metric": "s0-redis", "active": True, "value": 3},
            {"metric": "s2-prometheus", "active": False, "error": "no answer"},
        ],
        "replicas": {"before": 0, "after": 1},
    }
    assert read_history(status(woke)) == (woke,)


def test_a_change_has_one_form_in_memory_and_in_the_status() -> None:
    record, key = DecisionRecord(), ObjectKey("ScaledObject", "shop", "app")
    triggers = (
        TriggerNote(metric="s0-redis", value=3.5, active=True, failures=1),
        TriggerNote(metric="s1-prometheus", error="no answer", in_fallback=True),
    )
    for one in (
        entry(Reason.ACTIVATED, before=0, after=1, triggers=triggers, error="refused", formula=2.0),
        Entry(at=NOON, reason=JobReason.CREATED, jobs=JobCounts(running=2, pending=1, created=3), notes=("capped",)),
    ):
        record.note(key, one)
        in_memory = {**record.changes(key)[-1], "notes": []}
        assert read_history(status(in_memory)) == (compact(one),)


def test_a_scaled_job_tells_its_jobs() -> None:
    created = Entry(at=NOON, reason=JobReason.CREATED, jobs=JobCounts(running=2, pending=0, created=3))
    assert compact(created)["jobs"] == {"running": 2, "created": 3}
    assert read_history(status(compact(created))) == (compact(created),)


def test_the_first_decision_after_a_start_is_no_change_if_it_is_the_one_before() -> None:
    history = kept(entry(Reason.INACTIVE), entry(Reason.INACTIVE, 60))
    assert [one["time"] for one in history.changes] == ["2026-11-20T12:00:00Z"]


def test_what_is_older_than_is_to_be_kept_goes_with_the_next_change() -> None:
    history = kept(entry(Reason.ACTIVE), entry(Reason.COOLING_DOWN, 90), entry(Reason.ACTIVE, 24 * 60 + 1))
    assert [one["reason"] for one in history.changes] == ["CoolingDown", "Active"]


def test_of_an_object_that_flaps_what_scaled_is_kept_longest() -> None:
    flapping = [entry(Reason.COOLING_DOWN if n % 2 else Reason.ACTIVE, n) for n in range(1, 200)]
    history = kept(entry(Reason.ACTIVATED, before=0, after=1), *flapping)
    assert len(history.changes) <= MOST_ENTRIES
    assert history.changes[0]["reason"] == "Activated"
    assert history.changes[-1]["time"] == "2026-11-20T15:19:00Z"


@pytest.mark.parametrize("before", [0, 1])
def test_no_text_of_a_source_makes_it_longer_than_its_bytes(before: int) -> None:
    loud = tuple(TriggerNote(metric="\u00e4" * 999, error="\u20ac" * 10_000) for _ in range(100))
    reasons = (Reason.ACTIVE, Reason.COOLING_DOWN) * 100
    history = kept(*(entry(one, n, before=before, triggers=loud, error="x" * 9999) for n, one in enumerate(reasons)))
    assert len(orjson.dumps(history.changes)) <= MOST_BYTES


def test_values_that_are_no_numbers_are_left_out() -> None:
    odd = (TriggerNote(metric="s0", value=float("nan"), active=True), TriggerNote(metric="s1", value=float("inf")))
    assert compact(entry(Reason.ACTIVE, triggers=odd))["triggers"] == [{"metric": "s0", "active": True}]


def test_six_changes_in_five_minutes_are_usual_and_a_seventh_is_not() -> None:
    reasons = (Reason.ACTIVE, Reason.COOLING_DOWN) * 4
    entries = [entry(one, number / 2) for number, one in enumerate(reasons)]
    now = NOON + timedelta(minutes=4)
    assert [is_lively(kept(*entries[:count]), now) for count in (6, 7)] == [False, True]
    assert not is_lively(kept(*entries), now + timedelta(minutes=5))


JUNK = [
    [],
    None,
    "Activated",
    {"reason": "Activated"},
    {"time": "2026-11-20T12:00:00Z"},
    {"time": "yesterday", "reason": "x"},
    {"time": "2026-11-20T12:00:00", "reason": "x"},
    {"time": "0001-01-01T00:00:00+14:00", "reason": "x"},
    {"time": "9" * 100_000, "reason": "x"},
    {"time": 5, "reason": {"a": "b"}},
]


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_what_another_client_wrote_into_the_status_is_left_out_where_it_is_no_change(junk: Any) -> None:
    assert read_history(status(junk)) == ()
    assert read_history({"kedaPyHistory": junk}) == ()


def test_what_another_client_wrote_is_read_no_longer_than_what_we_write() -> None:
    loud = {"metric": "m" * 9999, "error": "e" * 9999, "active": 1, "value": True, "more": "x" * 9999}
    change = {
        "time": "2026-11-20T21:00:00+09:00",
        "reason": "r" * 9999,
        "triggers": [loud] * 99,
        "replicas": {"before": "0", "after": 2},
        "error": 5,
        "more": "x" * 9999,
    }
    changes = read_history(status(*[change] * 500))
    assert len(changes) == MOST_ENTRIES
    assert changes[0] == {
        "time": "2026-11-20T12:00:00Z",
        "reason": "r" * 120,
        "triggers": [{"metric": "m" * 120, "active": False, "error": "e" * 120}] * 3,
        "replicas": {"after": 2},
    }


def test_a_hundred_changes_a_day_with_the_longest_reasons_stay_within_their_bytes() -> None:
    """A reason is what a tenant writes into an Override, an error what a source answers."""
    triggers = tuple(TriggerNote(metric=f"s{at}-" + "x" * 500, error="\u20ac" * 9000) for at in range(20))
    told = kept(
        *(
            entry(Reason.PAUSED, 14 * n, before=1, after=0, because="\U0001f4a4" * 5000, ruled=True)
            if n % 2
            else entry(Reason.ACTIVATED, 14 * n, before=0, after=1, triggers=triggers, error="z" * 5000)
            for n in range(100)
        )
    ).changes
    assert len(orjson.dumps(told)) <= MOST_BYTES
    assert told[-1]["notes"] == ["\U0001f4a4" * 120]
    assert read_history(status(*told)) == told
    hostile = {**told[-1], "notes": ["x" * 10_000, "y"]}
    assert read_history(status(hostile))[0]["notes"] == ["x" * 120]
    assert "notes" not in read_history(status({**told[-1], "notes": [{"a": 1}]}))[0]
