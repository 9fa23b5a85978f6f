"""What is worth knowing of a manifest in which nothing is wrong: its windows in words, and what its deletion leaves."""

from collections.abc import Iterator
from dataclasses import dataclass

from keda_py.core.meaning.scaled_object import sleeps
from keda_py.core.meaning.windows import windows_of
from keda_py.core.spec import ScalingSpec, TriggersSpec

RESTORE = "spec.advanced.restoreToOriginalReplicaCount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """`field` is the path of what it is about."""

    message: str
    field: str


def notes_of(spec: TriggersSpec) -> Iterator[Note]:
    """Of a ScaledObject or ScaledJob, one for each window that can be read."""
    for window in windows_of(spec.triggers):
        if window.words:
            field = f"spec.triggers[{window.index}]"
            yield Note(message=f"{field}: {window.words}: {counted(window.replicas, 'replica')}", field=field)
    if isinstance(spec, ScalingSpec) and sleeps(spec) and not spec.restore_original:
        text = f"deleting it while {spec.target.kind} {spec.target.name} is at 0 leaves that at 0; set {RESTORE}: true"
        yield Note(message=text, field="spec")


def counted(number: int, what: str) -> str:
    """ "1 replica", "2 replicas"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
