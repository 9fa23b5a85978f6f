"""What the webhook process asks the operator about an object, and what it makes of the answer.

Pure. The operator's side is `../related_objects.py`; both speak plain JSON, so the answer is made into models here, off
the operator's loop.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from keda_py.apis.parsing import parse_object
from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange
from keda_py.core.admission.findings import Neighbourhood, Rival
from keda_py.core.admission.resources import reads_containers
from keda_py.core.spec import ScalingSpec, TargetSpec
from keda_py.errors import ConfigError
from keda_py.kube.resources import Obj

M = TypeVar("M", bound=BaseModel)


def question(spec: ScalingSpec) -> Obj:
    """What to tell about: what shares the target or the HPA's name, and the target's containers if they are read."""
    target = spec.target
    return {
        "namespace": spec.namespace,
        "apiVersion": target.api_version,
        "kind": target.kind,
        "name": target.name,
        "hpa": spec.hpa_name,
        "containers": reads_containers(spec),
    }


def read_neighbourhood(answer: Obj) -> Neighbourhood:
    """The neighbours; one made by another client that cannot be read must not decide over ours."""
    containers, limit_ranges = answer["containers"], answer["limitRanges"]
    return Neighbourhood(
        rivals=tuple(_rivals(answer["rivals"])),
        hpas=_parsed(HorizontalPodAutoscaler, answer["hpas"]),
        limit_ranges=None if limit_ranges is None else _parsed(LimitRange, limit_ranges),
        containers=None if containers is None else _parsed(Container, containers),
    )


def _rivals(told: Sequence[Obj]) -> Iterator[Rival]:
    for one in told:
        target = TargetSpec(
            name=one["target"],
            api_version=one["apiVersion"] or "apps/v1",
            kind=one["kind"] or "Deployment",
            container="",
        )
        yield Rival(name=one["name"], target=target, hpa_name=one["hpa"])


def _parsed(model: type[M], bodies: Sequence[Any]) -> tuple[M, ...]:
    found = []
    for one in bodies:
        try:
            found.append(parse_object(model, one))
        except ConfigError:
            continue
    return tuple(found)
