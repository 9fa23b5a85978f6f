"""Scale on the tasks in a queue of Google Cloud Tasks, as Cloud Monitoring counts them each minute."""

from typing import Annotated

from keda_py.sdk.advanced import ScalerContext, named
from keda_py.sdk.scaler import Activation, Reading, Scaler, Target
from scalers.shared.gcp import GcpAuthMetadata, required_gcp_identity
from scalers.shared.google.monitoring import CloudMonitoring, reading

_MINUTES = 2


class GcpCloudtasksMetadata(GcpAuthMetadata):
    """Keys of `gcp-cloudtasks`."""

    value: Annotated[float, Target()] = 100.0
    activation_value: Annotated[float, Activation()] = 0.0
    filter_duration: int = 0
    queue_name: str
    project_id: Annotated[str, named("projectID")]


class GcpCloudtasksScaler(Scaler[GcpCloudtasksMetadata]):
    """The depth of one queue."""

    metric_name = "gcp-ct-{queue_name}"
    _monitoring: CloudMonitoring

    def __init__(self, metadata: GcpCloudtasksMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        required_gcp_identity(metadata, context.pod_identity)
        queue = metadata.queue_name.replace("\\", "\\\\").replace('"', '\\"')
        depth = 'metric.type="cloudtasks.googleapis.com/queue/depth"'
        self._filter = f'{depth} AND resource.labels.queue_id="{queue}"'

    async def open(self) -> None:
        """Share the tokens of this identity."""
        self._monitoring = await CloudMonitoring.open(self.context, self.metadata)

    async def read(self) -> Reading:
        """The depth now; a queue that is not counted is an error."""
        minutes = self.metadata.filter_duration if self.metadata.filter_duration > 0 else _MINUTES
        value = await self._monitoring.newest(self.metadata.project_id, self._filter, minutes)
        return reading(value, None, f"filter {self._filter}")
