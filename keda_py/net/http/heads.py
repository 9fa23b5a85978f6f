"""Heads of answers, bounded while they are read: aiohttp bounds the lines of one head, and not how many heads come.

A server may say "100 Continue" a million times before its answer, or answer once more what was never asked, on a
connection that rests in the pool too. Each head costs 40 us of the event loop, and asyncio reads 256 KiB at once: 0.4 s
in one go. So an answer is handed to aiohttp's parser in small pieces, and counted between them: after too many heads or
too long ones, or one that no question has asked for, the connection is closed and nothing more of it is read.
"""

from functools import partial
from typing import Any

from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

MOST_BYTES = 64 * 1024
"""Of all heads up to the answer's own, which is counted in pieces."""
MOST_INTERIM = 10
"""Answers before the answer; Go reads five."""
_PIECE = 4 * 1024
_INTERIM, _SWITCHING = range(100, 200), 101


class BoundedAnswers(ResponseHandler):
    """One connection. What is over the bounds looks like an answer that is not HTTP."""

    _answered, _interim, _left = True, 0, 0
    _refused = False
    _rest = b""

    def set_response_params(self, **parameters: Any) -> None:
        """A question is about to be asked."""
        self._answered, self._interim, self._left = False, 0, MOST_BYTES
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        """Parse it; what comes while the body's reader is behind waits, and `data` is empty when it has caught up."""
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

    def feed_data(self, data: Any, size: int = 0) -> None:
        """The parser has found a head."""
        code = data[0].code
        self._interim += 1
        if self._refused or self._answered or self._interim > MOST_INTERIM + 1:
            self._refuse()
            return
        self._answered = code not in _INTERIM or code == _SWITCHING
        super().feed_data(data, size)

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
            self.transport.abort()
        self.set_exception(HttpProcessingError(message="too many heads of answers, or too long ones"))


class BoundedConnector(TCPConnector):
    """aiohttp's connector with such connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        made: partial[Any] = partial(BoundedAnswers, loop=self._loop)
        self._factory = made  # there is no public place to give it
