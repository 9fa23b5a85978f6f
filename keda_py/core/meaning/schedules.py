"""Cron triggers of a ScaledObject or ScaledJob -> warnings about their windows, each by itself and all together.

Pure, and bounded: a limited number of windows is checked, and of firings of each. Only windows of one zone that repeat
every week are compared. `scaled_object.py` imports this for the first object that has a cron trigger: what it needs to
walk a calendar takes 1 MB.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.cron.openings import WEEK, Openings, gaps_between, shared_minutes, union
from keda_py.core.cron.words import duration, span_in_words
from keda_py.core.meaning.windows import Window, check_window
from keda_py.core.metric_specs import CRON
from keda_py.core.spec import ScalingSpec
from keda_py.core.spec_rules import may_sleep

_MOST_OPENINGS = 28


def check_schedules(windows: Sequence[Window], spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Check each window of a ScaledObject, the windows together, and the bounds around them."""
    for window in windows:
        yield from check_window(window, [other for other in windows if other is not window])
        yield from _check_replicas(window, spec)
    # Where all triggers have to be active, a window is a condition beside the others, and overlaps are meant.
    if not spec.needs_all and len(windows) == sum(trigger.type == CRON for trigger in spec.triggers):
        yield from _check_pairs(windows)
        if may_sleep(spec):
            yield from _check_cooldown(windows, spec.cooldown)
    yield from _check_minimum(windows, spec)


def _check_replicas(window: Window, spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    if window.replicas > spec.max_replicas and spec.modifiers is None:
        field = window.field("desiredReplicas")
        text = f"{field}: {window.replicas} is above maxReplicaCount={spec.max_replicas}, which is all that it gets"
        yield AdmissionWarning(message=f"{text}; raise maxReplicaCount", field=field, code=codes.ABOVE_MAX)


def _check_minimum(windows: Sequence[Window], spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Warn of a schedule that asks for no more than the minimum."""
    if not windows or spec.needs_all or may_sleep(spec) or spec.idle_replicas is not None or spec.modifiers is not None:
        return
    most = max(window.replicas for window in windows)
    if 0 < most <= spec.min_replicas:
        field = "spec.minReplicaCount"
        text = (
            f"{field}: {spec.min_replicas} holds at all times, so a schedule for {most} changes nothing, and it never "
            "sleeps; write minReplicaCount: 0"
        )
        yield AdmissionWarning(message=text, field=field, code=codes.NEVER_SLEEPS)


def _check_pairs(windows: Sequence[Window]) -> Iterator[AdmissionWarning]:
    """Warn of each window that overlaps an earlier one in part, or makes one superfluous; the first pair only."""
    compared = _comparable(windows)
    for at, other in enumerate(compared):
        relations = (_relation(one, other) for one in compared[:at] if one.zone == other.zone)
        if text := next(filter(None, relations), ""):
            field = f"spec.triggers[{other.index}]"
            message = f"{field}: its window ({other.words}) {text}"
            yield AdmissionWarning(message=message, field=field, code=codes.OVERLAP)


def _check_cooldown(windows: Sequence[Window], cooldown: timedelta) -> Iterator[AdmissionWarning]:
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
