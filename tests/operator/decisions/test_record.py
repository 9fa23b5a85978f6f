"""The decision record's bounds: how much of the past is kept, and what goes first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.conditions import ACTIVE, READY
from keda_py.core.decision import Decision, Keep, Observation, Reason
from keda_py.core.evaluation import Evaluation
from keda_py.core.reading import Round
from keda_py.core.round import Settlement
from keda_py.core.spec import build_spec
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.decisions.record import DecisionRecord, Entry, TriggerNote
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.reporting import entry_of

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
BODY = {
    "metadata": {"name": "app", "namespace": "shop", "uid": "1"},
    "spec": {"scaleTargetRef": {"name": "app"}, "triggers": [{"type": "cpu", "metadata": {"value": "1"}}]},
}
LOOK = Look(
    spec=build_spec(ScaledObject.model_validate(BODY)),
    readings=Round(readings=()),
    seen=Observation(replicas=1, active=True),
    evaluation=Evaluation(values=(), active=True, failing=False),
    at=NOON,
    decision=Decision(action=Keep(), reason=Reason.ACTIVE),
    outcome=None,
    settled=Settlement(ready=READY, active=ACTIVE, last_active=NOON),
    stands_until=NOON,
    health={},
)


def key(name: str) -> ObjectKey:
    return ObjectKey("ScaledObject", "shop", name)


def note(record: DecisionRecord, name: str, *reasons: Reason, start: int = 0) -> None:
    for second, reason in enumerate(reasons, start):
        look = replace(LOOK, at=NOON + timedelta(seconds=second), decision=Decision(action=Keep(), reason=reason))
        record.note(key(name), entry_of(look))


def seconds(record: DecisionRecord, name: str) -> list[float]:
    times = [datetime.fromisoformat(str(change["time"])) for change in record.changes(key(name))]
    return [(time - NOON).total_seconds() for time in times]


def test_a_look_that_confirms_the_last_one_is_the_last() -> None:
    record, later = DecisionRecord(), NOON + timedelta(seconds=30)
    note(record, "app", Reason.INACTIVE)
    record.confirm(key("app"), later)
    last = record.last(key("app"))
    assert last == replace(entry_of(LOOK), reason=Reason.INACTIVE, at=later)
    note(record, "app", Reason.ACTIVE, start=40)
    assert record.last(key("app")) == entry_of(replace(LOOK, at=NOON + timedelta(seconds=40)))
    assert seconds(record, "app") == [0, 40]


FLAPPING = (Reason.ACTIVE, Reason.COOLING_DOWN) * 50


def test_a_decision_like_the_one_before_is_no_change_but_it_is_the_last() -> None:
    record = DecisionRecord()
    note(record, "app", Reason.ACTIVE, Reason.ACTIVE, Reason.ACTIVE)
    assert seconds(record, "app") == [0]
    last = record.last(key("app"))
    assert last is not None
    assert last.at == NOON + timedelta(seconds=2)


def test_of_one_object_the_newest_fifty_are_kept() -> None:
    record = DecisionRecord()
    note(record, "app", *FLAPPING)
    assert seconds(record, "app") == list(range(50, 100))
    assert len(record) == 50


def test_of_all_objects_the_oldest_entry_goes_first_whoever_owns_it() -> None:
    record = DecisionRecord(all_entries=30)
    note(record, "early", *FLAPPING[:20])
    note(record, "late", *FLAPPING[:20])
    assert seconds(record, "early") == list(range(10, 20))
    assert seconds(record, "late") == list(range(20))
    note(record, "early", *FLAPPING[:15], start=20)
    assert seconds(record, "early") == list(range(20, 35))
    assert seconds(record, "late") == list(range(5, 20))


def test_nothing_is_kept_of_an_object_that_is_gone() -> None:
    record = DecisionRecord()
    note(record, "gone", *FLAPPING)
    note(record, "there", Reason.ACTIVE)
    record.forget(key("gone"))
    assert (len(record), record.last(key("gone")), record.changes(key("gone"))) == (1, None, [])
    assert seconds(record, "there") == [0]


def test_a_change_is_kept_as_it_is_served_and_of_a_very_long_one_what_comes_first() -> None:
    record = DecisionRecord()
    triggers = tuple(TriggerNote(metric=f"s{number}", error="x" * 2000, failures=2) for number in range(500))
    record.note(key("app"), Entry(at=NOON, reason=Reason.ACTIVE, before=1, after=1, formula=2.5, notes=("late",)))
    record.note(key("app"), Entry(at=NOON, reason=Reason.TRIGGERS_FAIL, before=1, after=1, triggers=triggers))
    short, long = record.changes(key("app"))
    assert short == {
        "time": "2026-11-20T12:00:00Z",
        "reason": "Active",
        "triggers": [],
        "formula": 2.5,
        "replicas": {"before": 1, "after": 1},
        "notes": ["late"],
    }
    told = [{"metric": f"s{number}", "active": False, "error": "x" * 120, "failures": 2} for number in range(10)]
    assert (long["triggers"], long["replicas"]) == (told, {"before": 1, "after": 1})
