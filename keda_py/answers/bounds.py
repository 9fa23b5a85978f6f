"""Bounds of a process on answers: their size, their memory, and the parsing of large ones.

The HTTP client asks it for the longest answer and for room; scalers parse large text through it, by
`ScalerContext.parse`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from types import TracebackType
from typing import Self, TypeVar, cast

from keda_py.answers.ledger import MIB, ROOM, ByteBudget
from keda_py.answers.process import ParseJob, ParseLimits
from keda_py.answers.workers import Workers
from keda_py.errors import AnswerTooLong

T = TypeVar("T")

MAX_BYTES = MIB
SETTING = "KEDA_HTTP_MAX_RESPONSE_BYTES"
CPU_SECONDS = 2.0
_OWN_MEMORY = 112 * MIB
# Longest answers that the room holds; also the largest ratio of a parsed value's memory to its text.
_TIMES = 16


class AnswerBounds:
    """Bounds of one operator; both are for one answer, its bytes after decompression. Leaving it ends its workers."""

    def __init__(self, max_bytes: int = MAX_BYTES, cpu_seconds: float = CPU_SECONDS) -> None:
        self.max_bytes = max_bytes
        self.ledger = ByteBudget(max(ROOM, _TIMES * max_bytes))
        self._workers = Workers(ParseLimits(cpu_seconds=cpu_seconds, memory=_OWN_MEMORY + _TIMES * max_bytes))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workers.aclose()

    def check(self, text: bytes | str) -> None:
        """Raise ScalerError if a text is longer than an answer may be."""
        if size_of(text) > self.max_bytes:
            raise AnswerTooLong(too_long(self.max_bytes))

    async def parse(
        self, tenant: str, function: Callable[..., T], text: bytes | str, arguments: tuple[object, ...], seconds: float
    ) -> T:
        """Call `function(text, *arguments)` in a worker process, within the time. Raises ScalerError.

        `function` is found there by its module and name; `arguments` and its value are plain (JSON).
        """
        question = ParseJob(function=f"{function.__module__}:{function.__qualname__}", arguments=arguments, text=text)
        # A str comes from an object in a cache, so it takes no additional memory.
        held = self.ledger.holding(tenant, len(text)) if isinstance(text, bytes) else nullcontext()
        with held:
            return cast(T, await self._workers.ask(tenant, question, seconds))


def size_of(text: bytes | str) -> int:
    """Return the length in bytes."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode())


def too_long(max_bytes: int) -> str:
    """Write the error text for an answer above the limit."""
    return f"the answer is over {max_bytes} bytes: let the source say less, or set {SETTING} higher"
