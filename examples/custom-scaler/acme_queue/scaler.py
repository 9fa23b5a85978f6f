"""Scale on the jobs waiting in an Acme queue."""

from typing import Annotated

from pydantic import SecretStr

from keda_py.core.values.urls import path_segment
from keda_py.sdk.scaler import AUTH, ENV, Activation, Reading, Scaler, ScalerError, Target, TriggerMetadata, sources


class AcmeQueueMetadata(TriggerMetadata):
    """Keys of `acme-queue`."""

    url: str
    """Address of the Acme server, as in http://acme.shop:8080."""
    queue: str
    """Name of the queue."""
    token: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")
    """Token that proves who asks."""
    queue_length: Annotated[float, Target()] = 5.0
    activation_queue_length: Annotated[float, Activation()] = 0.0


class AcmeQueueScaler(Scaler[AcmeQueueMetadata]):
    """One GET for each reading."""

    metric_name = "acme-{queue}"

    async def read(self) -> Reading:
        """Ask for the jobs that wait now."""
        address = f"{self.metadata.url.rstrip('/')}/queues/{path_segment('queue', self.metadata.queue)}"
        headers = {"Authorization": f"Bearer {self.metadata.token.get_secret_value()}"}
        waiting = await self.context.get_json(address, "waiting", headers=headers)
        if not isinstance(waiting, int):
            raise ScalerError(f"acme queue {self.metadata.queue}: waiting is not a count")
        return Reading(value=float(waiting))
