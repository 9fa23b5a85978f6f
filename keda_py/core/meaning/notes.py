"""Facts about a correct manifest: its windows in words, and what remains after its deletion."""

from collections.abc import Iterator
from dataclasses import dataclass

from keda_py.core.meaning.windows import windows_of
from keda_py.core.spec import RESOURCE_TRIGGERS, ScalingSpec, TriggersSpec
from keda_py.core.spec_rules import may_sleep

RESTORE = "spec.advanced.restoreToOriginalReplicaCount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A fact about the part of a manifest at path `field`."""

    message: str
    field: str


def notes_of(spec: TriggersSpec) -> Iterator[Note]:
    """Describe each window of a ScaledObject or ScaledJob that can be parsed."""
    for window in windows_of(spec.triggers):
        if window.words:
            field = f"spec.triggers[{window.index}]"
            yield Note(message=f"{field}: {window.words}: {counted(window.replicas, 'replica')}", field=field)
    if isinstance(spec, ScalingSpec) and may_sleep(spec):
        yield from _notes_of_sleep(spec)


def _notes_of_sleep(spec: ScalingSpec) -> Iterator[Note]:
    """Remind that cpu and memory cannot wake an object, and that a deleted ScaledObject leaves its workload asleep."""
    for index, trigger in enumerate(spec.triggers):
        if trigger.type in RESOURCE_TRIGGERS and not spec.resource_only:
            field = f"spec.triggers[{index}]"
            text = f"{field}: {trigger.type} does not wake it from 0, and counts while another trigger keeps it up"
            yield Note(message=text, field=field)
    if not spec.restore_original:
        text = f"deleting it while {spec.target.kind} {spec.target.name} is at 0 leaves that at 0; set {RESTORE}: true"
        yield Note(message=text, field="spec")


def counted(number: int, what: str) -> str:
    """Count in words, with a plural s: "2 replicas" or "1 replica" (without)."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
