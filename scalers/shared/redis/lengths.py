"""The length of a list, set, sorted set or hash: one command for each key while its type is known.

A key's type is not known before it has been asked, and may change; a server says WRONGTYPE to the wrong command.
"""

from collections.abc import Sequence
from typing import Annotated

from keda_py.sdk.advanced import ScalerContext
from keda_py.sdk.scaler import Activation, Reading, Scaler, ScalerError, Target
from scalers.shared.redis.interface import Command, reason_of, refusal_of
from scalers.shared.redis.key_scaler import RedisKeyScaler
from scalers.shared.redis.metadata import RedisConnectionMetadata

_COUNTS = {b"none": "LLEN", b"list": "LLEN", b"set": "SCARD", b"zset": "ZCARD", b"hash": "HLEN"}


class RedisLengthMetadata(RedisConnectionMetadata):
    """Keys of `redis`, `redis-cluster` and `redis-sentinel`."""

    list_length: Annotated[int, Target()] = 5
    activation_list_length: Annotated[int, Activation()] = 0
    list_name: str


class LengthScaler(RedisKeyScaler[RedisLengthMetadata]):
    """A key that is missing has no length, one of another type is an error."""

    metric_name = "redis-{list_name}"
    use = "lengths"

    def __init__(self, metadata: RedisLengthMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        self._count, self._kind = "LLEN", "value of another type"

    @property
    def key(self) -> str:
        return self.metadata.list_name

    async def read_batch(self, scalers: "Sequence[Scaler[RedisLengthMetadata]]") -> "Sequence[Reading | ScalerError]":
        """All lengths in one round trip; in three where the type of a key has changed."""
        ours = [scaler for scaler in scalers if isinstance(scaler, LengthScaler)]
        answers = dict(zip(ours, await self._ask(ours), strict=True))
        if wrong := [scaler for scaler, answer in answers.items() if _is_wrong_type(answer)]:
            await self._learn(wrong)
            answers.update(zip(wrong, await self._ask(wrong), strict=True))
        return [scaler._reading(answers[scaler]) for scaler in ours]

    async def _ask(self, scalers: "Sequence[LengthScaler]") -> Sequence[object]:
        return await self._redis.ask([scaler._command(scaler._count) for scaler in scalers])

    async def _learn(self, scalers: "Sequence[LengthScaler]") -> None:
        kinds = await self._redis.ask([scaler._command("TYPE") for scaler in scalers])
        for scaler, kind in zip(scalers, kinds, strict=True):
            if isinstance(kind, bytes):
                scaler._count, scaler._kind = _COUNTS.get(kind, "LLEN"), kind.decode("ascii", "replace")

    def _command(self, word: str) -> Command:
        return Command(key=self.metadata.list_name, words=(word, self.metadata.list_name))

    def _reading(self, answer: object) -> Reading | ScalerError:
        where = f'redis {self._place.servers[0].address}, key "{self.metadata.list_name}"'
        match answer:
            case int():
                return Reading(value=float(answer))
            case ScalerError():
                return answer
            case _ if _is_wrong_type(answer):
                return ScalerError(f"{where}: holds a {self._kind}, not a list, set, sorted set or hash")
            case _:
                return ScalerError(f"{where}: {reason_of(answer)}")


def _is_wrong_type(answer: object) -> bool:
    return refusal_of(answer).startswith("WRONGTYPE")
