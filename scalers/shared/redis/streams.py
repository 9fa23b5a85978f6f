"""The backlog of a stream: its length, or what a consumer group has not acknowledged, or has not been given yet."""

from collections.abc import Sequence
from typing import Annotated, Literal

from keda_py.sdk.advanced import ScalerContext, check_target
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError
from scalers.shared.redis.interface import Command, reason_of, refusal_of
from scalers.shared.redis.key_scaler import RedisKeyScaler
from scalers.shared.redis.metadata import RedisConnectionMetadata

Mode = Literal["length", "pending", "lag"]


class RedisStreamsMetadata(RedisConnectionMetadata):
    """Keys of `redis-streams`, `redis-cluster-streams` and `redis-sentinel-streams`."""

    pending_entries_count: int = 5
    stream_length: int = 5
    lag_count: int = 0
    stream: str
    consumer_group: str = ""
    activation_lag_count: Annotated[int, Activation()] = 0

    @property
    def mode(self) -> Mode:
        """Without a group the length counts; with one what is pending, or the lag where lagCount is given."""
        if not self.consumer_group:
            return "length"
        return "lag" if self.lag_count else "pending"


class StreamScaler(RedisKeyScaler[RedisStreamsMetadata]):
    """A missing stream has no backlog, but a missing group of it is an error where entries pend."""

    metric_name = "redis-streams-{stream}"
    use = "streams"

    def __init__(self, metadata: RedisStreamsMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        key = {"length": "streamLength", "pending": "pendingEntriesCount", "lag": "lagCount"}[metadata.mode]
        check_target(self.target, key, context)

    @property
    def key(self) -> str:
        return self.metadata.stream

    @property
    def target(self) -> int:
        """`streamLength`, `pendingEntriesCount` or `lagCount`, by mode."""
        metadata = self.metadata
        counts = {
            "length": metadata.stream_length,
            "pending": metadata.pending_entries_count,
            "lag": metadata.lag_count,
        }
        return counts[metadata.mode]

    async def read_batch(self, scalers: "Sequence[Scaler[RedisStreamsMetadata]]") -> "Sequence[Reading | ScalerError]":
        """All backlogs in one round trip; in two where the lag of a group is asked that is not there."""
        ours = [scaler for scaler in scalers if isinstance(scaler, StreamScaler)]
        answers = await self._redis.ask([scaler._command(scaler.metadata.mode) for scaler in ours])
        readings = {scaler: scaler._reading(answer) for scaler, answer in zip(ours, answers, strict=True)}
        if without := [scaler for scaler, reading in readings.items() if reading is None]:
            lengths = await self._redis.ask([scaler._command("length") for scaler in without])
            readings.update({scaler: scaler._number(one) for scaler, one in zip(without, lengths, strict=True)})
        return [reading for reading in readings.values() if reading is not None]

    def _command(self, mode: Mode) -> Command:
        stream, group = self.metadata.stream, self.metadata.consumer_group
        words = {"length": ("XLEN", stream), "pending": ("XPENDING", stream, group), "lag": ("XINFO", "GROUPS", stream)}
        return Command(key=stream, words=words[mode])

    def _reading(self, answer: object) -> Reading | ScalerError | None:
        """Make the reading; None if the stream has no such group, whose lag is the whole stream."""
        match self.metadata.mode:
            case "pending":
                return self._number(answer[0] if isinstance(answer, list) and answer else answer)
            case "lag":
                return self._lag(answer)
            case "length":
                return self._number(answer)

    def _lag(self, answer: object) -> Reading | ScalerError | None:
        if "no such key" in refusal_of(answer):
            return Reading(value=0.0, note="the stream is missing and counts as 0")
        if not isinstance(answer, list):
            return self._number(answer)
        groups = [dict(zip(one[::2], one[1::2], strict=False)) for one in answer if _is_group(one)]
        wanted = self.metadata.consumer_group.encode()
        group = next((one for one in groups if one.get(b"name") == wanted), None)
        if group is None:
            return None
        if b"lag" not in group:
            return ScalerError(f"{self._where}: tells no lag: Redis 7.0 or newer is needed for lagCount")
        if group[b"lag"] is None:
            remedy = "use pendingEntriesCount or streamLength"
            return ScalerError(f"{self._where}: cannot tell the lag after entries were deleted: {remedy}")
        return self._number(group[b"lag"])

    def _number(self, answer: object) -> Reading | ScalerError:
        match answer:
            case int():
                return Reading(value=float(answer))
            case ScalerError():
                return answer
            case _:
                return ScalerError(f"{self._where}: {reason_of(answer)}")

    @property
    def _where(self) -> str:
        return f'redis {self._place.servers[0].address}, stream "{self.metadata.stream}"'


def _is_group(one: object) -> bool:
    return isinstance(one, list) and all(isinstance(name, bytes) for name in one[::2])
