"""Common part of the types of one Redis key: the place that they join, one round trip for a place, and pushes.

Next in the flow: `lengths.py` and `streams.py` say which commands are sent, and what their answers mean.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Generic, TypeVar

from keda_py.sdk.advanced import ScalerContext, SharingKey
from keda_py.sdk.scaler import Reading, Scaler, ScalerError
from scalers.shared.protocols.listening import Listening
from scalers.shared.redis.interface import RedisAsker
from scalers.shared.redis.metadata import RedisConnectionMetadata
from scalers.shared.redis.place import Topology, place_of

P = TypeVar("P", bound=RedisConnectionMetadata)
_LONGEST_KEY = 2048
"""Bytes: an event has the whole name, and a reply of more than 4096 bytes would end the line."""


class RedisKeyScaler(Scaler[P], Generic[P]):
    """All triggers on one place and user share connections, and one round trip per poll."""

    topology: ClassVar[Topology]
    use: ClassVar[str]
    """Kind of the commands: triggers of different uses are read by different round trips."""

    _redis: RedisAsker
    _listening: Listening

    def __init__(self, metadata: P, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._place = place_of(metadata, self.topology, context.http_timeout)
        self._batch_key = self._place.key(context.namespace, self.use)

    @property
    @abstractmethod
    def key(self) -> str: ...

    async def open(self) -> None:
        """Join the connections; their first user sends a PING."""
        self._redis = await self._place.join(self.context)
        self._listening = await self._place.listen(self._redis, self.context)

    def watch(self) -> AsyncIterator[bool] | None:
        """Yield at each change of the key, where the server has keyspace events on; None for a key that is too long."""
        return self._listening.events(self.key) if len(self.key.encode()) <= _LONGEST_KEY else None

    @property
    def batch_key(self) -> SharingKey:
        """Servers, user, database, TLS and time-out."""
        return self._batch_key

    @abstractmethod
    async def read_batch(self, scalers: Sequence[Scaler[P]]) -> Sequence[Reading | ScalerError]:
        """All keys of the place, in one round trip where nothing has changed its kind."""
