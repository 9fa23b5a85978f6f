"""Environment -> EnvironmentSpec: defaults applied, durations and selectors read; and whose member an object is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.apis.environments.environment import Environment, MemberKind, Wave
from keda_py.apis.environments.environment import EnvironmentSpec as WrittenSpec
from keda_py.core.values.durations import parse_duration
from keda_py.core.values.mistakes import Mistakes
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.core.values.pause import parse_bool_annotation
from keda_py.core.values.selecting import build_selector
from keda_py.core.values.selectors import LabelSelector
from keda_py.core.values.times import parse_time
from keda_py.core.waking.spec import WakeSpec, build_wake_spec
from keda_py.errors import ConfigError

DEFAULT_PARALLEL = 50
DEFAULT_TIMEOUT = timedelta(minutes=5)
DEFAULT_LEAD = timedelta(minutes=30)
DEFAULT_GRACE = timedelta(minutes=15)
SHORTEST_END = timedelta(days=1)
SHORTEST_IDLE = timedelta(minutes=5)
"""A trigger is polled each 30 s by default, and KEDA's users poll slow sources each few minutes."""
# Members of one Environment. The status remembers a count of each, which all fit in with the longest names.
MOST_MEMBERS = 1000
USUAL_KINDS = ("ScaledObject", "Deployment", "StatefulSet", "CronJob")
LONGEST_NAME = 253
"""Most waves, and most kinds, that one Environment may list."""
REST = "rest"
"""The name of the wave whose members are in no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveSpec:
    """Members that wake together; `pause` lies between this wave and the next."""

    name: str
    selector: LabelSelector | None
    timeout: timedelta = DEFAULT_TIMEOUT
    pause: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """Everything that decisions need to know of an Environment, besides its calendar."""

    namespace: str
    name: str
    uid: str
    created: datetime
    deleting: bool = False
    selector: LabelSelector | None = None
    exclude: LabelSelector | None = None
    kinds: tuple[tuple[str, str], ...] = ()
    """apiVersion and kind of members besides the usual ones."""
    triggers_wake: bool = False
    waves: tuple[WaveSpec, ...] = ()
    max_parallel: int = DEFAULT_PARALLEL
    ready_by: bool = False
    max_lead: timedelta = DEFAULT_LEAD
    grace: timedelta = DEFAULT_GRACE
    wake: WakeSpec | None = None
    """None: requests do not wake it."""
    idle_after: timedelta | None = None
    """After so long without use it sleeps though it is open; None: never."""
    delete_after: timedelta | None = None
    """After so long without use its namespace is deleted; None: never."""
    delete_bound_volumes: bool = False
    flux: bool = False
    """True if members that Flux applies are annotated while they sleep."""
    argocd: bool = False
    """True if Applications of Argo CD are told to ignore the counts of sleeping members."""

    def takes(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        """Return whether an object with those is one of its members."""
        body = {"metadata": {"labels": labels}}
        if parse_bool_annotation(annotations, EXCLUDE):
            return False
        if self.exclude is not None and self.exclude.matches(body):
            return False
        return self.selector is None or self.selector.matches(body)

    def wave_of(self, labels: Mapping[str, str]) -> int:
        """Return the position of its wave; the number of waves for a member of none."""
        body = {"metadata": {"labels": labels}}
        for position, wave in enumerate(self.waves):
            if wave.selector is not None and wave.selector.matches(body):
                return position
        return len(self.waves)

    def label_keys(self) -> Iterator[str]:
        """The keys of all labels that `takes` and `wave_of` ask for."""
        for selector in (self.selector, self.exclude, *(wave.selector for wave in self.waves)):
            if selector is not None:
                yield from (requirement.key for requirement in selector.requirements)

    def wave_name(self, position: int) -> str:
        """Name the wave at a position, also that of the members of no wave."""
        return self.waves[position].name if position < len(self.waves) else REST


def build_environment(environment: Environment) -> EnvironmentSpec:
    """Build the spec with its defaults. Raises ConfigError naming field, value and remedy."""
    meta, spec = environment.metadata, environment.spec
    mistakes = Mistakes()
    with mistakes.noted():
        if (spec.calendar is None) == (spec.calendar_ref is None):
            raise ConfigError("spec: give one of calendarRef and calendar", field="spec")
    waves = _build_waves(spec.waves, mistakes)
    with mistakes.noted():
        _refuse_kinds(spec.kinds)
    with mistakes.noted():
        selector = build_selector(spec.selector, "spec.selector")
    with mistakes.noted():
        exclude = build_selector(spec.exclude, "spec.exclude")
    max_lead, grace, idle_after, delete_after = _build_durations(spec, mistakes)
    wake = None
    with mistakes.noted():
        wake = None if spec.wake_on_request is None else build_wake_spec(spec.wake_on_request)
    mistakes.refuse()
    return EnvironmentSpec(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        created=parse_time(meta.creation_timestamp, field="metadata.creationTimestamp"),
        deleting=bool(meta.deletion_timestamp),
        selector=selector,
        exclude=exclude,
        kinds=tuple((kind.api_version, kind.kind) for kind in spec.kinds),
        triggers_wake=spec.asleep is not None and spec.asleep.triggers_wake,
        waves=waves,
        max_parallel=spec.max_parallel or DEFAULT_PARALLEL,
        ready_by=spec.ready_by,
        max_lead=max_lead,
        grace=grace,
        wake=wake,
        idle_after=idle_after or None,
        delete_after=delete_after or None,
        delete_bound_volumes=spec.delete_bound_volumes,
        flux=spec.gitops is not None and spec.gitops.flux == "DisableReconcile",
        argocd=spec.gitops is not None and spec.gitops.argocd == "IgnoreReplicas",
    )


def _build_durations(spec: WrittenSpec, mistakes: Mistakes) -> tuple[timedelta, timedelta, timedelta, timedelta]:
    """(maxLead, grace, idleAfter, deleteAfter); the defaults for those that are noted as mistakes."""
    max_lead, grace, idle_after, delete_after = DEFAULT_LEAD, DEFAULT_GRACE, timedelta(0), timedelta(0)
    with mistakes.noted():
        max_lead = parse_duration(spec.max_lead, DEFAULT_LEAD, field="spec.maxLead")
    with mistakes.noted():
        grace = parse_duration(spec.grace, DEFAULT_GRACE, field="spec.grace")
    with mistakes.noted():
        idle_after = _read_idle_after(spec.idle_after)
    with mistakes.noted():
        delete_after = _read_delete_after(spec, idle_after)
    return max_lead, grace, idle_after, delete_after


def _read_idle_after(text: str) -> timedelta:
    """Read the span, 0 for none. Raises ConfigError for one that is shorter than a signal may take to be seen."""
    found = parse_duration(text, timedelta(0), field="spec.idleAfter")
    if text and found < SHORTEST_IDLE:
        message = f"{text!r} is shorter than 5m, in which use may not be noticed; write for example 48h"
        raise ConfigError(f"spec.idleAfter: {message}", field="spec.idleAfter")
    return found


def _read_delete_after(spec: WrittenSpec, idle_after: timedelta) -> timedelta:
    """Read the span, 0 for none. Raises ConfigError for one that deletes too soon, or what other Environments have."""
    field, text = "spec.deleteAfter", spec.delete_after
    found = parse_duration(text, timedelta(0), field=field)
    if not text:
        return found
    if not spec.idle_after:
        raise ConfigError(f"{field}: {text!r} counts the time without use; give spec.idleAfter, too", field=field)
    if found < idle_after:
        message = f"{text!r} is shorter than spec.idleAfter, {spec.idle_after!r}, after which it sleeps first"
        raise ConfigError(f"{field}: {message}; write a longer one, such as 14d", field=field)
    if found < SHORTEST_END:
        message = f"{text!r} is shorter than 1d, by which a deletion is announced; write a longer one, such as 14d"
        raise ConfigError(f"{field}: {message}", field=field)
    if spec.selector is not None or spec.exclude is not None:
        message = "deletes the whole namespace, of which spec.selector and spec.exclude choose a part; take them out"
        raise ConfigError(f"{field}: {text!r} {message}", field=field)
    return found


def _refuse_long(text: str, field: str) -> None:
    """Refuse a long name, which would stand in the status several times. Raises ConfigError."""
    if len(text) > LONGEST_NAME:
        message = f"{text[:LONGEST_NAME]!r} has more than {LONGEST_NAME} characters; write a shorter one"
        raise ConfigError(f"{field}: {message}", field=field)


def _refuse_kinds(kinds: Sequence[MemberKind]) -> None:
    """Members are called KIND/NAME, so that a kind of one name is one kind; the usual ones need not be named."""
    mistakes = Mistakes()
    for number, one in enumerate(kinds):
        field = f"spec.kinds[{number}].kind"
        with mistakes.noted():
            _refuse_long(one.kind, field)
            _refuse_long(one.api_version, f"spec.kinds[{number}].apiVersion")
            if one.kind in USUAL_KINDS or one.kind in [each.kind for each in kinds[:number]]:
                raise ConfigError(f"{field}: {one.kind!r} is a member already; take it out", field=field)
    mistakes.refuse()


def _build_waves(waves: Sequence[Wave], mistakes: Mistakes) -> tuple[WaveSpec, ...]:
    built = []
    names = [wave.name for wave in waves]
    for number, wave in enumerate(waves):
        field = f"spec.waves[{number}].name"
        with mistakes.noted():
            _refuse_long(wave.name, field)
            if wave.name in names[:number] or wave.name == REST:
                raise ConfigError(f"{field}: {wave.name!r} is taken; give each wave a name of its own", field=field)
        with mistakes.noted():
            built.append(_build_wave(wave, f"spec.waves[{number}]"))
    return tuple(built)


def _build_wave(wave: Wave, field: str) -> WaveSpec:
    mistakes = Mistakes()
    with mistakes.noted():
        selector = build_selector(wave.selector, f"{field}.selector")
    with mistakes.noted():
        timeout = parse_duration(wave.timeout, DEFAULT_TIMEOUT, field=f"{field}.timeout")
    with mistakes.noted():
        pause = parse_duration(wave.pause, timedelta(0), field=f"{field}.pause")
    mistakes.refuse()
    return WaveSpec(name=wave.name, selector=selector, timeout=timeout, pause=pause)


def owner_of(
    environments: Sequence[EnvironmentSpec], labels: Mapping[str, str], annotations: Mapping[str, str]
) -> EnvironmentSpec | None:
    """Find the Environment that has an object: the oldest of those that take it. The others say Conflict."""
    return first_of(by_age(environments), labels, annotations)


def by_age(environments: Iterable[EnvironmentSpec]) -> list[EnvironmentSpec]:
    """Sort Environments, the oldest first."""
    return sorted(environments, key=lambda one: (one.created, one.uid))


def first_of(
    oldest_first: Iterable[EnvironmentSpec], labels: Mapping[str, str], annotations: Mapping[str, str]
) -> EnvironmentSpec | None:
    """Find the owner among Environments that are sorted already, which matters for many objects."""
    return next((each for each in oldest_first if each.takes(labels, annotations)), None)
