"""A decision as it is served: JSON, which the record keeps of changes, and `explain/insight.py` answers with."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from math import isfinite

from keda_py.core.values.times import write_time
from keda_py.operator.decisions.entry import Entry, JobCounts, TriggerNote

Fields = Mapping[str, object]


def describe(entry: Entry) -> Fields:
    """Times are UTC, durations seconds; absent is unknown or does not apply."""
    return present(
        {
            "time": write_time(entry.at),
            "reason": entry.reason.value,
            "triggers": [present(dict(_trigger_fields(trigger))) for trigger in entry.triggers],
            "formula": entry.formula,
            **(_job_fields(entry.jobs) if entry.jobs else _replica_fields(entry)),
            "error": entry.error or None,
            "cooldownLeftSeconds": _seconds(entry.cooldown_left),
            "nextChange": _time(entry.next_change),
            "notes": list(entry.notes) or None,
        }
    )


def _replica_fields(entry: Entry) -> Fields:
    return {"replicas": present({"before": entry.before, "after": entry.after})}


def _job_fields(counts: JobCounts) -> Fields:
    fields = {"running": counts.running, "pending": counts.pending, "created": counts.created}
    return {"jobs": fields | ({"refused": counts.refused} if counts.refused else {})}


def _trigger_fields(trigger: TriggerNote) -> Iterator[tuple[str, object]]:
    yield "metric", trigger.metric
    yield "name", trigger.name or None
    yield "value", trigger.value if trigger.value is not None and isfinite(trigger.value) else None
    yield "error", trigger.error or None
    yield "active", trigger.active
    yield "fallback", trigger.in_fallback or None
    yield "failures", trigger.failures or None


def present(fields: Fields) -> Fields:
    """Without what is None."""
    return {name: value for name, value in fields.items() if value is not None}


def _time(at: datetime | None) -> str | None:
    return write_time(at) if at else None


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)
