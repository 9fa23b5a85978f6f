"""ScaledObject or ScaledJob -> warnings about effects that its author may not intend.

Pure, and bounded: a limited number of windows is checked, and of firings of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.admission.resources import reads_containers
from keda_py.core.metric_specs import CRON
from keda_py.core.pacing.activations import PRIORITY
from keda_py.core.spec import FORCE_ACTIVATION, RESOURCE_TRIGGERS, ScalingSpec
from keda_py.core.spec_rules import may_sleep
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.core.values.own_annotations import OF_SCALED_JOBS as OWN_OF_JOBS
from keda_py.core.values.own_annotations import OF_SCALED_OBJECTS as OWN_OF_OBJECTS
from keda_py.core.values.pause import PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, PauseSpec
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.core.meaning.windows import Window


def check_meaning(spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Check annotations, each window, the windows together, and the bounds around them."""
    yield from check_annotations(spec.annotations, OF_SCALED_OBJECTS)
    windows = _windows_of(spec.triggers)
    if windows:
        from keda_py.core.meaning.schedules import check_schedules  # heavy, as `_windows_of` says

        yield from check_schedules(windows, spec)
    yield from _check_waking(windows, spec)


def check_job_meaning(triggers: Sequence[ScaleTrigger], annotations: Mapping[str, str]) -> Iterator[AdmissionWarning]:
    """Check annotations and each window of a ScaledJob; Jobs end by themselves, so that no window keeps them up."""
    yield from check_annotations(annotations, OF_SCALED_JOBS)
    windows = _windows_of(triggers)
    if windows:
        from keda_py.core.meaning.windows import check_window  # heavy, as `_windows_of` says

        for window in windows:
            yield from check_window(window)


def _windows_of(triggers: Sequence[ScaleTrigger]) -> "Sequence[Window]":
    """Return the windows of cron triggers. What walks a calendar takes 1 MB, and most objects have no such trigger."""
    if not any(trigger.type == CRON for trigger in triggers):
        return ()
    from keda_py.core.meaning.windows import windows_of

    return windows_of(triggers)


def _check_waking(windows: "Sequence[Window]", spec: ScalingSpec) -> Iterator[AdmissionWarning]:
    """Warn if nothing can wake it: cpu and memory are measured in pods, so they cannot."""
    index = next((at for at, trigger in enumerate(spec.triggers) if trigger.type in RESOURCE_TRIGGERS), None)
    if index is None or not may_sleep(spec) or _wakes(windows, spec):
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


def _wakes(windows: "Sequence[Window]", spec: ScalingSpec) -> bool:
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
    if name not in own and (near := _nearest(name, own, 0.85)):
        yield _warn(name, f'means nothing; did you mean "{near}"?', codes.UNKNOWN_ANNOTATION)


def _unknown(name: str, known: tuple[str, ...]) -> AdmissionWarning:
    near = _nearest(name, known, 0.8)
    hint = f'did you mean "{near}"?' if near else f"its kind knows {', '.join(known)}"
    return _warn(name, f"means nothing to KEDA; {hint}", codes.UNKNOWN_ANNOTATION)


def _nearest(name: str, known: Sequence[str], likeness: float) -> str:
    """Return the name that is most like it; "" if none is."""
    from difflib import get_close_matches  # for mistakes alone

    return next(iter(get_close_matches(name, known, n=1, cutoff=likeness)), "")


def _warn(name: str, text: str, code: str) -> AdmissionWarning:
    field = f"metadata.annotations[{name}]"
    return AdmissionWarning(message=f"{field}: {text}", field=field, code=code)
