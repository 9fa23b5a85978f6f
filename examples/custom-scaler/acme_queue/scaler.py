"""Scale on the jobs waiting in an Acme queue."""

from typing import Annotated

from pydantic import Field, SecretStr

from keda_py.sdk.scaler import AUTH, ENV, Reading, Scaler, ScalerError, TriggerMetadata, sources


class AcmeQueueMetadata(TriggerMetadata):
    """Keys of `acme-queue`."""

    url: str
    """Address of the Acme server, as in http://acme.shop:8080."""
    queue: str
    """Name of the queue."""
    token: Annotated[SecretStr, sources(AUTH, ENV)] = SecretStr("")
    """Token that proves who asks."""
    queue_length: Annotated[float, Field(gt=0)] = 5.0
    activation_queue_length: Annotated[float, Field(ge=0)] = 0.0


class AcmeQueueScaler(Scaler[AcmeQueueMetadata]):
    """One GET for each reading."""

    @property
    def metric_name(self) -> str:
        """`acme-<queue>`."""
        return f"acme-{self.metadata.queue}"

    @property
    def target(self) -> float:
        """`queueLength`."""
        return self.metadata.queue_length

    @property
    def activation(self) -> float:
        """`activationQueueLength`."""
        return self.metadata.activation_queue_length

    async def read(self, spec: object = None) -> Reading:
        """The jobs that wait now."""
        address = f"{self.metadata.url.rstrip('/')}/queues/{self.metadata.queue}"
        headers = {"Authorization": f"Bearer {self.metadata.token.get_secret_value()}"}
        answer = await self.context.http.get(address, headers=headers)
        waiting = answer.json().get("waiting") if answer.status_code == 200 else None
        if not isinstance(waiting, int):
            raise ScalerError(f"acme: no count of waiting jobs from {address} (status {answer.status_code})")
        return Reading(value=float(waiting))
