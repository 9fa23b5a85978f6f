"""Scale on the lag of a consumer group of liiklus: the ends of a topic's partitions, less what is acknowledged."""

from typing import Annotated, Final

from pydantic import Field

from keda_py.sdk.advanced import deprecated
from keda_py.sdk.scaler import Activation, ConfigError, Reading, Scaler, Target, TriggerMetadata
from scalers.shared.brokers.liiklus_offsets import INLINE_BYTES, offsets_in, request
from scalers.shared.grpc.connection import GrpcConnection, GrpcServer, connect, host_and_port

_UNMAINTAINED: Final = (
    "Liiklus is no longer maintained, and KEDA removes this trigger type in 2.24: use kafka, or the type of the broker "
    "behind Liiklus"
)
_SERVICE: Final = "/com.github.bsideup.liiklus.LiiklusService/"


class LiiklusMetadata(TriggerMetadata):
    """Keys of `liiklus`."""

    lag_threshold: Annotated[int, Target()] = 10
    activation_lag_threshold: Annotated[int, Activation()] = 0
    address: Annotated[str, deprecated(_UNMAINTAINED)]
    topic: str
    group: str
    group_version: Annotated[int, Field(ge=0, lt=2**32)] = 0


class LiiklusScaler(Scaler[LiiklusMetadata]):
    """Two gRPC calls for each reading, over one connection for all triggers of a server."""

    metric_name = "liiklus-{topic}"
    _connection: GrpcConnection

    @property
    def cautions(self) -> tuple[str, ...]:
        """As in KEDA, any text is taken as an address; a wrong one is refused when the scaler opens."""
        try:
            host_and_port(self.metadata.address, "address")
        except ConfigError as error:
            return (str(error),)
        return ()

    async def open(self) -> None:
        """Share the connection to this server, which is made with the first call. Raises ConfigError."""
        address = host_and_port(self.metadata.address, "address")
        self._connection = await connect(GrpcServer(address=address), self.context)

    async def read(self) -> Reading:
        """The lag now, at most lagThreshold for each partition."""
        metadata = self.metadata
        with self.context.clock.busy():
            group = await self._ask("GetOffsets", metadata.topic, metadata.group, metadata.group_version)
            ends = await self._ask("GetEndOffsets", metadata.topic)
        lag = sum(max(end - group.get(partition, 0), 0) for partition, end in ends.items())
        most = len(ends) * metadata.lag_threshold
        capped = min(lag, most) if metadata.lag_threshold > 0 else lag
        return Reading(value=float(capped), active=lag > metadata.activation_lag_threshold)

    async def _ask(self, method: str, *fields: str | int) -> dict[int, int]:
        text = await self._connection.ask(_SERVICE + method, request(*fields))
        return dict(await self.context.parse(offsets_in, text, inline_bytes=INLINE_BYTES))
