"""Scale on the tasks in a queue of Google Cloud Tasks, as Cloud Monitoring counts them each minute."""

from typing import Annotated

from keda_py.sdk.scaler import Reading, Scaler, ScalerContext, named
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.google.monitoring import CloudMonitoring, reading
from scalers.shared.target import check_target

_MINUTES = 2


class GcpCloudtasksMetadata(GcpAuthMetadata):
    """Keys of `gcp-cloudtasks`."""

    value: float = 100.0
    activation_value: float = 0.0
    filter_duration: int = 0
    queue_name: str
    project_id: Annotated[str, named("projectID")]


class GcpCloudtasksScaler(Scaler[GcpCloudtasksMetadata]):
    """The depth of one queue."""

    _monitoring: CloudMonitoring

    def __init__(self, metadata: GcpCloudtasksMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(metadata.value, "value", context)
        required_gcp_identity(metadata, context.pod_identity)
        queue = metadata.queue_name.replace("\\", "\\\\").replace('"', '\\"')
        depth = 'metric.type="cloudtasks.googleapis.com/queue/depth"'
        self._filter = f'{depth} AND resource.labels.queue_id="{queue}"'

    @property
    def metric_name(self) -> str:
        """`gcp-ct-<queueName>`."""
        return f"gcp-ct-{self.metadata.queue_name}"

    @property
    def target(self) -> float:
        """`value`."""
        return self.metadata.value

    @property
    def activation(self) -> float:
        """`activationValue`."""
        return self.metadata.activation_value

    async def open(self) -> None:
        """Share the tokens of this identity."""
        self._monitoring = await CloudMonitoring.open(self.context, self.metadata)

    async def read(self, spec: object = None) -> Reading:
        """The depth now; a queue that is not counted is an error."""
        minutes = self.metadata.filter_duration if self.metadata.filter_duration > 0 else _MINUTES
        value = await self._monitoring.newest(self.metadata.project_id, self._filter, minutes)
        return reading(value, None, f"filter {self._filter}")
