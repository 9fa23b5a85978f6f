"""Plans and a period -> the preview: a timeline for each object, and what there is to say beside it. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.meaning.windows import windows_of
from keda_py.preview.replay.namespaces import NamespaceReplay
from keda_py.preview.replay.plan import NamespacePlan
from keda_py.preview.replay.subjects import Governed
from keda_py.preview.replay.timeline import Step, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One object. `notes` are its windows in words, `zones` theirs; `settles` False: it moves up and down for ever."""

    kind: str
    namespace: str
    name: str
    timeline: Timeline
    findings: tuple[AdmissionWarning, ...] = ()
    notes: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    settles: bool = True

    @property
    def title(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """[begins, ends); Environments stand before the objects of their namespace."""

    begins: datetime
    ends: datetime
    subjects: tuple[Subject, ...]
    problems: tuple[str, ...] = ()


def preview(plans: Iterable[NamespacePlan], begins: datetime, ends: datetime) -> Preview:
    """All of it."""
    subjects: list[Subject] = []
    problems: list[str] = []
    for plan in plans:
        problems += plan.problems
        replay = NamespaceReplay(plan, begins, ends)
        replay.run()
        subjects += _subjects(plan, replay, begins)
    return Preview(begins=begins, ends=ends, subjects=tuple(subjects), problems=tuple(problems))


def _subjects(plan: NamespacePlan, replay: NamespaceReplay, begins: datetime) -> Iterator[Subject]:
    ends = replay.ends
    for environment in replay.environments:
        timeline = _timeline(int(environment.began_awake), environment.steps, begins, ends)
        yield Subject(kind="Environment", namespace=plan.name, name=environment.spec.name, timeline=timeline)
    for written, governed in zip(plan.objects, replay.objects, strict=True):
        yield _object(plan.name, governed, written.findings, begins, ends)
    for member in replay.members:
        if member.steps:
            timeline = _timeline(member.plan.replicas, member.steps, begins, ends)
            yield Subject(kind=member.plan.kind, namespace=plan.name, name=member.plan.name, timeline=timeline)


def _object(
    namespace: str, governed: Governed, findings: tuple[AdmissionWarning, ...], begins: datetime, ends: datetime
) -> Subject:
    replay = governed.replay
    windows = windows_of(replay.written.triggers)
    return Subject(
        kind="ScaledObject",
        namespace=namespace,
        name=replay.written.name,
        timeline=_timeline(replay.first, replay.steps, begins, ends, replay.triggers.unknown),
        findings=findings,
        notes=tuple(window.words for window in windows if window.words),
        zones=tuple(window.zone or "UTC" for window in windows),
        settles=replay.settles,
    )


def _timeline(
    first: int, steps: Sequence[Step], begins: datetime, ends: datetime, assumes: tuple[str, ...] = ()
) -> Timeline:
    """Of the period: what was before it is only where it starts from."""
    before = [step for step in steps if step.at < begins]
    return Timeline(
        begins=begins,
        ends=ends,
        replicas=before[-1].replicas if before else first,
        steps=tuple(steps[len(before) :]),
        assumes=assumes,
    )
