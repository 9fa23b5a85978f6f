"""Replies of Redis servers, read within bounds: anything longer could fill any memory."""

import asyncio
from typing import Any

from redis._parsers import _AsyncRESP2Parser  # no public name for what `parser_class` takes
from redis.exceptions import InvalidResponse

from scalers.shared.redis.interface import NOT_REDIS

# Bytes; we ask for counts and for addresses, and errors are a line of text.
_LONGEST_TEXT = 4096
_LONGEST_NUMBER = 20
# Lines and bytes of one reply: enough for thousands of consumers of a stream, and clusters in hundreds of pieces.
_MOST_LINES, _MOST_BYTES = 10_000, 2**20
_LINES_AT_ONCE = 500
"""Then the loop has its turn."""
_DEEPEST = 8
# Bytes; protected mode has the longest of Redis' own errors, with 970.
_LONGEST_ERROR = 1024


class BoundedReplies(_AsyncRESP2Parser):
    """Numbers, short texts, errors, and lists of them."""

    _lines = _bytes = _depth = 0

    async def read_response(self, disable_decoding: bool = False) -> Any:
        """One reply. Raises RedisError, also for one that is too long."""
        self._lines = self._bytes = self._depth = 0
        try:
            return await super().read_response(disable_decoding)
        except ValueError:  # MOVED without an address
            raise InvalidResponse(NOT_REDIS) from None

    async def _read_response(self, disable_decoding: bool = False) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidResponse(NOT_REDIS)
        answer = await super()._read_response(disable_decoding)
        self._depth -= 1
        return answer

    async def _readline(self) -> bytes:
        try:
            line = await super()._readline()
        except ValueError:  # longer than the stream's own limit
            raise InvalidResponse(NOT_REDIS) from None
        if not _is_reply(line):
            raise InvalidResponse(NOT_REDIS)
        await self._count(len(line))
        return line

    async def _read(self, length: int) -> bytes:
        if not 0 <= length <= _LONGEST_TEXT:
            raise InvalidResponse(NOT_REDIS)
        await self._count(length)
        return await super()._read(length)

    async def _count(self, size: int) -> None:
        self._lines, self._bytes = self._lines + 1, self._bytes + size
        if self._lines > _MOST_LINES or self._bytes > _MOST_BYTES:
            raise InvalidResponse(NOT_REDIS)
        if self._lines % _LINES_AT_ONCE == 0:
            await asyncio.sleep(0)


def _is_reply(line: bytes) -> bool:
    match line[:1]:
        case b"+":
            return len(line) <= _LONGEST_TEXT
        case b"-":
            return len(line) <= _LONGEST_ERROR
        case b":" | b"$" | b"*":
            number = line[1:].removeprefix(b"-")
            return number.isdigit() and len(number) <= _LONGEST_NUMBER
    return False
