"""Objects that go up and down with their Environment, which are not drawn beside it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from keda_py.replay.previews import Subject
from keda_py.replay.timeline import Timeline

_APART = timedelta(minutes=30)
"""A member may wake or sleep so much later than its Environment, for its wave, and goes with it all the same."""


def drawn(subjects: Sequence[Subject]) -> list[Subject]:
    """List the objects that need a calendar of their own."""
    owners = {(subject.namespace, subject.name): subject for subject in subjects if subject.kind == "Environment"}
    return [one for one in subjects if not _follows(one, owners.get((one.namespace, one.member_of)))]


def followers(environment: Subject, subjects: Sequence[Subject]) -> list[Subject]:
    """List the objects that are drawn with that Environment."""
    place = environment.namespace, environment.name
    return [one for one in subjects if (one.namespace, one.member_of) == place and _follows(one, environment)]


def most(timeline: Timeline) -> int:
    """Return the highest count of a timeline."""
    return max((span.replicas for span in timeline.spans()), default=0)


def _follows(subject: Subject, owner: Subject | None) -> bool:
    """Return whether its changes are those of the Environment, waves aside."""
    if owner is None or subject.findings or subject.timeline.assumes or not subject.settles:
        return False
    own, theirs = (_up(one.timeline) for one in (subject, owner))
    return len(own) == len(theirs) and all(
        abs(at - other) <= _APART for pair in zip(own, theirs, strict=True) for at, other in zip(*pair, strict=True)
    )


def _up(timeline: Timeline) -> list[tuple[datetime, datetime]]:
    """List when there are replicas, whatever their number."""
    found: list[tuple[datetime, datetime]] = []
    for span in timeline.spans():
        if span.replicas and found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.end)
        elif span.replicas:
            found.append((span.start, span.end))
    return found
