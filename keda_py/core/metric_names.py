"""Metrics as scalers state them -> metrics with the names and targets that the HPA shows.

Pure. Behaviour reference, section 4.3: prefix, normalisation, duplicates, metricType.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keda_py.core.composite import Composite, build_composite
from keda_py.core.metric_specs import ExternalMetric, MetricSpec, ResourceMetric
from keda_py.core.spec import TriggersSpec
from keda_py.errors import ConfigError

COMPOSITE_METRIC = "composite-metric"
# Characters. The HPA controller asks with the name in the path of a URL, of which servers read some 8 000 bytes.
LONGEST_NAME = 2_000
_NORMALISED = str.maketrans(dict.fromkeys("/.:%()", "-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMetric:
    """An external metric as served: prefixed name, target (int: plain, float: milli precision), how it is compared."""

    trigger_index: int
    trigger_name: str
    name: str
    target: int | float
    metric_type: Literal["AverageValue", "Value"]
    spec: ExternalMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSet:
    """All metrics of a ScaledObject in the order of its triggers; `composite` stands for the external ones."""

    external: tuple[NamedMetric, ...]
    resource: tuple[ResourceMetric, ...]
    composite: Composite | None = None
    resource_triggers: tuple[int, ...] = ()
    """The trigger index of each resource metric."""

    @property
    def external_names(self) -> tuple[str, ...]:
        """The list for `status.externalMetricNames`."""
        return tuple(metric.name for metric in self.external)

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The list for `status.resourceMetricNames`: a ContainerResource metric is recorded in neither list."""
        return tuple(metric.name for metric in self.resource if not metric.container)


def normalise(name: str) -> str:
    """Replace each of `/ . : % ( )` by `-`; a space stays, as in KEDA."""
    return name.translate(_NORMALISED)


def name_metrics(spec: TriggersSpec, per_trigger: Sequence[Sequence[MetricSpec]]) -> MetricSet:
    """Prefix and check all metrics; `per_trigger` runs parallel to `spec.triggers`. Raises ConfigError."""
    external: list[NamedMetric] = []
    resource: list[ResourceMetric] = []
    resource_triggers: list[int] = []
    for index, metrics in enumerate(per_trigger):
        for metric in metrics:
            match metric:
                case ResourceMetric():
                    resource.append(metric)
                    resource_triggers.append(index)
                case ExternalMetric():
                    external.append(_name_external(spec, index, metric))
    if not external and not resource:
        raise ConfigError(f"no metric specs returned from scalers for {spec.kind} {spec.namespace}/{spec.name}")
    names = [metric.name for metric in external]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"metricName {name} defined multiple times in {spec.kind} {spec.name}")
    return MetricSet(
        external=tuple(external),
        resource=tuple(resource),
        composite=build_composite(spec),
        resource_triggers=tuple(resource_triggers),
    )


def restate_metrics(
    spec: TriggersSpec, known: MetricSet, trigger_index: int, metrics: Sequence[MetricSpec]
) -> MetricSet:
    """Name the metrics anew where one trigger has others than before. Raises ConfigError."""
    per_trigger: list[list[MetricSpec]] = [[] for _ in spec.triggers]
    for metric in known.external:
        per_trigger[metric.trigger_index].append(metric.spec)
    for resource, index in zip(known.resource, known.resource_triggers, strict=True):
        per_trigger[index].append(resource)
    per_trigger[trigger_index] = list(metrics)
    return name_metrics(spec, per_trigger)


def _name_external(spec: TriggersSpec, index: int, metric: ExternalMetric) -> NamedMetric:
    trigger = spec.triggers[index]
    if len(metric.name) > LONGEST_NAME:
        written = (
            f"its metric's name has {len(metric.name)} characters; {LONGEST_NAME} fit into the URL by which an HPA asks"
        )
        raise ConfigError(f"{written}: shorten what it is made of", field=f"spec.triggers[{index}]")
    return NamedMetric(
        trigger_index=index,
        trigger_name=trigger.name,
        name=metric.name if metric.verbatim else f"s{index}-{normalise(metric.name)}",
        target=metric.target,
        metric_type=metric.metric_type or _external_type(trigger.metric_type, f"spec.triggers[{index}].metricType"),
        spec=metric,
    )


def _external_type(written: str, field: str) -> Literal["AverageValue", "Value"]:
    match written:
        case "" | "AverageValue":
            return "AverageValue"
        case "Value":
            return "Value"
        case _:
            message = (
                f"error getting scaler metric type: '{written}' metric type is unsupported for external metrics, "
                "allowed values are 'Value' or 'AverageValue'"
            )
            raise ConfigError(message, field=field)
