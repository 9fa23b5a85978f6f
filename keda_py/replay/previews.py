"""Plans and a period -> the preview: a timeline for each object, and what there is to say beside it. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.environment.calendar.calendar import Calendar
from keda_py.core.environment.calendar.zones import local_date
from keda_py.core.meaning.windows import windows_of
from keda_py.replay.namespaces import NamespaceReplay
from keda_py.replay.plan import NamespacePlan
from keda_py.replay.subjects import Governed
from keda_py.replay.timeline import Step, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One object. `notes` are its windows in words, `zones` theirs; without `settles` it moves up and down for ever.

    `remarks` say what else is worth knowing. `member_of` is the Environment that has it, and `holidays` are those of an
    Environment: days on which it is closed for a reason of their own.
    """

    kind: str
    namespace: str
    name: str
    timeline: Timeline
    findings: tuple[AdmissionWarning, ...] = ()
    notes: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    settles: bool = True
    remarks: tuple[str, ...] = ()
    member_of: str = ""
    holidays: tuple[tuple[date, str], ...] = ()

    @property
    def has_count(self) -> bool:
        """False for an Environment, which is awake, and a CronJob, which is not suspended: their counts are 1 and 0."""
        return self.kind not in ("Environment", "CronJob")

    @property
    def title(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """[begins, ends); Environments stand before the objects of their namespace."""

    begins: datetime
    ends: datetime
    subjects: tuple[Subject, ...]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def preview(
    plans: Iterable[NamespacePlan], begins: datetime, ends: datetime, present: datetime | None = None
) -> Preview:
    """Let time pass over all plans, and put each object's timeline beside what there is to say about it.

    The counts of plans that know `now` were read at `present`, which is not after `begins`.
    """
    subjects: list[Subject] = []
    problems: list[str] = []
    warnings: list[str] = []
    for plan in plans:
        problems += plan.problems
        warnings += plan.warnings
        replay = NamespaceReplay(plan, begins if present is None else present, ends)
        replay.run()
        subjects += _subjects(plan, replay, begins)
    return Preview(
        begins=begins, ends=ends, subjects=tuple(subjects), problems=tuple(problems), warnings=tuple(warnings)
    )


def _subjects(plan: NamespacePlan, replay: NamespaceReplay, begins: datetime) -> Iterator[Subject]:
    ends = replay.ends
    for each, environment in zip(plan.environments, replay.environments, strict=True):
        yield Subject(
            kind="Environment",
            namespace=plan.name,
            name=environment.spec.name,
            timeline=_timeline(int(environment.began_awake), environment.steps, begins, ends),
            remarks=each.remarks,
            holidays=_holidays(each.calendar, begins, ends),
        )
    for written, governed in zip(plan.objects, replay.objects, strict=True):
        subject = _object(plan.name, governed, written.findings, begins, ends)
        yield replace(subject, member_of=replay.owner_of(governed.key), remarks=written.remarks)
    for member in replay.members:
        if member.steps:
            yield Subject(
                kind=member.plan.kind,
                namespace=plan.name,
                name=member.plan.name,
                timeline=_timeline(member.plan.replicas, member.steps, begins, ends),
                remarks=member.plan.remarks,
                member_of=replay.owner_of(member.key),
            )


def _holidays(calendar: Calendar | None, begins: datetime, ends: datetime) -> tuple[tuple[date, str], ...]:
    """Return the days in the period that are closed as holidays or exceptions, with their reasons."""
    if calendar is None:
        return ()
    first, last = (local_date(at, calendar.zone) for at in (begins, ends - timedelta(microseconds=1)))
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    named = calendar.holidays.keys() | calendar.exceptions.keys()
    return tuple((day, calendar.why_closed(day)) for day in days if day in named and not calendar.spans_of(day))


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
    """Cut the steps to the period: those before it only say with which count it begins."""
    before = [step for step in steps if step.at < begins]
    return Timeline(
        begins=begins,
        ends=ends,
        replicas=before[-1].replicas if before else first,
        steps=tuple(steps[len(before) :]),
        assumes=assumes,
    )
