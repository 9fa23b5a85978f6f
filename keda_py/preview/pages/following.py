"""Which objects go up and down with their Environment, so that a namespace is drawn once. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from keda_py.replay.previews import Subject
from keda_py.replay.timeline import Timeline

_APART = timedelta(minutes=30)
"""So much later than its Environment a member may wake or sleep for its wave, and go with it all the same."""


def drawn(subjects: Sequence[Subject]) -> list[Subject]:
    """Those with a calendar of their own."""
    owners = {(one.namespace, one.name): one for one in subjects if one.kind == "Environment"}
    return [one for one in subjects if not _follows(one, owners.get((one.namespace, one.member_of)))]


def followers(environment: Subject, subjects: Sequence[Subject]) -> list[Subject]:
    """Those that are drawn with that Environment."""
    place = environment.namespace, environment.name
    return [one for one in subjects if (one.namespace, one.member_of) == place and _follows(one, environment)]


def most(timeline: Timeline) -> int:
    """The highest count."""
    return max((span.replicas for span in timeline.spans()), default=0)


def _follows(subject: Subject, owner: Subject | None) -> bool:
    """Nothing is said of it that is not said of the Environment, waves aside."""
    if owner is None or subject.findings or subject.timeline.assumes or not subject.settles:
        return False
    own, theirs = (_up(one.timeline) for one in (subject, owner))
    return len(own) == len(theirs) and all(
        abs(at - other) <= _APART for pair in zip(own, theirs, strict=True) for at, other in zip(*pair, strict=True)
    )


def _up(timeline: Timeline) -> list[tuple[datetime, datetime]]:
    """When there are replicas, whatever their number."""
    found: list[tuple[datetime, datetime]] = []
    for span in timeline.spans():
        if span.replicas and found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.end)
        elif span.replicas:
            found.append((span.start, span.end))
    return found
