"""The workloads of one Environment of kinds other than Deployment and StatefulSet, asked for before each look.

These are workloads of `spec.kinds`, targets of its ScaledObjects, and workloads whose count is remembered though they
are neither any more. In: `known/further_kinds.py`. Next: `members.py`, which reads them beside the usual ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from keda_py.apis.foreign import texts_at
from keda_py.core.environment.decision.state import EnvironmentState, Stage
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.kube.resources import DEPLOYMENTS, STATEFUL_SETS, Obj
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.environments.known.further_kinds import CountQuery, FurtherKinds, Kind
from keda_py.operator.environments.known.targets import is_going, workload_of

_USUAL = tuple((resource.api_version, resource.kind) for resource in (DEPLOYMENTS, STATEFUL_SETS))
_MOVING = (Stage.FALLING, Stage.RISING, Stage.PINNED)


@dataclass(frozen=True, slots=True)
class OtherWorkloads:
    """`members` are candidates by apiVersion/KIND/NAME; `targets` are those of ScaledObjects, None: does not exist.

    `error` says why some of `spec.kinds` are not seen. `unwatched`: some counts are only known by asking again.
    """

    members: Mapping[str, Obj] = field(default_factory=dict)
    targets: Mapping[str, Obj | None] = field(default_factory=dict)
    error: str = ""
    unwatched: bool = False


async def find_others(
    further: FurtherKinds, cluster: Caches, spec: EnvironmentSpec, state: EnvironmentState
) -> OtherWorkloads:
    """Read the counts of all further workloads that are not known yet."""
    error = await further.prepare(spec.uid, spec.namespace, spec.kinds)
    watched = {_text(one): one for one in further.watched(spec.kinds, spec.namespace)}
    targets = {text: _query_of(text, spec.namespace) for text in _targets(cluster, spec, state)}
    remembered = {
        member.workload: _query_of(member.workload, spec.namespace)
        for member in state.members.values()
        if member.workload and kind_of(member.workload) not in _USUAL
    }
    asked = {**remembered, **targets, **watched}
    await further.read(asked.values(), soon=is_moving(state))
    bodies = {text: further.workload(one) for text, one in asked.items()}
    # A ScaledObject's labels are known, whatever may be listed of its target.
    for text in remembered.keys() - watched.keys() - targets.keys():
        if (body := bodies[text]) is not None and kind_of(text) in spec.kinds:
            # It is not listed, so its labels are unknown too: a count of None leaves it alone.
            body["spec"]["replicas"] = None
    return OtherWorkloads(
        members={
            text: body
            for text, body in bodies.items()
            if body is not None and (text in watched or text in remembered) and not is_going(body)
        },
        targets={text: bodies[text] for text in targets},
        error=error,
        unwatched=len(asked) > len(watched),
    )


def is_moving(state: EnvironmentState) -> bool:
    """Whether counts are being changed."""
    return state.transition is not None or any(member.stage in _MOVING for member in state.members.values())


def _targets(cluster: Caches, spec: EnvironmentSpec, state: EnvironmentState) -> Iterator[str]:
    """Targets of the Environment's ScaledObjects."""
    for live in cluster.scaled_objects.objects(spec.namespace):
        workload = workload_of(live)
        if kind_of(workload) in _USUAL or workload.endswith("/"):
            continue
        labels, annotations = texts_at(live, "metadata", "labels"), texts_at(live, "metadata", "annotations")
        if f"ScaledObject/{live['metadata']['name']}" in state.members or spec.takes(labels, annotations):
            yield workload


def kind_of(workload: str) -> Kind:
    """Return apiVersion and kind of a workload that is written as a path."""
    api_version, kind, _ = workload.rsplit("/", 2)
    return api_version, kind


def _query_of(workload: str, namespace: str) -> CountQuery:
    return CountQuery(kind_of(workload), namespace, workload.rpartition("/")[2])


def _text(one: CountQuery) -> str:
    return "/".join((*one.kind, one.name))
