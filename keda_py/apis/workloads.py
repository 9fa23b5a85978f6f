"""Kubernetes' own objects as far as admission reads them: HPAs and their targets, and requests of containers.

No CRDs are generated from these; they have only the fields that `core/admission/findings.py` uses.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.wire import ObjectMeta, Wire

Amounts = dict[str, Annotated[int | float | str, Field(union_mode="left_to_right")]]
"""Quantities by resource, as written: `{"cpu": "100m"}`."""


class Resources(Wire):
    """Requests and limits of a container."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class Container(Wire):
    """Container with its resources."""

    name: str = ""
    resources: Resources | None = None


class PodSpec(Wire):
    """Containers of a pod; init containers do not count for an HPA."""

    containers: list[Container] = []


class PodTemplate(Wire):
    """Template of a workload's pods."""

    spec: PodSpec = PodSpec()


class WorkloadSpec(Wire):
    """Part of the spec that all workloads share."""

    template: PodTemplate = PodTemplate()


class Workload(Wire):
    """Deployment or StatefulSet."""

    metadata: ObjectMeta
    spec: WorkloadSpec


class LimitRangeItem(Wire):
    """Default requests and limits of containers without their own."""

    type: str = ""
    default: Amounts | None = None
    default_request: Amounts | None = None


class LimitRangeSpec(Wire):
    """Items, one for each type of limited object."""

    limits: list[LimitRangeItem] = []


class LimitRange(Wire):
    """Defaults and bounds of a namespace."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()


class OwnerReference(Wire):
    """Reference to the owner of an object."""

    kind: str
    name: str


class OwnedMeta(ObjectMeta):
    """Metadata with owners."""

    owner_references: list[OwnerReference] = []


class CrossVersionObjectReference(Wire):
    """Reference to the object that an HPA scales."""

    api_version: str = ""
    kind: str = ""
    name: str


class AutoscalerSpec(Wire):
    """Spec of an HPA, reduced to its target."""

    scale_target_ref: CrossVersionObjectReference


class HorizontalPodAutoscaler(Wire):
    """HPA, ours or another client's."""

    metadata: OwnedMeta
    spec: AutoscalerSpec
