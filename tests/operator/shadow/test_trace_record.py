"""The record of what triggers said: a trace within bounds, which `simulate` reads."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from keda_py.core.metric_names import NamedMetric
from keda_py.core.metric_specs import ExternalMetric
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ScalerError
from keda_py.operator.shadow.trace_record import MOST_OBJECTS, MOST_ROWS, MOST_TRIGGERS, TraceRecord
from keda_py.simulation.loads.trace_file import TraceFile
from tests.costs import bytes_kept_by

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY = ObjectKey("ScaledObject", "shop", "app")


def said(*values: float | None, of: str = "queue") -> Round:
    def metric(at: int) -> NamedMetric:
        spec = ExternalMetric(name=of, target=5)
        name = f"s{at}-{of}"
        return NamedMetric(
            trigger_index=at, trigger_name="", name=name, target=5, metric_type="AverageValue", spec=spec
        )

    outcomes = [ScalerError("away") if value is None else Reading(value=value, active=True) for value in values]
    return Round(
        readings=tuple(MetricReading(metric=metric(at), outcome=one, taken_at=NOON) for at, one in enumerate(outcomes))
    )


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_a_trace_has_each_change_and_no_gap_and_simulate_reads_it(tmp_path: Path) -> None:
    recorded = TraceRecord()
    for second, values in ((0, (1, 2.5)), (15, (1, 2.5)), (30, (7, None)), (45, (7, None)), (2000, (7, None))):
        recorded.note(KEY, said(*values), after(second))
    trace = recorded.trace(KEY) or ""
    assert trace.splitlines() == [
        "time,s0-queue,s1-queue",
        "2026-11-20T12:00:00Z,1,2.5",
        "2026-11-20T12:00:30Z,7,error",
        "2026-11-20T12:33:20Z,7,error",
    ]
    path = tmp_path / "trace.csv"
    path.write_text(trace)
    rows = list(TraceFile(path=str(path)).rows())
    assert [at for at, _ in rows] == [0, 30, 2000]


def test_names_with_commas_and_quotes_are_columns_all_the_same(tmp_path: Path) -> None:
    recorded, path = TraceRecord(), tmp_path / "trace.csv"
    recorded.note(KEY, said(1, 2, of='redis-jobs,"late"'), NOON)
    path.write_text(recorded.trace(KEY) or "")
    trace = TraceFile(path=str(path))
    assert (trace.columns, len(list(trace.rows()))) == (('s0-redis-jobs,"late"', 's1-redis-jobs,"late"'), 1)


def test_it_is_bounded_in_objects_triggers_and_rows() -> None:
    recorded = TraceRecord()
    for number in range(MOST_OBJECTS + 9):
        recorded.note(ObjectKey("ScaledObject", "crowd", str(number)), said(1), NOON)
    recorded.note(KEY, said(1), NOON)
    assert recorded.trace(KEY) is None
    recorded.forget(ObjectKey("ScaledObject", "crowd", "0"))
    recorded.note(KEY, said(*range(MOST_TRIGGERS + 1)), NOON)
    assert recorded.trace(KEY) is None
    for second in range(MOST_ROWS + 99):
        recorded.note(KEY, said(second % 2), after(second))
    assert len((recorded.trace(KEY) or "").splitlines()) == MOST_ROWS + 1


def a_full_trace() -> TraceRecord:
    recorded, rounds = TraceRecord(), [said(1, 2), said(3, 4)]
    for second in range(MOST_ROWS + 9):
        recorded.note(KEY, rounds[second % 2], after(second))
    return recorded


def test_a_full_trace_of_two_triggers_takes_under_150_kb() -> None:
    assert bytes_kept_by(a_full_trace) < 150_000


def test_other_triggers_begin_a_new_trace() -> None:
    recorded = TraceRecord()
    recorded.note(KEY, said(1), NOON)
    recorded.note(KEY, said(1, 2), after(15))
    assert (recorded.trace(KEY) or "").splitlines()[1:] == ["2026-11-20T12:00:15Z,1,2"]
