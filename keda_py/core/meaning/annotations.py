"""Annotations of autoscaling.keda.sh: KEDA ignores misspelt names, and reads some values as the opposite.

Pure. KEDA takes everything but Go's words for false as true: `paused: "no"` pauses.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.spec import FORCE_ACTIVATION
from keda_py.core.values.pause import PAUSED, PAUSED_REPLICAS, PAUSED_SCALE_IN, PAUSED_SCALE_OUT, PauseSpec
from keda_py.errors import ConfigError

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
