"""The members of an Environment and their state, from caches and from the answers in `other_workloads.py`.

A workload under a ScaledObject is a member through it, unless its owner has paused the ScaledObject. In:
`known/caches.py` and the operator's ScaledObjects. Out: `MemberSeen`. Next: `kind.py`, which decides.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from keda_py.apis.foreign import map_at, maps_at, name_of, text_at, texts_at
from keda_py.clock import Clock
from keda_py.core.conditions import CHECK_FAILED
from keda_py.core.environment.decision.observation import OUR_MANAGER, Heir, MemberSeen, Role, is_ready
from keda_py.core.environment.decision.state import EnvironmentState, MemberState, Stage, key_of_workload
from keda_py.core.environment.decision.stored import read_stored
from keda_py.core.environment.overrides import TargetKey
from keda_py.core.environment.spec import MOST_MEMBERS, EnvironmentSpec, by_age, first_of
from keda_py.core.hpa.conditions import ZeroMark
from keda_py.core.values.own_annotations import pause_ends
from keda_py.core.values.times import created_of
from keda_py.kube.resources import CRON_JOBS, DEPLOYMENTS, SCALED_OBJECTS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, Caches, target_key
from keda_py.operator.controller.state import version_of
from keda_py.operator.environments.known.caches import MEMBERS, EnvironmentCaches
from keda_py.operator.environments.known.changes import pause_between
from keda_py.operator.environments.known.further_kinds import COUNT_ERROR
from keda_py.operator.environments.known.native_hpas import NativeHpas
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.known.targets import is_going, paused_by_owner, workload_of
from keda_py.operator.environments.other_workloads import OtherWorkloads, kind_of
from keda_py.operator.environments.state import CountWrite, EnvironmentMemory

_ASLEEP = (Stage.FALLING, Stage.DOWN)


@dataclass(frozen=True, slots=True)
class Count:
    """The count of a workload or CronJob. `value` None: it is not known."""

    value: int | None
    ready_pods: int
    manager: str


_UNKNOWN = Count(None, 0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _CandidateMember:
    """A candidate and its owner; `text` is apiVersion/KIND/NAME for a workload of another kind."""

    key: str
    role: Role
    live: Obj
    text: str
    released: bool
    owned_by: str
    heir: Heir
    inherited: MemberState | None


def key_of(kind: str, live: Obj) -> str:
    """Key of a member: KIND/NAME."""
    return f"{kind}/{name_of(live)}"


class Members:
    """Reads the members of Environments from the caches."""

    def __init__(
        self, caches: EnvironmentCaches, cluster: Caches, owners: Owners, hpas: NativeHpas, clock: Clock
    ) -> None:
        self._caches, self._cluster, self._owners, self._hpas, self._clock = caches, cluster, owners, hpas, clock

    def see(
        self, spec: EnvironmentSpec, state: EnvironmentState, memory: EnvironmentMemory, others: OtherWorkloads
    ) -> Iterator[tuple[MemberSeen, Obj]]:
        """Yield each member with its object, including remembered ones that are no longer selected but still exist."""
        # Asked once for all members: a watch that goes down half-way must not leave one half of them known.
        known_at_all = self._caches.in_contact()
        for found in self._found(spec, state, others):
            key, role, live = found.key, found.role, found.live
            workload = self._workload(live, others) if role is Role.SCALED_OBJECT else live
            known = state.members.get(key)
            count = self._count(workload, role, memory.written.get(key)) if known_at_all else _UNKNOWN
            if not count.manager and known is not None and known.stage is Stage.FALLING:
                # The manager is unknown: most likely it is an HPA that is not deleted yet.
                count = replace(count, manager=OUR_MANAGER)
            targets = [TargetKey(*key.split("/", 1))]
            if workload is not None and workload is not live:
                targets.append(TargetKey(workload["kind"], name_of(workload)))
            asleep = known is not None and known.stage in _ASLEEP
            yield (
                MemberSeen(
                    key=key,
                    role=role,
                    created=created_of(live),
                    count=count.value,
                    ready=_is_ready(live, role, count, asleep=asleep),
                    wave=spec.wave_of(texts_at(live, "metadata", "labels")),
                    manager=count.manager,
                    error=_error_of(live, workload, role, memory.write_errors.get(key, "")),
                    stopping=count.value == 0 and count.ready_pods != 0,
                    triggers_active=role is Role.SCALED_OBJECT and _is_active(live),
                    triggers_unknown=role is Role.SCALED_OBJECT and not _is_known(live),
                    revision=text_at(workload or {}, "revision"),
                    released=found.released,
                    owned_by=found.owned_by,
                    heir=found.heir,
                    inherited=found.inherited,
                    targets=tuple(targets),
                    zero_mark=self._hpas.mark_of(live) if role is Role.WORKLOAD else ZeroMark.NONE,
                    pod_labels=texts_at(workload or {}, "podLabels"),
                    workload=workload_of(live) if role is Role.SCALED_OBJECT else found.text,
                ),
                live,
            )

    def next_resume(self, namespace: str) -> datetime | None:
        """Return when the next ScaledObject's own pause ends: from then on it is a member, and its workload is none."""
        now = self._clock.now()
        ends = (
            pause_ends(texts_at(one, "metadata", "annotations"))
            for one in self._cluster.scaled_objects.objects(namespace)
        )
        return min((at for at in ends if at is not None and at > now), default=None)

    def pause_in(self, namespace: str, took: float) -> float:
        """Seconds between two looks of the namespace that changes cause; the last look computed for `took` seconds."""
        kinds = (*self._caches.members.values(), self._cluster.scaled_objects)
        objects = sum(len(informer.objects(namespace)) for informer in kinds)
        return pause_between(objects, sum(1 for _ in self._owners.within(namespace)), took)

    def _found(
        self, spec: EnvironmentSpec, state: EnvironmentState, others: OtherWorkloads
    ) -> Iterator[_CandidateMember]:
        """Yield the candidates that belong here or are remembered. MOST_MEMBERS bounds new ones, here and elsewhere."""
        neighbours = by_age([*(one for one in self._owners.within(spec.namespace) if one.uid != spec.uid), spec])
        heirs = {key_of_workload(one.workload) for one in state.members.values() if one.workload}
        held = self._owners.holds(spec.namespace, spec.uid)
        fresh = {True: 0, False: 0}
        for key, role, live, text in self._candidates(spec, state.members, others):
            labels, annotations = texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")
            remembered = key in state.members or key in heirs
            named = not text or kind_of(text) in spec.kinds
            taken = named and spec.takes(labels, annotations) and not self._owners.is_own(live)
            if not taken and not remembered:
                continue
            owner = first_of(neighbours, labels, annotations)
            rules = taken and owner is not None and owner.uid == spec.uid
            inherited = self._inherited(spec, held.get(key, ""), key) if rules and key not in state.members else None
            holder = "" if inherited is not None else held.get(key)
            owned_by = "" if remembered else holder or ("" if rules or owner is None else owner.name)
            # Candidates that others own are counted apart, so that many of them leave room for our own.
            fresh[not owned_by] += not remembered
            if remembered or fresh[not owned_by] <= MOST_MEMBERS + 1:
                released = not taken or (remembered and not rules)
                yield _CandidateMember(
                    key=key,
                    role=role,
                    live=live,
                    text=text,
                    released=released,
                    owned_by=owned_by,
                    heir=self._heir(state, None if rules else owner, key) if released else Heir.NONE,
                    inherited=inherited,
                )

    def _inherited(self, spec: EnvironmentSpec, holder: str, key: str) -> MemberState | None:
        """The state in which another Environment put a ScaledObject asleep that now belongs here; None without one."""
        live = self._caches.environments.get(spec.namespace, holder) if holder and _is_scaled_object(key) else None
        member = None if live is None else read_stored(map_at(live, "status")).state.members.get(key)
        return member if member is not None and member.stage in _ASLEEP else None

    def _heir(self, state: EnvironmentState, owner: EnvironmentSpec | None, key: str) -> Heir:
        """Return HAS_IT once the new owner of a sleeping ScaledObject remembers it, AWAITED before, NONE for others."""
        known = state.members.get(key)
        if owner is None or known is None or known.stage not in _ASLEEP or not _is_scaled_object(key):
            return Heir.NONE
        live = self._caches.environments.get(owner.namespace, owner.name)
        return Heir.HAS_IT if key in map_at(live, "status", "members") else Heir.AWAITED

    def _candidates(
        self, spec: EnvironmentSpec, remembered: Container[str], others: OtherWorkloads
    ) -> Iterator[tuple[str, Role, Obj, str]]:
        """Yield key, role and object of each candidate, and apiVersion/KIND/NAME for workloads of another kind."""
        for kind in MEMBERS:
            role = Role.CRON_JOB if kind == CRON_JOBS else Role.WORKLOAD
            for live in self._caches.members[kind.kind].objects(spec.namespace):
                is_scaled = role is Role.WORKLOAD and self._scaled_by_another(kind.api_version, live)
                if not is_scaled and not is_going(live):
                    yield key_of(kind.kind, live), role, live, ""
        for text, live in others.members.items():
            if not self._scaled_by_another(text.rsplit("/", 2)[0], live):
                yield key_of(live["kind"], live), Role.WORKLOAD, live, text
        for live in self._cluster.scaled_objects.objects(spec.namespace):
            key = key_of(SCALED_OBJECTS.kind, live)
            # A ScaledObject that is being deleted rules its workload to the end.
            if not paused_by_owner(live, self._clock.now()) and (key in remembered or not is_going(live)):
                yield key, Role.SCALED_OBJECT, live, ""

    def _scaled_by_another(self, api_version: str, live: Obj) -> bool:
        meta = live["metadata"]
        key = target_key(meta["namespace"], api_version, live["kind"], meta["name"])
        return any(
            not paused_by_owner(one, self._clock.now()) for one in self._cluster.scaled_objects.by_index(BY_TARGET, key)
        )

    def _workload(self, scaled_object: Obj, others: OtherWorkloads) -> Obj | None:
        text = workload_of(scaled_object)
        api_version, kind, name = text.rsplit("/", 2)
        if api_version == DEPLOYMENTS.api_version and kind in self._caches.members:
            return self._caches.members[kind].get(scaled_object["metadata"]["namespace"], name)
        return others.targets.get(text)

    def _count(self, workload: Obj | None, role: Role, written: CountWrite | None) -> Count:
        if workload is None:
            return _UNKNOWN
        # The cache does not show our own write yet. -1: how many pods are ready at that count is not known.
        if written is not None and version_of(workload) < written.version:
            return Count(written.count, -1, OUR_MANAGER)
        if role is Role.CRON_JOB:
            value = 0 if workload["spec"]["suspend"] else 1
            return Count(value, value, workload["manager"])
        value = workload["spec"]["replicas"]
        if value is None:
            return _UNKNOWN
        return Count(value, _ready_pods(workload, value), workload["manager"])


def _is_scaled_object(key: str) -> bool:
    return key.startswith(f"{SCALED_OBJECTS.kind}/")


def _ready_pods(workload: Obj, wanted: int) -> int:
    """Ready pods, or all pods left when 0 are wanted; -1 while the controller has not observed the wanted count."""
    status = workload["status"]
    if status["observedGeneration"] < workload["metadata"].get("generation", 0):
        return -1
    found: int = status["readyReplicas"] if wanted else status["replicas"]
    return found


def _is_ready(live: Obj, role: Role, count: Count, *, asleep: bool) -> bool:
    if count.value is None:
        return False
    if role is Role.SCALED_OBJECT:
        return is_ready(count.value, count.ready_pods, minimum=_minimum(live), asleep=asleep)
    return is_ready(count.value, count.ready_pods)


def _error_of(live: Obj, workload: Obj | None, role: Role, write_error: str) -> str:
    """Why the count cannot be read, or was not written; of a ScaledObject, whose loop writes it, its status says so."""
    unread = text_at(workload or {}, COUNT_ERROR)
    if unread or role is not Role.SCALED_OBJECT:
        return unread or write_error
    failed = (one for one in maps_at(live, "status", "conditions") if one.get("reason") == CHECK_FAILED)
    return next((text_at(one, "message") for one in failed if one.get("status") == "False"), "")


def _minimum(scaled_object: Obj) -> int:
    """The least replicas while awake, even without work."""
    spec = map_at(scaled_object, "spec")
    found = spec.get("idleReplicaCount", spec.get("minReplicaCount"))
    return found if isinstance(found, int) else 0


def _is_active(scaled_object: Obj) -> bool:
    conditions = maps_at(scaled_object, "status", "conditions")
    return any(one.get("type") == "Active" and one.get("status") == "True" for one in conditions)


def _is_known(live: Obj) -> bool:
    """Whether the operator has found out if triggers are active, and reads them without errors."""
    stated = {text_at(one, "type"): text_at(one, "status") for one in maps_at(live, "status", "conditions")}
    return stated.get("Active") in ("True", "False") and stated.get("Ready") != "False"
