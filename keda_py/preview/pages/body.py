"""A preview for programs: times in UTC, durations in hours. Pure.

What has no count, as a CronJob, has no replica hours: they are null.
"""

from typing import Any
from zoneinfo import ZoneInfo

from keda_py.core.values.times import write_time
from keda_py.replay.days import Day, days_of
from keda_py.replay.previews import Preview, Subject
from keda_py.replay.timeline import Step


def body_of(preview: Preview, zone: ZoneInfo) -> dict[str, Any]:
    """Write the preview as one document."""
    return {
        "from": write_time(preview.begins),
        "to": write_time(preview.ends),
        "timeZone": zone.key,
        "objects": [_object(subject, zone) for subject in preview.subjects],
        "problems": list(preview.problems),
        "warnings": list(preview.warnings),
    }


def _object(subject: Subject, zone: ZoneInfo) -> dict[str, Any]:
    timeline = subject.timeline
    return {
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "replicas": timeline.replicas,
        "upHours": _hours(timeline.up_seconds),
        "replicaHours": _hours(timeline.replica_seconds) if subject.has_count else None,
        "upHoursAWeek": round(timeline.a_week(timeline.up_seconds), 4),
        "replicaHoursAWeek": round(timeline.a_week(timeline.replica_seconds), 4) if subject.has_count else None,
        "settles": subject.settles,
        "assumedWithoutWork": list(timeline.assumes),
        "windows": list(subject.notes),
        "environment": subject.member_of,
        "remarks": list(subject.remarks),
        "findings": [{"code": one.code, "field": one.field, "message": one.message} for one in subject.findings],
        "days": [_day(subject, day) for day in days_of(timeline, zone)],
        "changes": [_change(step) for step in timeline.steps],
    }


def _day(subject: Subject, day: Day) -> dict[str, Any]:
    return {
        "day": day.day.isoformat(),
        "upHours": _hours(day.up_seconds),
        "replicaHours": _hours(day.replica_seconds) if subject.has_count else None,
        "because": next((name for each, name in subject.holidays if each == day.day), ""),
    }


def _change(step: Step) -> dict[str, Any]:
    return {
        "at": write_time(step.at),
        "from": step.before,
        "to": step.replicas,
        "reason": step.reason,
        "because": step.because,
    }


def _hours(seconds: float) -> float:
    return round(seconds / 3600, 4)
