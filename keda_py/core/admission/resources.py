"""cpu and memory triggers: an HPA divides usage by requests, so the containers need requests.

Pure. As in KEDA only Deployments and StatefulSets are checked. A target that does not exist yet is a warning, where
KEDA denies: ScaledObject and Deployment come in one release, in any order.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from keda_py.core.admission import codes
from keda_py.core.admission.findings import AdmissionWarning, Denial, Finding, Neighbourhood
from keda_py.core.spec import RESOURCE_TRIGGERS, ScalingSpec, TargetSpec
from keda_py.core.values.quantity import parse_milli
from keda_py.errors import ConfigError

if TYPE_CHECKING:
    from keda_py.apis.workloads import Amounts, Container, LimitRange, LimitRangeItem

_KINDS = ("apps/v1.Deployment", "apps/v1.StatefulSet")


def reads_containers(spec: ScalingSpec) -> bool:
    """Whether the check needs to know the containers of the scale target."""
    return spec.target.kind_name in _KINDS and any(trigger.type in RESOURCE_TRIGGERS for trigger in spec.triggers)


def check_requests(spec: ScalingSpec, around: Neighbourhood) -> Iterator[Finding]:
    """Check that each measured container has a request, limit or LimitRange default, and the minimum is above 0."""
    if not reads_containers(spec):
        return
    if around.containers is None:
        yield _unchecked(spec.target, around.absent)
    elif around.limit_ranges is not None:
        yield from _check_containers(spec, around.containers, around.limit_ranges)
    if spec.resource_only and not spec.declared_min:
        yield Denial(
            message="scaledobject has only cpu/memory triggers AND minReplica is 0 "
            "(scale to zero doesn't work in this case)",
            reason="scale-to-zero-requirements-not-met",
            field="spec.minReplicaCount",
        )


def _check_containers(
    spec: ScalingSpec, containers: "Sequence[Container]", limits: "Sequence[LimitRange]"
) -> Iterator[Denial]:
    for index, trigger in enumerate(spec.triggers):
        resource = trigger.type
        if resource not in RESOURCE_TRIGGERS or _has_default(limits, resource):
            continue
        only = trigger.metadata.get("containerName", "")
        for container in containers:
            if only in ("", container.name) and not _is_set(container, resource):
                yield Denial(
                    message=f"the scaledobject has a {resource} trigger but the container {container.name} "
                    f"doesn't have the {resource} request defined",
                    reason="missing-requests",
                    field=f"spec.triggers[{index}].type",
                )


def _unchecked(target: TargetSpec, absent: str) -> AdmissionWarning:
    return AdmissionWarning(
        message=f"{target.kind_name} '{target.name}' {absent}: its containers need cpu or memory requests "
        "for the cpu or memory triggers to work",
        field="spec.scaleTargetRef.name",
        code=codes.TARGET_ELSEWHERE,
    )


def _is_set(container: "Container", resource: str) -> bool:
    own = container.resources
    return own is not None and (_positive(own.requests, resource) or _positive(own.limits, resource))


def _has_default(limit_ranges: "Sequence[LimitRange]", resource: str) -> bool:
    items = (item for limit_range in limit_ranges for item in limit_range.spec.limits)
    return any(_gives(item, resource) for item in items if item.type == "Container")


def _gives(item: "LimitRangeItem", resource: str) -> bool:
    return _positive(item.default_request, resource) or _positive(item.default, resource)


def _positive(amounts: "Amounts | None", resource: str) -> bool:
    try:
        return amounts is not None and resource in amounts and parse_milli(amounts[resource]) > 0
    except ConfigError:  # a text that is no quantity is no request either; the API server refuses it
        return False
