"""Answers of the HTTP client, and their bodies: bounded in bytes and time."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
from aiohttp.streams import StreamReader

from keda_py.answers.bounds import AnswerBounds, too_long
from keda_py.answers.ledger import NoRoom
from keda_py.answers.work_context import current_work
from keda_py.errors import AnswerTooLong
from keda_py.net.http.aiohttp_errors import FAILURES, as_httpx
from keda_py.net.http.exchanges import WireAnswer

# aiohttp decompresses, in bounded steps, so that what unpacks from an answer is counted.
_OF_THE_PACKED_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")
_UNKNOWN = 64 * 1024
"""Bytes reserved at first for an answer without Content-Length."""
_READ = httpx.ByteStream(b"")  # stream of an answer that has been read


class BoundedBody(httpx.AsyncByteStream):
    """Body of an answer, bounded in bytes and time; memory for it is reserved before it is read."""

    def __init__(
        self, answer: WireAnswer, content: StreamReader, request: httpx.Request, answers: AnswerBounds
    ) -> None:
        self._answer, self._content, self._request, self._answers = answer, content, request, answers
        seconds = request.extensions.get("timeout", {}).get("read")
        self._deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        self._tenant, self._room, self._received = current_work().namespace, 0, 0
        self._has_begun = False
        self.give_back: Callable[[], None] | None = None
        """Called when the body is closed: gives back what the request has held."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await self._next_with_room():
            yield chunk

    async def whole(self) -> bytes:
        """Return the body; an asynchronous iterator costs 10 us more."""
        first = chunk = await self._next_with_room()
        if self._content.at_eof():  # a short answer, which has come as a whole
            return first
        chunks = [first]
        while chunk:
            chunks.append(chunk := await self._next_with_room())
        return b"".join(chunks)

    async def _next_with_room(self) -> bytes:
        """Return the next piece of the body, for which memory is reserved, or b"" at its end."""
        most = self._answers.max_bytes
        if not self._has_begun:
            self._has_begun = True
            await self._take_room(_announced(self._answer, min(_UNKNOWN, most)))
        chunk = await self._next_chunk()
        self._received += len(chunk)
        if self._received > self._room:
            await self._take_room(max(most, self._received))
        return chunk

    async def _take_room(self, size: int) -> None:
        """Reserve memory for `size` bytes in all. Raises httpx.ReadError above the limit."""
        check_size(size, self._answers, self._request)
        more, growing = size - self._room, bool(self._room)
        # The synchronous attempt comes first: nearly always there is room, and a wait would cost a time-out per answer.
        if more and not self._answers.ledger.try_take(self._tenant, more, growing=growing):
            await self._wait_for_room(more, growing=growing)
        self._room = size

    async def _wait_for_room(self, size: int, *, growing: bool) -> None:
        lack = f"too many large answers are on their way to {self._tenant or 'the operator'} at once"
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._answers.ledger.take(self._tenant, size, growing=growing)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no room for the answer in time, {lack}", request=self._request) from None
        except NoRoom:
            raise httpx.ReadError(f"no room for the answer, {lack}", request=self._request) from None

    async def _next_chunk(self) -> bytes:
        content = self._content
        try:
            # Short answers have come as a whole, together with their heads: the rest needs no timer.
            if content.is_eof():
                return content.read_nowait()
            async with asyncio.timeout_at(self._deadline):
                return await content.readany()
        except FAILURES as error:
            raise as_httpx(error, self._request) from None

    async def aclose(self) -> None:
        """Release the connection; if the body was not read to its end, close it instead."""
        self._answer.release() if self._content.at_eof() else self._answer.close()
        if self._room:
            self._answers.ledger.give_back(self._tenant, self._room)
            self._room = 0
        give_back, self.give_back = self.give_back, None
        if give_back is not None:
            give_back()


class BoundedAnswer(httpx.Response):
    """Answer whose body is read without httpx's decoders and iterators, which cost 40 us and have nothing to do."""

    _made_headers: httpx.Headers | None = None

    def __init__(self, answer: WireAnswer, body: BoundedBody | bytes) -> None:
        # All that httpx's own constructor would set, which first makes headers and looks at kinds of bodies.
        self.status_code, self.default_encoding = answer.message.code, "utf-8"
        self.history, self.next_request, self._request = [], None, None
        self._num_bytes_downloaded = 0
        reason = (answer.message.reason or "").encode("latin-1", "replace")
        self.extensions = {"http_version": b"HTTP/1.1", "reason_phrase": reason}
        self._message = answer.message
        if isinstance(body, bytes):
            self._content, self.stream = body, _READ
            self.is_closed = self.is_stream_consumed = True
        else:
            self._body = self.stream = body
            self.is_closed = self.is_stream_consumed = False

    @property
    def headers(self) -> httpx.Headers:
        """The headers, made when they are first asked for, which takes 5 us: most scalers want the body alone."""
        if self._made_headers is None:
            pairs = [pair for pair in self._message.raw_headers if pair[0].lower() not in _OF_THE_PACKED_BODY]
            self._made_headers = httpx.Headers(pairs)
        return self._made_headers

    @headers.setter
    def headers(self, headers: httpx.Headers) -> None:
        self._made_headers = headers

    async def aread(self) -> bytes:
        """Read the body once, as httpx does."""
        if self.is_stream_consumed or self.is_closed:
            return await super().aread()
        self.is_stream_consumed = True
        try:
            self._content = await self._body.whole()
        finally:
            await self.aclose()
        return self._content

    async def aclose(self) -> None:
        """Close the body, whose errors name their request themselves."""
        if not self.is_closed:
            self.is_closed = True
            await self._body.aclose()


def check_size(size: int, answers: AnswerBounds, request: httpx.Request) -> None:
    """Raise httpx.ReadError for an answer above the limit."""
    if size > answers.max_bytes:
        text = too_long(answers.max_bytes)
        raise httpx.ReadError(text, request=request) from AnswerTooLong(text)


def _announced(answer: WireAnswer, otherwise: int) -> int:
    """Return the body's size by Content-Length, or `otherwise`; for a compressed body the header says nothing."""
    fields = {name.lower(): value for name, value in answer.message.raw_headers}
    length = fields.get(b"content-length")
    return otherwise if length is None or b"content-encoding" in fields else int(length)
