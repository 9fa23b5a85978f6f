"""Manifests -> plans, one a namespace. What cannot be read is left out, and is a problem of its namespace.

As other triggers, HPAs that go to zero are taken to have no work; those that are not to be looked at are not handed in.

An object without a creation time is as old as the epoch, in the order of the files; an Override begins with the period.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from keda_py.apis.environments.environment import Environment, EnvironmentStatus
from keda_py.apis.environments.override import NEXT_CHANGE, Override
from keda_py.apis.environments.scaling_schedule import ScalingSchedule
from keda_py.apis.foreign import Obj, map_at, name_of, namespace_of, text_at, texts_at, title_of, value_at
from keda_py.apis.hpa_behavior import HorizontalPodAutoscalerBehavior
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.codes import ignored_codes, without_ignored
from keda_py.core.admission.defaults import warn_of_bounds
from keda_py.core.admission.findings import AdmissionWarning
from keda_py.core.defaults.bodies import KINDS as DEFAULTS
from keda_py.core.defaults.bodies import DefaultsOfBodies
from keda_py.core.defaults.filling import FindLayers, fill_scaled_object
from keda_py.core.environment.decision.observation import Role
from keda_py.core.environment.decision.state import EnvironmentState, read_state
from keda_py.core.environment.namespaces.coverage import KIND as COVERING
from keda_py.core.environment.namespaces.coverage import OWNER_LABEL
from keda_py.core.environment.overrides import OverrideSpec, read_override
from keda_py.core.environment.scaling.overlays import paused_by_owner
from keda_py.core.environment.scaling.schedules import ScheduleSpec, build_schedule
from keda_py.core.environment.spec import build_environment, by_age, first_of
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.hpa.wire import read_spec
from keda_py.core.meaning.environments import (
    LabelledObject,
    check_members,
    describe_deletion,
    describe_lead,
    describe_waves,
)
from keda_py.core.meaning.jobs import CRON_JOB, check_jobs, describe_job, read_job
from keda_py.core.meaning.kinds import JUDGED, check_kind_meaning
from keda_py.core.meaning.policies import cover, describe_coverage
from keda_py.core.meaning.scaled_object import check_meaning
from keda_py.core.meaning.wake_services import describe_requests
from keda_py.core.spec import AS_WRITTEN, ScalingSpec, without_ended_pause
from keda_py.core.spec_rules import check_bounds, check_triggers
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import ConfigError
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, NAMESPACES
from keda_py.replay.plan import EnvironmentPlan, MemberPlan, NamespacePlan, ObjectPlan
from keda_py.replay.reading.calendars import Calendars
from keda_py.replay.triggers import Triggers, read_triggers
from keda_py.sdk.registry import wake_spec_of

T = TypeVar("T")
ROLES = {"Deployment": Role.WORKLOAD, "StatefulSet": Role.WORKLOAD, "CronJob": Role.CRON_JOB}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSource:
    """A manifest; `ignored` are the codes that a comment switches off for it.

    `spec` is that of a ScaledObject that was read before; without it the body is read.
    """

    body: Obj
    ignored: frozenset[str] = frozenset()
    spec: ScalingSpec | None = None


@dataclass(slots=True)
class _Namespace:
    """The manifests of one namespace by kind, with the problems and warnings found so far."""

    by_kind: defaultdict[str, list[ManifestSource]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def each(self, kind: str, read: Callable[[ManifestSource], T]) -> list[T]:
        """Read all manifests of a kind; those that cannot be read become problems."""
        found = []
        for source in self.by_kind[kind]:
            try:
                found.append(read(source))
            except ConfigError as error:
                self.problems.append(f"{title_of(source.body)}: {error}")
        return found

    def warn(self, kind: str, name: str, found: Iterable[AdmissionWarning]) -> None:
        """Keep the warnings that the object does not switch off."""
        source = next((one for one in self.by_kind[kind] if name_of(one.body) == name), None)
        if source is not None:
            ignored = source.ignored | ignored_codes(texts_at(source.body, "metadata", "annotations"))
            title = title_of(source.body)
            self.warnings += [f"{title}: {one.message} [{one.code}]" for one in without_ignored(found, ignored)]


def read_plans(
    sources: Iterable[ManifestSource], begins: datetime, ends: datetime, named: Collection[str] = ()
) -> list[NamespacePlan]:
    """Read plans in the order of their names; namespaces without an object to preview are left out.

    `named` are namespaces that ClusterEnvironments are taken to select.
    """
    namespaces: defaultdict[str, _Namespace] = defaultdict(_Namespace)
    objects = {}
    sources = list(sources)
    for number, written in enumerate([*sources, *_of_policies(sources, namespaces, named)]):
        source = _dated(written, number, begins)
        body = source.body
        namespace = "" if body["kind"] == "ClusterCalendar" else namespace_of(body)
        objects[body["kind"], namespace, name_of(body)] = body
        if not value_at(body, "metadata", "deletionTimestamp"):
            namespaces[namespace].by_kind[body["kind"]].append(source)
    calendars = Calendars(objects=objects, begins=begins, ends=ends)
    layers = _layers(namespaces)
    plans = [_read_namespace(name, found, calendars, layers) for name, found in sorted(namespaces.items())]
    return [plan for plan in plans if plan.objects or plan.environments or plan.problems or plan.warnings]


def _of_policies(
    sources: Sequence[ManifestSource], namespaces: "defaultdict[str, _Namespace]", named: Collection[str]
) -> Iterator[ManifestSource]:
    """Yield the Environments that the operator would write from ClusterEnvironments among the manifests."""
    found = cover([source.body for source in sources], named)
    for body, error in found.unread:
        namespaces[""].problems.append(f"{title_of(body)}: {error}")
    for name, covered in found.by.items():
        if not covered:
            namespaces[""].warnings.append(f"{COVERING} {name}: {'; '.join(describe_coverage(name, found))}")
    yield from (ManifestSource(body=body) for body in found.environments)


def _layers(namespaces: "defaultdict[str, _Namespace]") -> FindLayers:
    """Read the defaults among the manifests; those that cannot be used are problems of their namespace."""
    kinds = (*DEFAULTS, NAMESPACES.kind)
    bodies = [one.body for found in namespaces.values() for kind in kinds for one in found.by_kind[kind]]
    defaults = DefaultsOfBodies(bodies)
    for body, error in defaults.unread:
        namespaces[namespace_of(body)].problems.append(f"{title_of(body)}: {error}")
    return defaults.layers


def _dated(source: ManifestSource, number: int, begins: datetime) -> ManifestSource:
    body = source.body
    if text_at(body, "metadata", "creationTimestamp"):
        return source
    created = begins if body["kind"] == "Override" else _EPOCH + timedelta(seconds=number)
    dated = {**body, "metadata": {**map_at(body, "metadata"), "creationTimestamp": write_time(created)}}
    return replace(source, body=dated, spec=source.spec and replace(source.spec, created=created))


def _read_namespace(name: str, found: _Namespace, calendars: Calendars, layers: FindLayers) -> NamespacePlan:
    written = found.each("Environment", lambda source: parse_object(Environment, source.body))
    environments = [plan for one in written if (plan := _environment(one, calendars, found.problems)) is not None]
    objects = found.each("ScaledObject", partial(_object, begins=calendars.begins, layers=layers))
    members = tuple(_members(found, objects, written)) if environments else ()
    overrides = found.each("Override", lambda source: _override(source, written, calendars))
    schedules = found.each("ScalingSchedule", lambda source: _schedule(source, calendars))
    marks = _marks(objects, members)
    _warn(found, environments, marks)
    _warn_of_jobs(found, environments, members, calendars.begins)
    return NamespacePlan(
        name=name,
        objects=tuple(objects),
        members=members,
        environments=tuple(_described(one, marks, members, calendars) for one in environments),
        overrides=tuple(overrides),
        schedules=tuple(schedules),
        problems=tuple(found.problems),
        warnings=tuple(found.warnings),
    )


def _marks(objects: Iterable[ObjectPlan], members: Iterable[MemberPlan]) -> list[LabelledObject]:
    """List what Environments may take, with its labels."""
    scaled = [
        LabelledObject(
            kind="ScaledObject", name=one.spec.name, labels=one.spec.labels, annotations=one.spec.annotations
        )
        for one in objects
        if not paused_by_owner(one.spec)
    ]
    others = [
        LabelledObject(kind=one.kind, name=one.name, labels=one.labels, annotations=one.annotations) for one in members
    ]
    return [*scaled, *others]


def _described(
    plan: EnvironmentPlan, marks: Sequence[LabelledObject], members: Iterable[MemberPlan], known: Calendars
) -> EnvironmentPlan:
    """With what is worth knowing of it, and of members that never move and so are not shown themselves."""
    waves = tuple(describe_waves(plan.spec, marks)) if plan.spec.waves else ()
    lead = describe_lead(plan.spec, plan.state.wakes)
    namespace = known.objects.get((NAMESPACES.kind, "", plan.spec.namespace))
    labels = None if namespace is None else texts_at(namespace, "metadata", "labels")
    deletion = describe_deletion(plan.spec, labels, plan.state.activity, known.begins)
    own = [one for one in members if plan.spec.takes(one.labels, one.annotations)]
    to_zero = [f"{one.kind} {one.name}: {_TO_ZERO}" for one in own if one.scaled_to_zero]
    requests = [] if plan.spec.wake is None else [describe_requests(plan.spec.wake)]
    policy = [f"{COVERING} {plan.policy} covers this namespace and writes it"] if plan.policy else []
    spans = [text for text in (lead, deletion) if text]
    return replace(plan, remarks=(*policy, *waves, *spans, *requests, *to_zero))


def _warn(found: _Namespace, environments: Sequence[EnvironmentPlan], marks: Sequence[LabelledObject]) -> None:
    """Warn of all that the operator would find out."""
    for kind in JUDGED:
        for source in found.by_kind[kind]:
            with suppress(ConfigError):  # it is a problem already
                found.warn(kind, name_of(source.body), check_kind_meaning(kind, source.body))
    oldest_first = by_age(one.spec for one in environments)
    for number, spec in enumerate(oldest_first):
        found.warn("Environment", spec.name, check_members(spec, marks, oldest_first[:number]))


def _warn_of_jobs(
    found: _Namespace, environments: Sequence[EnvironmentPlan], members: Sequence[MemberPlan], now: datetime
) -> None:
    """Warn of CronJobs that never run while their Environment is awake, unless their owners have suspended them."""
    oldest_first = by_age(one.spec for one in environments)
    running = {one.name for one in members if one.role is Role.CRON_JOB and one.replicas}
    jobs = [read_job(source.body) for source in found.by_kind[CRON_JOB] if name_of(source.body) in running]
    for plan in environments:
        own = [job for job in jobs if first_of(oldest_first, job.labels, job.annotations) is plan.spec]
        if plan.calendar is not None:
            for job, warning in check_jobs(plan.spec, plan.calendar, own, now):
                found.warn(CRON_JOB, job.name, (warning,))


def _object(source: ManifestSource, begins: datetime, layers: FindLayers) -> ObjectPlan:
    spec = without_ended_pause(source.spec or _filled(source.body, layers), begins)
    check_bounds(spec)
    check_triggers(spec.triggers)
    spec.pause.replica_count()
    _check_behavior(spec, read_triggers(spec))
    ignored = source.ignored | ignored_codes(spec.annotations)
    found, wake = (*warn_of_bounds(spec), *check_meaning(spec)), wake_spec_of(spec.triggers)
    findings = tuple(without_ignored(found, ignored))
    requests = () if wake is None else (describe_requests(wake, whose="its pods"),)
    defaults = tuple(note.text for note in spec.defaults if not (note.is_bound and note.is_asked))
    return ObjectPlan(spec=spec, findings=findings, remarks=(*defaults, *requests))


def _filled(body: Obj, layers: FindLayers) -> ScalingSpec:
    return AS_WRITTEN.built_by(lambda obj: fill_scaled_object(obj, layers(namespace_of(body)))).read(body)


def _check_behavior(spec: ScalingSpec, triggers: Triggers) -> None:
    """Refuse an HPA that the API server would refuse, which the operator says in Ready. Raises ConfigError."""
    manifest = build_hpa(spec, triggers.metrics)
    field = "spec.advanced.horizontalPodAutoscalerConfig.behavior"
    try:
        HorizontalPodAutoscalerBehavior.model_validate(manifest["spec"].get("behavior") or {})
        read_spec(manifest)
    except ValueError:
        text = f"{field}: no HPA can have it; policies are Pods or Percent, selectPolicy Max, Min or Disabled"
        raise ConfigError(text, field=field) from None


def _environment(written: Environment, calendars: Calendars, problems: list[str]) -> EnvironmentPlan | None:
    title = f"Environment {written.metadata.namespace}/{written.metadata.name}"
    try:
        spec = build_environment(written)
    except ConfigError as error:
        problems.append(f"{title}: {error}")
        return None
    try:
        state = _stored(written.status)
        policy = written.metadata.labels.get(OWNER_LABEL, "")
        return EnvironmentPlan(spec=spec, calendar=calendars.of_environment(written), state=state, policy=policy)
    except ConfigError as error:
        problems.append(f"{title}: {error}")
        return EnvironmentPlan(spec=spec, calendar=None, problem=str(error))


def _stored(status: EnvironmentStatus) -> EnvironmentState:
    try:
        return read_state(status)
    except ValueError as error:
        raise ConfigError(f"status: {error}; correct it", field="status") from None


def _override(source: ManifestSource, environments: Sequence[Environment], calendars: Calendars) -> OverrideSpec:
    override = parse_object(Override, source.body)
    only = environments[0].metadata.name if len(environments) == 1 else ""
    target = override.spec.target
    calendar = None
    if override.spec.until == NEXT_CHANGE and not override.end_is_fixed:
        name = target.name if target is not None and target.kind == "Environment" else only
        named = next((each for each in environments if each.metadata.name == name), None)
        calendar = calendars.of_environment(named) if named is not None else None
    return read_override(override, calendar, environment=only)


def _schedule(source: ManifestSource, calendars: Calendars) -> ScheduleSpec:
    written = parse_object(ScalingSchedule, source.body)
    return build_schedule(written, lambda reference: calendars.find(written.metadata.namespace, reference))


def _members(
    found: _Namespace, objects: Sequence[ObjectPlan], environments: Sequence[Environment]
) -> Iterable[MemberPlan]:
    """Yield workloads and CronJobs that no ScaledObject scales; one that its owner has paused scales nothing."""
    scaled = {(each.spec.target.kind, each.spec.target.name) for each in objects if not paused_by_owner(each.spec)}
    to_zero = {_target_of(source.body) for source in found.by_kind[_HPA] if _goes_to_zero(source.body)}
    for kind, role in ROLES.items():
        for member in found.each(kind, partial(_member, role=role, environments=environments)):
            if (kind, member.name) in to_zero - scaled:
                yield replace(member, replicas=0, scaled_to_zero=True)
            elif (kind, member.name) not in scaled:
                yield member


_HPA = HORIZONTAL_POD_AUTOSCALERS.kind
_TO_ZERO = "its HPA has it at 0 without work; work wakes it by day, and at night none does"


def _target_of(hpa: Obj) -> tuple[str, str]:
    return text_at(hpa, "spec", "scaleTargetRef", "kind"), text_at(hpa, "spec", "scaleTargetRef", "name")


def _goes_to_zero(hpa: Obj) -> bool:
    return bool(value_at(hpa, "spec", "minReplicas") == 0)


def _member(source: ManifestSource, *, role: Role, environments: Sequence[Environment]) -> MemberPlan:
    body = source.body
    return MemberPlan(
        kind=body["kind"],
        name=name_of(body),
        role=role,
        labels=texts_at(body, "metadata", "labels"),
        annotations=texts_at(body, "metadata", "annotations"),
        created=parse_time(text_at(body, "metadata", "creationTimestamp"), field="metadata.creationTimestamp"),
        replicas=_awake_count(body, role, environments),
        remarks=(describe_job(read_job(body)),) if role is Role.CRON_JOB else (),
    )


def _awake_count(body: Obj, role: Role, environments: Sequence[Environment]) -> int:
    """Return the count that an Environment remembers of a member that sleeps now, else the written one."""
    key = f"{body['kind']}/{name_of(body)}"
    for environment in environments:
        remembered = environment.status.members.get(key)
        if remembered is not None and remembered.stage:
            return remembered.replicas
    if role is Role.CRON_JOB:
        return int(value_at(body, "spec", "suspend") is not True)
    count = value_at(body, "spec", "replicas")
    return count if isinstance(count, int) and count >= 0 else 1
