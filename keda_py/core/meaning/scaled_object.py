"""ScaledObject or ScaledJob -> warnings about effects that its author may not intend.

Pure, and bounded: a limited number of windows is checked, and of firings of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.admission.resources import reads_containers
from keda_py.core.cron.openings import WEEK, Openings, gaps_between, shared_minutes, union
from keda_py.core.cron.words import duration, span_in_words
from keda_py.core.environment.spec import EXCLUDE
from keda_py.core.meaning.windows import CRON, Window, check_window, windows_of
from keda_py.core.pacing.activations import PRIORITY
from keda_py.core.spec import FORCE_ACTIVATION, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.core.values.own_annotations import OF_SCALED_JOBS as OWN_OF_JOBS
from keda_py.core.values.own_annotations import OF_SCALED_OBJECTS as OWN_OF_OBJECTS
from keda_py.core.values.pause import PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, PauseSpec
from keda_py.errors import ConfigError


def check_meaning(spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Check annotations, each window, the windows together, and the bounds around them."""
    yield from check_annotations(spec.annotations, OF_SCALED_OBJECTS)
    windows = windows_of(spec.triggers)
    for window in windows:
        yield from check_window(window, [other for other in windows if other is not window])
        yield from _check_replicas(window, spec)
    # Where all triggers have to be active, a window is a condition beside the others, and overlaps are meant.
    if not spec.needs_all and len(windows) == sum(trigger.type == CRON for trigger in spec.triggers):
        yield from check_pairs(windows)
        if sleeps(spec):
            yield from check_cooldown(windows, spec.cooldown)
    yield from _check_minimum(windows, spec)
    yield from _check_waking(windows, spec)


def check_job_meaning(triggers: Sequence[ScaleTrigger], annotations: Mapping[str, str]) -> Iterator[AdmissionWarning]:
    """Check annotations and each window of a ScaledJob; Jobs end by themselves, so that no window keeps them up."""
    yield from check_annotations(annotations, OF_SCALED_JOBS)
    for window in windows_of(triggers):
        yield from check_window(window)


def sleeps(spec: ScalingSpec) -> bool:
    """Whether it may be scaled to zero."""
    return spec.idle_replicas == 0 or not spec.min_replicas


def _check_replicas(window: Window, spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    if window.replicas > spec.max_replicas and spec.modifiers is None:
        field = window.field("desiredReplicas")
        text = f"{field}: {window.replicas} is above maxReplicaCount={spec.max_replicas}, which is all that it gets"
        yield AdmissionWarning(message=f"{text}; raise maxReplicaCount", field=field, code=codes.ABOVE_MAX)


def _check_minimum(windows: Sequence[Window], spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Warn of a schedule that asks for no more than the minimum."""
    if not windows or spec.needs_all or sleeps(spec) or spec.idle_replicas is not None or spec.modifiers is not None:
        return
    most = max(window.replicas for window in windows)
    if 0 < most <= spec.min_replicas:
        field = "spec.minReplicaCount"
        text = (
            f"{field}: {spec.min_replicas} holds at all times, so a schedule for {most} changes nothing, and it never "
            "sleeps; write minReplicaCount: 0"
        )
        yield AdmissionWarning(message=text, field=field, code=codes.NEVER_SLEEPS)


def _check_waking(windows: Sequence[Window], spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Warn if nothing can wake it: cpu and memory are measured in pods, so they cannot."""
    index = next((at for at, trigger in enumerate(spec.triggers) if trigger.type in RESOURCE_TRIGGERS), None)
    if index is None or not sleeps(spec) or _wakes(windows, spec):
        return
    field, kind = f"spec.triggers[{index}].type", spec.triggers[index].type
    if spec.resource_only and spec.idle_replicas == 0 and spec.min_replicas:
        text = f"{kind} is always active, so idleReplicaCount: 0 is never reached; remove it, or add a trigger"
    elif spec.resource_only and reads_containers(spec):
        return  # admission denies it, in KEDA's words
    else:
        text = (
            f"{kind} cannot wake it from 0, where no pod uses any, and no other trigger can; write minReplicaCount: 1"
        )
    yield AdmissionWarning(message=f"{field}: {text}", field=field, code=codes.CANNOT_WAKE)


def _wakes(windows: Sequence[Window], spec: ScalingSpec) -> bool:
    """Whether a trigger may become active: any but cpu, memory, and windows that never open."""
    never = {window.index for window in windows if window.openings is not None and not window.openings.spans}
    return any(
        trigger.type not in RESOURCE_TRIGGERS and not (trigger.type == CRON and at in never)
        for at, trigger in enumerate(spec.triggers)
    )


# Annotations of autoscaling.keda.sh and keda-py.dev: misspelt names are ignored, and KEDA reads some values as the
# opposite.
#
# Pure. KEDA takes everything but Go's words for false as true: `paused: "no"` pauses.

_GROUP, _OWN_GROUP = "autoscaling.keda.sh/", "keda-py.dev/"
_SWITCHES = (PAUSED, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, FORCE_ACTIVATION)
OF_SCALED_OBJECTS = (*_SWITCHES, PAUSED_REPLICAS)
OF_SCALED_JOBS = (PAUSED,)
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"))
_LONGEST_SHOWN = 40


def check_annotations(annotations: Mapping[str, str], known: tuple[str, ...]) -> Iterator[AdmissionWarning]:
    """Check names and values; `known` are the annotations of the object's kind."""
    for name, value in annotations.items():
        if name.startswith(_OWN_GROUP):
            yield from _misspelt(name, known)
        if not name.startswith(_GROUP):
            continue
        if name not in known:
            yield _unknown(name, known)
        elif name == PAUSED_REPLICAS:
            yield from _check_count(value)
        elif value not in _BOOLEANS:
            shown = value[:_LONGEST_SHOWN]
            yield _warn(name, f'"{shown}" counts as true; write "true" or "false"', codes.ANNOTATION_VALUE)


def _check_count(value: str) -> Iterator[AdmissionWarning]:
    try:
        PauseSpec(replicas=value[:_LONGEST_SHOWN]).replica_count()
    except ConfigError as error:
        yield AdmissionWarning(message=str(error), field=error.field, code=codes.ANNOTATION_VALUE)


def _misspelt(name: str, known: tuple[str, ...]) -> Iterator[AdmissionWarning]:
    """Warn of a name that is nearly one of ours: other parts of keda-py, and its users, may have more of them."""
    own = (*(OWN_OF_JOBS if known == OF_SCALED_JOBS else OWN_OF_OBJECTS), PRIORITY, EXCLUDE, codes.IGNORE)
    near = get_close_matches(name, own, n=1, cutoff=0.85)
    if near and name not in own:
        yield _warn(name, f'means nothing; did you mean "{near[0]}"?', codes.UNKNOWN_ANNOTATION)


def _unknown(name: str, known: tuple[str, ...]) -> AdmissionWarning:
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    hint = f'did you mean "{near[0]}"?' if near else f"its kind knows {', '.join(known)}"
    return _warn(name, f"means nothing to KEDA; {hint}", codes.UNKNOWN_ANNOTATION)


def _warn(name: str, text: str, code: str) -> AdmissionWarning:
    field = f"metadata.annotations[{name}]"
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=code)


# Pairs of windows of one object: their overlaps, and the cooldown between them.
#
# Pure. Only windows of one zone that repeat every week are compared, a bounded number of them.

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
