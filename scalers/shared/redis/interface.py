"""Commands to a Redis and kinds of its answers, without the library: that is imported when the first trigger opens.

An answer is what the server says, or the error that it says in its place: `ResponseError`. A server that does not
answer is a ScalerError, of all questions or of those it should have answered. Next: `commands.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import SecretStr

from keda_py.sdk.advanced import TlsSettings

if TYPE_CHECKING:
    from redis.asyncio import Redis

NOT_REDIS = "the answer is not Redis'"
"""Said in place of the bytes: they may be another service's, which the author of the trigger may not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """One server as one user: triggers of a namespace with equal ones share a pool and a round trip."""

    host: str
    port: int
    database: int
    username: SecretStr
    password: SecretStr
    tls: TlsSettings | None
    timeout: float
    tries: int = 2
    """A kept connection may be dead; a server that is down is for the next poll."""

    @property
    def address(self) -> str:
        """`host:port`, for error texts."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The words of a command, and the key that it is about."""

    key: str
    words: tuple[str, ...]


class RedisAsker(Protocol):
    """One server, a cluster, or a master that sentinels know."""

    async def ask(self, commands: Sequence[Command]) -> Sequence[object]:
        """The answers in order, each perhaps a ResponseError or a ScalerError. Raises ScalerError."""
        ...

    async def client_of(self, key: str) -> "Redis":
        """The client of the server that has the key, as far as that is known. Raises ScalerError."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def refusal_of(answer: object) -> str:
    """The error that the server says in place of an answer; empty for an answer."""
    if not isinstance(answer, Exception):
        return ""
    from redis.exceptions import ResponseError

    return str(answer) if isinstance(answer, ResponseError) else ""


def reason_of(answer: object) -> str:
    """Word an unexpected answer: its error, never the text of another answer."""
    from redis.exceptions import RedisError

    return str(answer) if isinstance(answer, RedisError) else NOT_REDIS
