"""The scaler behind `kafka` and `apache-kafka`: they differ in their keys only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from keda_py.sdk.advanced import ScalerContext, SharingKey
from keda_py.sdk.scaler import Reading, Scaler, ScalerError
from scalers.shared.extras import needs_extra
from scalers.shared.kafka.lag import Offsets, Partition, group_lag
from scalers.shared.kafka.metadata import GroupLagMetadata, KafkaServers

if TYPE_CHECKING:
    from scalers.shared.kafka.cluster import Cluster
    from scalers.shared.kafka.offsets import GroupQuestion

M = TypeVar("M", bound=GroupLagMetadata)


class GroupLagScaler(Scaler[M]):
    """All triggers of a namespace on one cluster and user share its connections, and few requests per poll."""

    _cluster: "Cluster"
    _question: "GroupQuestion"

    def __init__(self, metadata: M, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._rules = metadata.rules()
        self._servers = self.servers()
        self._batch_key = self._servers.key(context.namespace, "offsets")
        self._numbers = frozenset(self.partition_limitation())
        self._positions: Mapping[Partition, int] = {}

    def topics(self) -> tuple[str, ...]:
        """Topics that count; empty: those for which the group has committed offsets."""
        raise NotImplementedError

    def partition_limitation(self) -> Iterable[int]:
        """Partitions that count; empty: all."""
        raise NotImplementedError

    def servers(self) -> KafkaServers:
        """Return the cluster and its user. Raises ConfigError."""
        raise NotImplementedError

    @property
    def metric_name(self) -> str:
        """`kafka-<topics>`, or `kafka-<group>-topics`."""
        return f"kafka-{','.join(self.topics()) or f'{self.metadata.consumer_group}-topics'}"

    async def open(self) -> None:
        """Join the cluster's connections; its first user asks for its brokers."""
        with needs_extra("kafka"):
            from scalers.shared.kafka.cluster import open_cluster
            from scalers.shared.kafka.offsets import GroupQuestion
        self._question = GroupQuestion(self.metadata.consumer_group, self.topics())
        self._cluster = await open_cluster(self._servers, self.context)

    @property
    def batch_key(self) -> SharingKey:
        """Bootstrap servers, user, TLS and time-out."""
        return self._batch_key

    @property
    def asked_often_at_zero(self) -> bool:
        """Say no under `excludePersistentLag`, which compares with the reading before."""
        return not self._rules.exclude_persistent_lag

    async def read_batch(self, scalers: "Sequence[Scaler[M]]") -> "Sequence[Reading | ScalerError]":
        """The lag of each, from one request to each broker that leads a partition, and one for each group."""
        ours = [scaler for scaler in scalers if isinstance(scaler, GroupLagScaler)]
        async with self.context.connection(", ".join(self._servers.bootstrap)):
            with self.context.clock.busy():
                answers = await self._cluster.offsets({scaler._question for scaler in ours})
        return [scaler._reading(answers[scaler._question]) for scaler in ours]

    def _reading(self, found: "Mapping[Partition, Offsets] | ScalerError") -> Reading | ScalerError:
        if isinstance(found, ScalerError):
            return found
        offsets = {one: at for one, at in found.items() if not self._numbers or one[1] in self._numbers}
        if not offsets:
            return ScalerError(f"{self.metric_name}: partitionLimitation leaves no partition of those that are there")
        lag = group_lag(offsets, self._rules, self._positions)
        self._positions = lag.positions
        return Reading(value=float(lag.metric), active=lag.total > self.metadata.activation_lag_threshold)
