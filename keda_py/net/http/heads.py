"""Bounds on the heads of answers while they arrive: aiohttp bounds the lines of one head, not how many heads come.

A server may send "100 Continue" a million times before its answer, or unrequested answers on an idle connection of the
pool. Each head costs 40 us of the event loop, and asyncio reads 256 KiB at once: 0.4 s in one go. So data is passed to
aiohttp's parser in small pieces and counted between them. After too many or too long heads, or an unrequested one, the
connection is closed and nothing more of it is read.
"""

from functools import partial
from typing import Any, TypeAlias

from aiohttp import SocketTimeoutError, TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader

from keda_py.net.http.usual_answers import UsualAnswer, usual_answer

MOST_BYTES = 64 * 1024
"""Bytes of all heads of one answer; the last one is counted in whole pieces."""
MOST_INTERIM = 10
"""Interim (1xx) answers before the answer itself; Go's client reads five."""
_PIECE = 4 * 1024
_CHUNK = 64 * 1024
"""Bytes of an answer that are kept before its reader asks for them."""
_INTERIM, _SWITCHING = range(100, 200), 101

Answer: TypeAlias = tuple[RawResponseMessage | UsualAnswer, StreamReader | bytes]
"""Head and body of an answer, which is bytes where it has come as a whole."""


class BoundedAnswers(ResponseHandler):
    """Connection whose answers are bounded; one above the bounds fails as an answer that is not HTTP."""

    _answered, _interim, _left = True, 0, 0
    _refused = _bodiless = False
    _rest = b""

    def expect_answer(self, *, bodiless: bool) -> None:
        """Begin an exchange. aiohttp's parser is made only for an answer that needs it."""
        self._answered, self._parser, self._bodiless = False, None, bodiless

    async def final_answer(self, seconds: float | None) -> Answer:
        """Wait so long for the answer that is not an interim one.

        One timer for the whole head: aiohttp's own is set again with each piece of it, and once more for the body,
        which has a time-out of its own in `bodies.py`.
        """
        timer = self._loop.call_later(seconds, self._end_late) if seconds else None
        try:
            while True:
                answer = await self.read()
                if (code := answer[0].code) not in _INTERIM or code == _SWITCHING:
                    return answer
        finally:
            if timer is not None:
                timer.cancel()

    def _end_late(self) -> None:
        self.set_exception(SocketTimeoutError("no answer in time"))

    def set_response_params(self, **parameters: Any) -> None:
        """Make a parser, and reset the counts; aiohttp calls this as well, where it connects through a proxy."""
        self._answered, self._interim, self._left = False, 0, MOST_BYTES
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        """Parse data in pieces; while the body's reader is behind, the rest waits. aiohttp sends b"" to go on."""
        if self._parser is None and data and self._begin(data):
            return
        if len(data) <= _PIECE and not self._rest:
            self._receive(data)
            return
        if not data:
            self._receive(data)
        rest = self._rest + data
        begin = 0
        while begin < len(rest) and not (self._reading_paused or self._refused):
            self._receive(rest[begin : begin + _PIECE])
            begin += _PIECE
        self._rest = b"" if self._refused else rest[begin:]

    @property
    def should_close(self) -> bool:
        """Return whether the connection must not be used again, as after more bytes than the answer announced."""
        if super().should_close or self._rest:
            return True
        return self._parser is not None and self._parser.feed_eof() is not None  # it has begun another head

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Go on after a pause. aiohttp calls this for each piece of a body that is taken, though nothing waits."""
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Count a head that the parser has completed, and refuse the ones above the bounds."""
        # aiohttp's parser calls this once per head, before the body.
        code = data[0].code
        self._interim += 1
        if self._refused or self._answered or self._interim > MOST_INTERIM + 1:
            self._refuse()
            return
        self._answered = code not in _INTERIM or code == _SWITCHING
        super().feed_data(data, size)

    def _begin(self, data: bytes) -> bool:
        """Take what comes first in an exchange, or outside of one; return whether nothing is left to parse."""
        if self._answered:
            self._refuse()
            return True
        # Any, because aiohttp's queue is declared for the messages of its own parser.
        usual: Any = None if self._bodiless or len(data) > _CHUNK else usual_answer(data)
        if usual is None:
            self.set_response_params(skip_payload=self._bodiless, read_until_eof=True, read_bufsize=_CHUNK)
            return False
        self._answered = True
        super().feed_data(usual)
        return True

    def _receive(self, piece: bytes) -> None:
        if self._refused:
            return
        super().data_received(piece)
        if not self._answered:
            self._left -= len(piece)
            if self._left < 0:
                self._refuse()

    def _refuse(self) -> None:
        if self._refused:
            return
        self._refused = True
        if self.transport is not None:
            # abort and not close, which would first wait until unsent data is written.
            self.transport.abort()
        self.set_exception(HttpProcessingError(message="too many heads of answers, or too long ones"))


class BoundedConnector(TCPConnector):
    """aiohttp's connector with bounded connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        factory: partial[Any] = partial(BoundedAnswers, loop=self._loop)
        self._factory = factory  # aiohttp has no public parameter for the protocol
