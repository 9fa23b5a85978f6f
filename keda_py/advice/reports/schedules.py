"""What a ScalingSchedule with lower minimums rests on, in sentences, and the schedule as a manifest."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timedelta

from keda_py.advice.proposals.advise import Advice
from keda_py.advice.proposals.workload import MinimumSchedule, Shortage
from keda_py.core.advice.candidates import NoCandidate
from keda_py.terminal.times import spoken_duration

MOST_MOMENTS = 20
"""Moments that are told one by one; all are counted."""


def schedule_lines(advice: Advice) -> Iterator[str]:
    """How much lower its minimum may be by hours, or why it may not."""
    found = advice.schedule
    if isinstance(found, NoCandidate):
        yield f"no lower minimum by hours: {found.because}"
    elif found is not None:
        yield from schedule_evidence(found)


def schedule_evidence(found: MinimumSchedule) -> Iterator[str]:
    """Say what it saves, how long too few replicas were ready, and each moment that needed more than it keeps."""
    share = 1 - found.replica_hours / found.replica_hours_instead if found.replica_hours_instead else 0.0
    yield f"minReplicaCount {found.minimum} is more than its triggers needed: {', '.join(_counts(found))} is enough"
    yield f"replayed over {found.weeks:.1f} weeks it saves {found.saved_a_week:.1f} replica hours a week ({share:.0%})"
    short, instead = (_duration(each) for each in (found.seconds_short, found.seconds_short_instead))
    yield f"under capacity, with fewer replicas ready than its triggers asked for: {short}; without it {instead}"
    yield from _moments(found)
    if found.missing:
        yield f"{found.missing:.1%} of the data is missing, which is not taken for a low need"


def _counts(found: MinimumSchedule) -> Iterator[str]:
    spec = found.body["spec"]
    yield from (f"{each['minReplicas']} {_hours(each['hours'])}" for each in spec["periods"])
    if any(each["minReplicas"] != spec["otherwise"]["minReplicas"] for each in spec["periods"]):
        yield f"{spec['otherwise']['minReplicas']} at other times"


def _hours(hours: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{each['days']} {each['from']}-{each['to']}" for each in hours)


def _moments(found: MinimumSchedule) -> Iterator[str]:
    count = len(found.shortages)
    if not count:
        yield "at no moment was more needed than it keeps"
        return
    often = "once" if count == 1 else f"{count} times"
    yield f"{often} more was needed than it keeps, which the HPA would have added:"
    yield from (f"  {_moment(found, each)}" for each in found.shortages[:MOST_MOMENTS])
    if count > MOST_MOMENTS:
        yield f"  and {count - MOST_MOMENTS} times more"


def _moment(found: MinimumSchedule, each: Shortage) -> str:
    at = each.at.astimezone(found.place.zone if found.place else UTC)
    more = f"{each.needed} replicas, {each.needed - each.kept} more than it keeps"
    return f"{at:%a %Y-%m-%d %H:%M}: {more}, for {_duration(each.seconds)}"


def _duration(seconds: float) -> str:
    return spoken_duration(timedelta(seconds=round(seconds)))
