"""`AnswerBounds`: what one process holds and reads of others' text, and how much of it. One per operator.

The HTTP client asks it how long an answer may be, and for room; scalers read large text through it, by
`ScalerContext.parse`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from types import TracebackType
from typing import Self, TypeVar, cast

from keda_py.answers.ledger import MIB, ROOM, Ledger
from keda_py.answers.process import Limits, Question
from keda_py.answers.workers import Workers
from keda_py.errors import AnswerTooLong

T = TypeVar("T")

MAX_BYTES = MIB
SETTING = "KEDA_HTTP_MAX_RESPONSE_BYTES"
_CPU_SECONDS = 2.0
_OWN_MEMORY = 112 * MIB
_TIMES = 16
"""How many of the longest answers there is room for; and how much longer than its text a value may be in memory."""


class AnswerBounds:
    """`max_bytes` of one answer, after decompression. Use it as a context manager: it may have processes to end."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.ledger = Ledger(max(ROOM, _TIMES * max_bytes))
        self._workers = Workers(Limits(cpu_seconds=_CPU_SECONDS, memory=_OWN_MEMORY + _TIMES * max_bytes))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workers.aclose()

    def check(self, text: bytes | str) -> None:
        """Raises ScalerError for a text that is longer than an answer may be."""
        if size_of(text) > self.max_bytes:
            raise AnswerTooLong(too_long(self.max_bytes))

    async def parse(
        self, tenant: str, function: Callable[..., T], text: bytes | str, arguments: tuple[object, ...], seconds: float
    ) -> T:
        """`function(text, *arguments)` in another process, in time. Raises ScalerError.

        `function` is found there by its module and name; `arguments` and its value are plain (JSON).
        """
        question = Question(function=f"{function.__module__}:{function.__qualname__}", arguments=arguments, text=text)
        # Text of an object is in a cache anyway, and takes no more room for being read.
        held = self.ledger.holding(tenant, len(text)) if isinstance(text, bytes) else nullcontext()
        with held:
            return cast(T, await self._workers.ask(tenant, question, seconds))


def size_of(text: bytes | str) -> int:
    """In bytes."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode())


def too_long(max_bytes: int) -> str:
    """For errors."""
    return f"the answer is over {max_bytes} bytes: let the source say less, or set {SETTING} higher"
