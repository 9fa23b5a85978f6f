"""Common part of `cpu` and `memory`: a target that goes into the HPA as it is. Nothing is ever read."""

from typing import Annotated, ClassVar, Literal

from keda_py.core.values.quantity import parse_milli
from keda_py.sdk.advanced import ResourceMetric, ScalerContext, removed
from keda_py.sdk.metadata.values import parse_int
from keda_py.sdk.scaler import ConfigError, Scaler, TriggerMetadata

_INT32_MAX = 2**31 - 1


class ResourceMetadata(TriggerMetadata):
    """Keys of `cpu` and `memory`."""

    type: Annotated[
        str, removed("The 'type' setting is DEPRECATED and is removed in v2.18 - Use 'metricType' instead.")
    ] = ""
    value: str
    container_name: str = ""


class ResourceScaler(Scaler[ResourceMetadata]):
    """Checks the target; a bad quantity, which makes KEDA panic, is an error here."""

    resource_name: ClassVar[Literal["cpu", "memory"]]

    def __init__(self, metadata: ResourceMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._target_type = _target_type(context.metric_type)
        if self._target_type == "Utilization":
            _check_percentage(metadata.value)
        else:
            parse_milli(metadata.value, field="value")

    @property
    def metric_name(self) -> str:
        """`cpu` or `memory`, the resource itself."""
        return self.resource_name

    async def specs(self) -> tuple[ResourceMetric, ...]:
        """One metric, which the HPA reads from metrics-server."""
        metric = ResourceMetric(
            name=self.resource_name,
            target_type=self._target_type,
            target=self.metadata.value,
            container=self.metadata.container_name,
        )
        return (metric,)


def _target_type(metric_type: str) -> Literal["Utilization", "AverageValue"]:
    match metric_type:
        case "Utilization" | "AverageValue":
            return metric_type
        case _:
            message = f"unknown metric type: {metric_type}, allowed values are 'Utilization' or 'AverageValue'"
            raise ConfigError(message, field="metricType")


def _check_percentage(value: str) -> None:
    try:
        percent = parse_int(value)
    except ValueError:
        message = f'strconv.ParseInt: parsing "{value}": invalid syntax; value: write a whole percentage, such as 60'
        raise ConfigError(message, field="value") from None
    if not 0 < percent <= _INT32_MAX:
        raise ConfigError(f'value: "{value}" is out of range: write a whole percentage, such as 60', field="value")
