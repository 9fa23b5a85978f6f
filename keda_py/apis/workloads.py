"""Kubernetes' own objects, as far as admission reads them: who scales what, and what containers request.

Not ours, so no CRD comes of them; only the fields that `core/admission/findings.py` asks for are there.
"""

from typing import Annotated

from pydantic import Field

from keda_py.apis.wire import ObjectMeta, Wire

Amounts = dict[str, Annotated[int | float | str, Field(union_mode="left_to_right")]]
"""Quantities by resource, as written: `{"cpu": "100m"}`."""


class Resources(Wire):
    """What a container asks for, and what it may use at most."""

    requests: Amounts | None = None
    limits: Amounts | None = None


class Container(Wire):
    """One container of a pod."""

    name: str = ""
    resources: Resources | None = None


class PodSpec(Wire):
    """The containers of a pod; init containers do not count for an HPA."""

    containers: list[Container] = []


class PodTemplate(Wire):
    """What a workload makes its pods of."""

    spec: PodSpec = PodSpec()


class WorkloadSpec(Wire):
    """The part that all workloads share."""

    template: PodTemplate = PodTemplate()


class Workload(Wire):
    """A Deployment or StatefulSet."""

    metadata: ObjectMeta
    spec: WorkloadSpec


class LimitRangeItem(Wire):
    """What containers get that ask for nothing."""

    type: str = ""
    default: Amounts | None = None
    default_request: Amounts | None = None


class LimitRangeSpec(Wire):
    """One item for each type of thing that is limited."""

    limits: list[LimitRangeItem] = []


class LimitRange(Wire):
    """Defaults and bounds of a namespace."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()


class OwnerReference(Wire):
    """Who made it."""

    kind: str
    name: str


class OwnedMeta(ObjectMeta):
    """Metadata with owners."""

    owner_references: list[OwnerReference] = []


class CrossVersionObjectReference(Wire):
    """What an HPA scales."""

    api_version: str = ""
    kind: str = ""
    name: str


class AutoscalerSpec(Wire):
    """The target alone."""

    scale_target_ref: CrossVersionObjectReference


class HorizontalPodAutoscaler(Wire):
    """An HPA, made by us or by another client."""

    metadata: OwnedMeta
    spec: AutoscalerSpec
