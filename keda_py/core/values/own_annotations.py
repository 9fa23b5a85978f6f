"""Annotations of keda-py on ScaledObjects and ScaledJobs, which a KEDA ignores: what they ask for, or what is wrong.

Pure. `spec.py` and `jobs/spec.py` read them once for each version of an object. A wrong value is an error, never the
default: an object that is scaled otherwise than its author wrote is worse than one that says why it is not scaled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.pause import LARGEST_INT32, PAUSED, PauseSpec, bounded, parse_bool_annotation, read_pause
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import ConfigError

GROUP: Final = "keda-py.dev/"
COOLDOWN: Final = "keda-py.dev/cooldown"
ACTIVE_WHEN: Final = "keda-py.dev/active-when"
MOST_PER_TRIGGER: Final = "keda-py.dev/max-replicas-per-trigger"
MOST_JOBS: Final = "keda-py.dev/namespace-max-jobs"
PAUSED_UNTIL: Final = "keda-py.dev/paused-until"
EXCLUDE: Final = "keda-py.dev/exclude"
"""Of a member of an Environment that is left alone."""

OF_SCALED_OBJECTS: Final = (COOLDOWN, ACTIVE_WHEN, MOST_PER_TRIGGER, PAUSED_UNTIL)
OF_SCALED_JOBS: Final = (ACTIVE_WHEN, MOST_JOBS, PAUSED_UNTIL)

AFTER_SCALE_IN, AFTER_ACTIVITY = "after-scale-in", "after-activity"
ALL, ANY = "all", "any"
_RESOURCES = ("cpu", "memory")
_LONGEST_SHOWN = 40
_LONGEST_NUMBER = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """What a ScaledObject asks for beyond its manifest."""

    after_scale_in: bool = False
    """The cooldown begins once the HPA has scaled in to its minimum, so that the last step alone is from 1 to 0."""
    needs_all: bool = False
    """All triggers have to be active for the object to be, and for its HPA to be told of work."""
    most_per_trigger: Mapping[int, int] = field(default_factory=dict)
    """Replicas that a trigger may ask for at most, by its index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """What a ScaledJob asks for beyond its manifest. `most_jobs` are unfinished ones of all in its namespace."""

    needs_all: bool = False
    most_jobs: int | None = None


NO_SCALING: Final = Scaling()
NO_LIMITS: Final = JobLimits()


def read_scaling(annotations: Mapping[str, str], triggers: Sequence[ScaleTrigger], *, formula: bool) -> Scaling:
    """Read a ScaledObject's annotations; `formula`: it has scalingModifiers. Raises ConfigError with all mistakes."""
    if not any(name in annotations for name in (COOLDOWN, ACTIVE_WHEN, MOST_PER_TRIGGER, MOST_JOBS)):
        return NO_SCALING
    mistakes, most = Mistakes(), {}
    after_scale_in = needs_all = False
    with mistakes.noted():
        after_scale_in = _read_word(annotations, COOLDOWN, (AFTER_ACTIVITY, AFTER_SCALE_IN)) == AFTER_SCALE_IN
    with mistakes.noted():
        needs_all = _read_needs_all(annotations, triggers, formula=formula)
    with mistakes.noted():
        most = _read_most(annotations, triggers, formula=formula)
    with mistakes.noted():
        _refuse_foreign(annotations, (MOST_JOBS,), "ScaledJobs")
    mistakes.refuse()
    return Scaling(after_scale_in=after_scale_in, needs_all=needs_all, most_per_trigger=most)


def read_job_limits(annotations: Mapping[str, str], triggers: Sequence[ScaleTrigger]) -> JobLimits:
    """Read a ScaledJob's annotations. Raises ConfigError with all mistakes."""
    if not any(name in annotations for name in (COOLDOWN, ACTIVE_WHEN, MOST_PER_TRIGGER, MOST_JOBS)):
        return NO_LIMITS
    mistakes, most_jobs, needs_all = Mistakes(), None, False
    with mistakes.noted():
        needs_all = _read_needs_all(annotations, triggers, formula=False)
    with mistakes.noted():
        if MOST_JOBS in annotations:
            most_jobs = _read_count(MOST_JOBS, annotations[MOST_JOBS], 'write for example "20"')
    with mistakes.noted():
        _refuse_foreign(annotations, (COOLDOWN, MOST_PER_TRIGGER), "ScaledObjects")
    mistakes.refuse()
    return JobLimits(needs_all=needs_all, most_jobs=most_jobs)


def read_bounded_pause(annotations: Mapping[str, str]) -> PauseSpec:
    """Read what the pause annotations of a ScaledObject ask for, and until when. Raises ConfigError."""
    return _with_end(read_pause(annotations), annotations)


def read_job_pause(annotations: Mapping[str, str]) -> PauseSpec:
    """Read the pause of a ScaledJob, which has no count to be paused at. Raises ConfigError."""
    return _with_end(PauseSpec(paused=parse_bool_annotation(annotations, PAUSED)), annotations)


def is_stopped(annotations: Mapping[str, str], now: datetime) -> bool:
    """Whether its owner has stopped all scaling of a ScaledObject; one whose end cannot be read does not end."""
    pause = read_pause(annotations)
    try:
        pause = _with_end(pause, annotations)
    except ConfigError:
        return pause.stopped
    return pause.stopped and (pause.until is None or now < pause.until)


def pause_ends(annotations: Mapping[str, str]) -> datetime | None:
    """Return when the pause of a stored object ends; None without an end that can be read."""
    try:
        return _read_until(annotations)
    except ConfigError:
        return None


def _with_end(pause: PauseSpec, annotations: Mapping[str, str]) -> PauseSpec:
    until = _read_until(annotations)
    return pause if until is None else bounded(pause, until, f"until {write_time(until)}")


def _read_until(annotations: Mapping[str, str]) -> datetime | None:
    text = annotations.get(PAUSED_UNTIL)
    return None if text is None else parse_time(text, field=field_of(PAUSED_UNTIL))


def field_of(annotation: str) -> str:
    """Path of an annotation in its object."""
    return f"metadata.annotations[{annotation}]"


def _read_needs_all(annotations: Mapping[str, str], triggers: Sequence[ScaleTrigger], *, formula: bool) -> bool:
    if _read_word(annotations, ACTIVE_WHEN, (ANY, ALL)) != ALL:
        return False
    if formula:
        raise _error(
            ACTIVE_WHEN, f'"{ALL}" does not go with scalingModifiers, whose formula decides; remove one of them'
        )
    if sum(trigger.type not in _RESOURCES for trigger in triggers) < 2:
        text = f'"{ALL}" needs two triggers besides cpu and memory, which are never asked; add one, or leave it out'
        raise _error(ACTIVE_WHEN, text)
    return True


def _read_most(annotations: Mapping[str, str], triggers: Sequence[ScaleTrigger], *, formula: bool) -> dict[int, int]:
    text = annotations.get(MOST_PER_TRIGGER)
    if text is None:
        return {}
    if formula:
        raise _error(MOST_PER_TRIGGER, "scalingModifiers make one metric of all triggers; write min() into the formula")
    most: dict[int, int] = {}
    for part in text.split(","):
        name, equals, count = (piece.strip() for piece in part.rpartition("="))
        if not equals:
            shown = part.strip()[:_LONGEST_SHOWN]
            raise _error(MOST_PER_TRIGGER, f'"{shown}" is not NAME=REPLICAS; write for example "queue=20,orders=5"')
        index = _find_trigger(name, triggers)
        if index in most:
            raise _error(MOST_PER_TRIGGER, f'trigger "{name[:_LONGEST_SHOWN]}" has two counts; leave one of them out')
        most[index] = _read_count(MOST_PER_TRIGGER, count, f'write for example "{name[:_LONGEST_SHOWN]}=20"')
    return most


def _find_trigger(name: str, triggers: Sequence[ScaleTrigger]) -> int:
    """Return the index of the trigger of that name whose demand can be bounded."""
    shown = name[:_LONGEST_SHOWN]
    index = next((at for at, trigger in enumerate(triggers) if trigger.name and trigger.name == name), None)
    if index is None:
        known = [trigger.name[:_LONGEST_SHOWN] for trigger in triggers if trigger.name]
        remedy = f"there are {', '.join(known[:5])}" if known else "give it one: spec.triggers[].name"
        raise _error(MOST_PER_TRIGGER, f'no trigger has the name "{shown}"; {remedy}')
    trigger = triggers[index]
    if trigger.type in _RESOURCES:
        text = f'trigger "{shown}" is {trigger.type}, which the HPA reads by itself; use maxReplicaCount'
        raise _error(MOST_PER_TRIGGER, text)
    if trigger.metric_type == "Value":
        text = f'trigger "{shown}" has metricType Value, which does not say what one replica takes; write AverageValue'
        raise _error(MOST_PER_TRIGGER, text)
    return index


def _read_word(annotations: Mapping[str, str], annotation: str, words: tuple[str, str]) -> str:
    """Return the annotation's word; the first of `words` is the default."""
    text = annotations.get(annotation, words[0])
    if text not in words:
        raise _error(annotation, f'"{text[:_LONGEST_SHOWN]}" is unknown; write "{words[1]}" or "{words[0]}"')
    return text


def _read_count(annotation: str, text: str, remedy: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and 0 < int(text) <= LARGEST_INT32:
        return int(text)
    shown = text[:_LONGEST_SHOWN]
    raise _error(annotation, f'"{shown}" is not a whole number from 1 to {LARGEST_INT32}; {remedy}')


def _refuse_foreign(annotations: Mapping[str, str], names: tuple[str, ...], whose: str) -> None:
    for name in names:
        if name in annotations:
            raise _error(name, f"is for {whose}; remove it")


def _error(annotation: str, text: str) -> ConfigError:
    return ConfigError(f"{field_of(annotation)}: {text}", field=field_of(annotation))
