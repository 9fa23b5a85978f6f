"""Pairs of windows of one object: their overlaps, and the cooldown between them.

Pure. Only windows of one zone that repeat every week are compared, a bounded number of them.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.cron.openings import WEEK, Openings, gaps_between, shared_minutes, union
from keda_py.core.cron.words import duration, span_in_words
from keda_py.core.meaning.windows import Window

_MOST_OPENINGS = 28


def check_pairs(windows: Sequence[Window]) -> Iterator[AdmissionWarning]:
    """Warn of each window that overlaps an earlier one in part, or makes one superfluous; the first pair only."""
    compared = _comparable(windows)
    for at, other in enumerate(compared):
        relations = (_relation(one, other) for one in compared[:at] if one.zone == other.zone)
        if text := next(filter(None, relations), ""):
            field = f"spec.triggers[{other.index}]"
            message = f"{field}: its window ({other.words}) {text}"
            yield AdmissionWarning(message=message, field=field, code=codes.OVERLAP)


def check_cooldown(windows: Sequence[Window], cooldown: timedelta) -> Iterator[AdmissionWarning]:
    """Warn if the cooldown is longer than the shortest time in which all windows are closed; not if one is unknown."""
    compared = _comparable(windows)
    if not compared or len(compared) < len(windows) or len({window.zone for window in windows}) != 1:
        return
    closed = gaps_between(union([one.openings for one in windows if one.openings is not None], WEEK))
    if not closed:
        return
    shortest = min(closed, key=lambda span: span[1] - span[0])
    minutes = shortest[1] - shortest[0]
    if cooldown < timedelta(minutes=minutes):
        return
    field = "spec.cooldownPeriod"
    text = (
        f"{field}: {cooldown.total_seconds():.0f} s are not over before the next window opens: "
        f"{span_in_words(shortest)} it stays up ({duration(minutes)}); write less, or make one window of them"
    )
    yield AdmissionWarning(message=text, field=field, code=codes.COOLDOWN)


def _comparable(windows: Sequence[Window]) -> Sequence[Window]:
    return [one for one in windows if one.openings is not None and _simple(one.openings)]


def _simple(openings: Openings) -> bool:
    return openings.weekly and 0 < len(openings.spans) <= _MOST_OPENINGS and not openings.always


def _relation(one: Window, other: Window) -> str:
    first, second = one.openings, other.openings
    if first is None or second is None or not (one.replicas and other.replicas):
        return ""
    shared = shared_minutes(first, second)
    name = f"that of spec.triggers[{one.index}]"
    if shared == second.minutes and other.replicas <= one.replicas:
        return f"lies in {name}, which asks for {one.replicas} replicas: it has no effect"
    if shared == first.minutes and one.replicas <= other.replicas:
        return f"holds {name}, which asks for {one.replicas} replicas: that has no effect"
    if 0 < shared < min(first.minutes, second.minutes):
        text = f"overlaps {name} for {duration(shared)} a week: there the larger desiredReplicas counts, not the sum"
        return f"{text}; let one end where the other starts"
    if not shared and one.replicas == other.replicas and _touch(first, second):
        return f"begins or ends where {name} does: nothing sleeps in between; one window says the same"
    return ""


def _touch(first: Openings, second: Openings) -> bool:
    """Whether both have fewer openings together than separately."""
    return len(union((first, second), WEEK).spans) < len(first.spans) + len(second.spans)
