"""Scale on the length of a list, set, sorted set or hash in Redis."""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from keda_py.sdk.scaler import Reading, Scaler, ScalerContext, ScalerError, SharingKey
from scalers.shared.redis.connection import RedisConnectionMetadata, RedisServer, connect, split_address, unreachable
from scalers.shared.target import check_target

# Asks and counts in one step on the server; a key that is not there is a list of length 0.
_LENGTH = """\
local kind = redis.call('type', KEYS[1])['ok']
local count = {none = 'llen', list = 'llen', set = 'scard', zset = 'zcard', hash = 'hlen'}
if not count[kind] then
  return redis.error_reply('ERR the key holds a ' .. kind .. ', not a list, set, sorted set or hash')
end
return redis.call(count[kind], KEYS[1])
"""


class RedisMetadata(RedisConnectionMetadata):
    """Keys of `redis`."""

    list_length: int = 5
    activation_list_length: int = 0
    list_name: str


class RedisScaler(Scaler[RedisMetadata]):
    """All triggers on one server and user share a pool, and one round trip per poll."""

    _client: Redis

    def __init__(self, metadata: RedisMetadata, context: ScalerContext) -> None:
        super().__init__(metadata, context)
        host, port = split_address(metadata.servers()[0])
        self._server = RedisServer(
            host=host,
            port=port,
            database=metadata.database_index,
            username=metadata.username,
            password=metadata.password,
            tls=metadata.tls_settings(),
            timeout=context.http_timeout,
        )
        self._batch_key = self._server.key(context.namespace, "lengths")
        check_target(metadata.list_length, "listLength", context)

    @property
    def metric_name(self) -> str:
        """`redis-<listName>`."""
        return f"redis-{self.metadata.list_name}"

    @property
    def target(self) -> int:
        """`listLength`."""
        return self.metadata.list_length

    @property
    def activation(self) -> float:
        """`activationListLength`."""
        return float(self.metadata.activation_list_length)

    async def open(self) -> None:
        """Join the pool; its first user sends a PING."""
        self._client = await connect(self._server, self.context)

    async def read(self, spec: object = None) -> Reading:
        """The length now; a key of another type is an error."""
        (reading,) = await self.read_batch([self])
        if isinstance(reading, ScalerError):
            raise reading
        return reading

    @property
    def batch_key(self) -> SharingKey:
        """Server, user, database, TLS and time-out."""
        return self._batch_key

    async def read_batch(self, scalers: "Sequence[Scaler[RedisMetadata]]") -> "Sequence[Reading | ScalerError]":
        """All lengths in one round trip."""
        names = [scaler.metadata.list_name for scaler in scalers]
        try:
            with self.context.clock.busy():
                answers = await self._lengths(names)
        except (RedisError, OSError) as error:
            raise unreachable(self._server, error) from None
        return [self._reading(name, answer) for name, answer in zip(names, answers, strict=True)]

    async def _lengths(self, names: Sequence[str]) -> Sequence[object]:
        script = self._client.register_script(_LENGTH)
        for attempt in ("the server knows the script", "it was restarted"):
            pipeline = self._client.pipeline(transaction=False)
            for name in names:
                pipeline.evalsha(script.sha, 1, name)
            answers: Sequence[object] = await pipeline.execute(raise_on_error=False)
            if not any(isinstance(answer, NoScriptError) for answer in answers) or attempt == "it was restarted":
                return answers
            await self._client.script_load(_LENGTH)
        raise AssertionError("unreachable")

    def _reading(self, name: str, answer: object) -> Reading | ScalerError:
        match answer:
            case int():
                return Reading(value=float(answer))
            case _:
                return ScalerError(f'redis {self._server.address}, key "{name}": {answer}')
