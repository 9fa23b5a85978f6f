"""Scale on the lag of a consumer group of liiklus: the ends of a topic's partitions, less what is acknowledged."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from keda_py.sdk.scaler import (
    ConfigError,
    Reading,
    Scaler,
    ScalerContext,
    ScalerError,
    TriggerMetadata,
    sharing_key,
)
from scalers.shared.brokers.liiklus_offsets import INLINE_BYTES, offsets_in, request
from scalers.shared.extras import needs_extra
from scalers.shared.target import check_target

if TYPE_CHECKING:
    from grpc.aio import Channel

_SERVICE: Final = "/com.github.bsideup.liiklus.LiiklusService/"
_LONGEST_ANSWER: Final = 1024 * 1024
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", _LONGEST_ANSWER),
    ("grpc.enable_retries", 0),
    # A server that is back is found by the next poll, not after the two minutes of gRPC's own back-off.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)


class LiiklusMetadata(TriggerMetadata):
    """Keys of `liiklus`."""

    lag_threshold: int = 10
    activation_lag_threshold: int = 0
    address: str
    topic: str
    group: str
    group_version: Annotated[int, Field(ge=0, lt=2**32)] = 0


class LiiklusScaler(Scaler[LiiklusMetadata]):
    """Two gRPC calls for each reading, over one connection for all triggers of a server."""

    _channel: "Channel"

    def __init__(self, metadata: LiiklusMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        check_target(metadata.lag_threshold, "lagThreshold", context)
        scheme, colon, rest = metadata.address.partition(":")
        if colon and scheme != "dns" and (rest.startswith("/") or scheme.startswith(("unix", "vsock"))):
            raise ConfigError(
                "address: write host:port, such as liiklus:6565; a socket in a file is not one", field="address"
            )

    @property
    def metric_name(self) -> str:
        """`liiklus-<topic>`."""
        return f"liiklus-{self.metadata.topic}"

    @property
    def target(self) -> int:
        """`lagThreshold`."""
        return self.metadata.lag_threshold

    @property
    def activation(self) -> float:
        """`activationLagThreshold`."""
        return float(self.metadata.activation_lag_threshold)

    async def open(self) -> None:
        """Join the connection; it is made with the first call."""
        with needs_extra("grpc"):
            from grpc.aio import Channel, insecure_channel

        async def make() -> Channel:
            return insecure_channel(self.metadata.address, options=_OPTIONS)

        key = sharing_key(self.context.namespace, ("liiklus", self.metadata.address))
        self._channel = await self.context.shared(key, make, Channel.close)

    async def read(self, spec: object = None) -> Reading:
        """The lag now, at most lagThreshold for each partition."""
        metadata = self.metadata
        async with self.context.connection():
            with self.context.clock.busy():
                group = await self._call("GetOffsets", metadata.topic, metadata.group, metadata.group_version)
                ends = await self._call("GetEndOffsets", metadata.topic)
        lag = sum(max(end - group.get(partition, 0), 0) for partition, end in ends.items())
        most = len(ends) * metadata.lag_threshold
        capped = min(lag, most) if metadata.lag_threshold > 0 else lag
        return Reading(value=float(capped), active=lag > metadata.activation_lag_threshold)

    async def _call(self, method: str, *fields: str | int) -> dict[int, int]:
        from grpc.aio import AioRpcError

        call: Any = self._channel.unary_unary(_SERVICE + method)
        try:
            text: bytes = await call(request(*fields), timeout=self.timeout)
        except AioRpcError as error:
            code = error.code().name
            raise ScalerError(f"liiklus {self.metadata.address}, {method}: {code}: {error.details()}") from None
        found = await self.context.parse(offsets_in, text, inline_bytes=INLINE_BYTES)
        return dict(found)
