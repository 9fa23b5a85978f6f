"""Other controllers that scale members: HPAs beside ours, and controllers that own the workload."""

from collections.abc import Iterator, Sequence

from keda_py.apis.foreign import map_at, maps_at, namespace_of, text_at
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.doctor.diagnosis import Diagnosis, diagnose
from keda_py.doctor.members import Member, by_key
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, Obj
from keda_py.migration.installation import Installation
from keda_py.migration.native_hpas import is_native

EXCLUDED = {"metadata": {"annotations": {EXCLUDE: "true"}}}
"""Lines that leave a workload out of its Environment."""


def check_hpas(installation: Installation, members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check the HPAs that no ScaledObject owns."""
    known = by_key(members)
    for hpa in installation.of(HORIZONTAL_POD_AUTOSCALERS):
        target = map_at(hpa, "spec", "scaleTargetRef")
        member = known.get((text_at(target, "kind"), namespace_of(hpa), text_at(target, "name")))
        if member is not None and is_native(hpa):
            yield from _check_hpa(hpa, member)


def _check_hpa(hpa: Obj, member: Member) -> Iterator[Diagnosis]:
    if member.scaled_object:
        message = f"scales the workload of ScaledObject {member.scaled_object}, which has an HPA of its own"
        remedy = f"kubectl delete hpa {text_at(hpa, 'metadata', 'name')} -n {member.namespace}, or the ScaledObject"
        yield diagnose(hpa, message, [member], remedy=remedy)
    elif map_at(hpa, "spec").get("minReplicas") == 0:
        message = "goes to zero and comes back by itself (minReplicas 0), also while the Environment is asleep"
        yield diagnose(hpa, message, [member], lines={"spec": {"minReplicas": 1}})


def check_owners(members: Sequence[Member]) -> Iterator[Diagnosis]:
    """Check members that another controller owns, or that were put back until the Environment gave in."""
    for member in members:
        owner = _controller(member.live)
        if owner is not None:
            title = f"{text_at(owner, 'kind')} {member.namespace}/{text_at(owner, 'name')}"
            message = f"is owned by the controller of {title}, which may set its count again"
            remedy = f"set the count in {title} instead, or leave the workload out with these lines"
            yield diagnose(member.live, message, [member], lines=EXCLUDED, remedy=remedy)
        if text_at(member.remembered, "stage") == "Contested":
            by = text_at(member.remembered, "by") or "another client"
            message = f"{by} put its count back {member.remembered.get('putBacks', 2)} times, so it stays awake"
            remedy = f"let {by} ignore {member.pointer}, or leave the workload out with these lines"
            yield diagnose(member.live, message, [member], lines=EXCLUDED, remedy=remedy)


def _controller(live: Obj) -> Obj | None:
    owners = maps_at(live, "metadata", "ownerReferences")
    return next((owner for owner in owners if owner.get("controller") is True), None)
