"""One version of a ScaledObject, ready to be replayed: its spec, its metrics, and the HPA that it would own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.core.hpa.controller import HpaSpec
from keda_py.core.hpa.manifest import build_hpa
from keda_py.core.hpa.metrics import MetricTarget
from keda_py.core.hpa.wire import read_spec, read_target
from keda_py.core.metric_names import MetricSet
from keda_py.core.spec import ScalingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HpaMetric:
    """One metric of the HPA: what it is called, what it should be, and of which container."""

    external: bool
    name: str
    target: MetricTarget
    container: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`activations` run parallel to `metrics.external`: a value above activates.

    `native`: an HPA that no ScaledObject owns. It alone scales, and nothing looks at it.
    """

    spec: ScalingSpec
    metrics: MetricSet
    activations: tuple[float, ...]
    hpa: HpaSpec
    hpa_metrics: tuple[HpaMetric, ...]
    native: bool = False


def subject_of(spec: ScalingSpec, metrics: MetricSet, activations: Iterable[float]) -> Subject:
    """Build the HPA that the operator would make, and read it as its controller would. Raises ConfigError."""
    manifest = build_hpa(spec, metrics)
    return Subject(
        spec=spec,
        metrics=metrics,
        activations=tuple(activations),
        hpa=read_spec(manifest),
        hpa_metrics=tuple(_hpa_metrics(manifest["spec"]["metrics"])),
    )


def _hpa_metrics(written: Iterable[Mapping[str, Any]]) -> Iterable[HpaMetric]:
    for metric in written:
        external = metric["type"] == "External"
        source = metric["external"] if external else metric.get("resource") or metric["containerResource"]
        yield HpaMetric(
            external=external,
            name=source["metric"]["name"] if external else source["name"],
            target=read_target(source["target"]),
            container=source.get("container", ""),
        )
