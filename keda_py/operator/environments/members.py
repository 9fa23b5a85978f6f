"""Who the members of an environment are, and how they are now: from caches alone, nothing is asked of the API server.

A workload under a ScaledObject is a member through it, unless its owner has paused that. In: `known/caches.py` and the
operator's ScaledObjects. Out: `MemberSeen`. Next: `kind.py`, which decides.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from keda_py.apis.foreign import map_at, maps_at, name_of, text_at, texts_at
from keda_py.core.environment.decision.seen import OUR_MANAGER, MemberSeen, Role, is_ready
from keda_py.core.environment.decision.state import EnvironmentState, Stage, key_of_workload
from keda_py.core.environment.overrides import Target
from keda_py.core.environment.spec import EnvironmentSpec, owner_of
from keda_py.core.environment.times import parse_time
from keda_py.core.spec import PAUSED, PAUSED_REPLICAS, parse_bool_annotation
from keda_py.errors import ConfigError
from keda_py.kube.resources import CRON_JOBS, SCALED_OBJECTS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, Caches, target_key
from keda_py.operator.controller.state import version_of
from keda_py.operator.environments.known.caches import MEMBERS, EnvironmentCaches
from keda_py.operator.environments.known.owners import Owners
from keda_py.operator.environments.state import Written

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_ASLEEP = (Stage.FALLING, Stage.DOWN)


@dataclass(frozen=True, slots=True)
class Count:
    """Of a workload or CronJob. `value` None: it is not known."""

    value: int | None
    ready_pods: int
    manager: str


def key_of(kind: str, live: Obj) -> str:
    """KIND/NAME."""
    return f"{kind}/{name_of(live)}"


class Members:
    """Sees the members of environments."""

    def __init__(self, caches: EnvironmentCaches, cluster: Caches, owners: Owners) -> None:
        self._caches, self._cluster, self._owners = caches, cluster, owners

    def see(
        self, spec: EnvironmentSpec, state: EnvironmentState, written: Mapping[str, Written]
    ) -> Iterator[tuple[MemberSeen, Obj]]:
        """Each member with its object; also those that are remembered and still there."""
        neighbours = [*(one for one in self._owners.within(spec.namespace) if one.uid != spec.uid), spec]
        heirs = {key_of_workload(one.workload) for one in state.members.values() if one.workload}
        for key, role, live in self._candidates(spec.namespace, state.members):
            labels, annotations = texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")
            remembered = key in state.members or key in heirs
            taken = spec.takes(labels, annotations)
            if not taken and not remembered:
                continue
            owner = owner_of(neighbours, labels, annotations) if taken else None
            asleep = key in state.members and state.members[key].stage in _ASLEEP
            count = self._count(live, role, written.get(key))
            targets = tuple(Target(*one.split("/", 1)) for one in self._names(key, role, live))
            yield (
                MemberSeen(
                    key=key,
                    role=role,
                    created=_created(live),
                    count=count.value,
                    ready=_is_ready(live, role, count, asleep=asleep),
                    wave=spec.wave_of(labels),
                    manager=count.manager,
                    triggers_active=role is Role.SCALED_OBJECT and _is_active(live),
                    released=not taken,
                    owned_by=owner.name if owner is not None and owner.uid != spec.uid else "",
                    targets=targets,
                    workload=workload_of(live) if role is Role.SCALED_OBJECT else "",
                ),
                live,
            )

    def _candidates(self, namespace: str, known: Container[str]) -> Iterator[tuple[str, Role, Obj]]:
        for kind in MEMBERS:
            role = Role.CRON_JOB if kind == CRON_JOBS else Role.WORKLOAD
            for live in self._caches.members[kind.kind].objects(namespace):
                is_scaled = role is Role.WORKLOAD and self._scaled_by_another(kind.api_version, live)
                if not is_scaled and not _is_going(live):
                    yield key_of(kind.kind, live), role, live
        for live in self._cluster.scaled_objects.objects(namespace):
            # One that is being deleted has its workload to the end.
            if not paused_by_owner(live) and (key_of(SCALED_OBJECTS.kind, live) in known or not _is_going(live)):
                yield key_of(SCALED_OBJECTS.kind, live), Role.SCALED_OBJECT, live

    def _scaled_by_another(self, api_version: str, live: Obj) -> bool:
        meta = live["metadata"]
        key = target_key(meta["namespace"], api_version, live["kind"], meta["name"])
        return any(not paused_by_owner(one) for one in self._cluster.scaled_objects.by_index(BY_TARGET, key))

    def _workload(self, scaled_object: Obj) -> Obj | None:
        reference = map_at(scaled_object, "spec", "scaleTargetRef")
        informer = self._caches.members.get(text_at(reference, "kind") or "Deployment")
        namespace = scaled_object["metadata"]["namespace"]
        return informer.get(namespace, text_at(reference, "name")) if informer is not None else None

    def _names(self, key: str, role: Role, live: Obj) -> Iterator[str]:
        yield key
        if role is Role.SCALED_OBJECT and (workload := self._workload(live)) is not None:
            yield key_of(workload["kind"], workload)

    def _count(self, live: Obj, role: Role, written: Written | None) -> Count:
        if not self._caches.known():
            return Count(None, 0, "")
        workload = self._workload(live) if role is Role.SCALED_OBJECT else live
        if workload is None:
            return Count(None, 0, "")
        if written is not None and version_of(workload) < written.version:
            return Count(written.count, -1, OUR_MANAGER)
        if role is Role.CRON_JOB:
            value = 0 if workload["spec"]["suspend"] else 1
            return Count(value, value, workload["manager"])
        value = workload["spec"]["replicas"]
        return Count(value, _ready_pods(workload, value), workload["manager"])


def _is_going(live: Obj) -> bool:
    return bool(live["metadata"].get("deletionTimestamp"))


def workload_of(scaled_object: Obj) -> str:
    """apiVersion/KIND/NAME."""
    reference = map_at(scaled_object, "spec", "scaleTargetRef")
    api_version, kind = text_at(reference, "apiVersion") or "apps/v1", text_at(reference, "kind") or "Deployment"
    return f"{api_version}/{kind}/{text_at(reference, 'name')}"


def _ready_pods(workload: Obj, wanted: int) -> int:
    """As many as are left where none is wanted; -1 while its controller has not seen the count that is wanted."""
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


def _minimum(scaled_object: Obj) -> int:
    """How many it has at least when it is awake, even without work."""
    spec = map_at(scaled_object, "spec")
    found = spec.get("idleReplicaCount", spec.get("minReplicaCount"))
    return found if isinstance(found, int) else 0


def _is_active(scaled_object: Obj) -> bool:
    conditions = maps_at(scaled_object, "status", "conditions")
    return any(one.get("type") == "Active" and one.get("status") == "True" for one in conditions)


def paused_by_owner(scaled_object: Obj) -> bool:
    """Whether its own annotations stop it."""
    annotations = texts_at(scaled_object, "metadata", "annotations")
    return PAUSED_REPLICAS in annotations or parse_bool_annotation(annotations, PAUSED)


def _created(live: Obj) -> datetime:
    try:
        return parse_time(text_at(live, "metadata", "creationTimestamp"), field="metadata.creationTimestamp")
    except ConfigError:
        return _LONG_AGO
