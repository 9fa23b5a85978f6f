"""ScaledObject or ScaledJob -> warnings about effects that its author may not intend.

Pure, and bounded: a limited number of windows is checked, and of firings of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.admission.resources import reads_containers
from keda_py.core.meaning.window_pairs import check_cooldown, check_pairs
from keda_py.core.meaning.windows import CRON, Window, check_window, windows_of
from keda_py.core.spec import FORCE_ACTIVATION, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.core.values.pause import PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, PauseSpec
from keda_py.errors import ConfigError


def check_meaning(spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Check annotations, each window, the windows together, and the bounds around them."""
    yield from check_annotations(spec.annotations, OF_SCALED_OBJECTS)
    windows = windows_of(spec.triggers)
    for window in windows:
        yield from check_window(window, [other for other in windows if other is not window])
        yield from _check_replicas(window, spec)
    if len(windows) == sum(trigger.type == CRON for trigger in spec.triggers):
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
    if not windows or sleeps(spec) or spec.idle_replicas is not None or spec.modifiers is not None:
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


# Annotations of autoscaling.keda.sh: KEDA ignores misspelt names, and reads some values as the opposite.
#
# Pure. KEDA takes everything but Go's words for false as true: `paused: "no"` pauses.

_GROUP = "autoscaling.keda.sh/"
_SWITCHES = (PAUSED, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, FORCE_ACTIVATION)
OF_SCALED_OBJECTS = (*_SWITCHES, PAUSED_REPLICAS)
OF_SCALED_JOBS = (PAUSED,)
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"))
_LONGEST_SHOWN = 40


def check_annotations(annotations: Mapping[str, str], known: tuple[str, ...]) -> Iterator[AdmissionWarning]:
    """Check names and values; `known` are the annotations of the object's kind."""
    for name, value in annotations.items():
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


def _unknown(name: str, known: tuple[str, ...]) -> AdmissionWarning:
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    hint = f'did you mean "{near[0]}"?' if near else f"its kind knows {', '.join(known)}"
    return _warn(name, f"means nothing to KEDA; {hint}", codes.UNKNOWN_ANNOTATION)


def _warn(name: str, text: str, code: str) -> AdmissionWarning:
    field = f"metadata.annotations[{name}]"
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=code)
