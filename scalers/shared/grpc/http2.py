"""Questions with one answer each over one connection of HTTP/2: gRPC for what is polled.

In: encoded messages. Out: answers as they came, with their status. grpcio's asyncio stack takes 0.2 ms for a question,
more than all of KEDA's reading does, and `h2` as much; this file does it in 0.1 ms and leaves streams of answers to
grpcio (`connection.py`). It speaks what RFC 9113 asks of such a client; `hpack` reads and writes headers. Servers are
told to keep no table of headers: the same bytes then mean the same headers, and are read once.

Rules of this file: whatever a server sends is bounded in bytes and in work, and what breaks a bound closes the
connection. Each frame takes from an allowance that only our own questions refill, so a server that sends without being
asked is cut off, and the acknowledgements that it makes us write are bounded with it.
"""

import asyncio
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    import hpack

LONGEST_QUESTION = 16 * 1024 - 5
"""Bytes; a frame of any server takes as many, and gRPC's own five."""
_LONGEST_FRAME = 16 * 1024
_LONGEST_HEADERS = 8 * 1024
_LONGEST_SETTINGS = 240
_WINDOW, _STREAM_WINDOW, _OUR_WINDOW = 65_535, 128 * 1024, 8 * 1024 * 1024
"""Bytes: HTTP/2's first window, ours for one answer, ours for all answers."""
_MOST_KEPT, _LONGEST_KEPT = 16, 256
"""Heads of answers that are kept as they were read, and their bytes."""
_MOST_AT_ONCE = 100
_ALLOWANCE, _PER_QUESTION, _MOST_ALLOWANCE = 300, 200, 10_000
"""Frames, where headers count for more: before the first question, for each, and at most, which is 10 ms of work. An
answer takes 30 or so.
"""
_LAST_STREAM = 2**31 - 1

_DATA, _HEADERS, _RST, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
_END_STREAM = _ACK = 1
_END_HEADERS, _PADDED, _PRIORITY = 4, 8, 32
_MOST_STREAMS, _FIRST_WINDOW = 3, 4
_CANCEL = b"\0\0\0\x08"

Headers: TypeAlias = dict[bytes, bytes]


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return b"%b%c%c%b%b" % (len(payload).to_bytes(3, "big"), kind, flags, stream.to_bytes(4, "big"), payload)


# No table of headers; no pushes; a window for each answer; the most that headers may unpack to.
_PREFACE = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + _frame(_SETTINGS, 0, 0, struct.pack(">HIHIHIHI", 1, 0, 2, 0, _FIRST_WINDOW, _STREAM_WINDOW, 6, _LONGEST_HEADERS))
    + _frame(_WINDOW_UPDATE, 0, 0, (_OUR_WINDOW - _WINDOW).to_bytes(4, "big"))
)


class ConnectionEnded(Exception):
    """The connection ended, or must not be used any more; `untouched`: the server did not work on the question."""

    def __init__(self, reason: str, *, untouched: bool = False) -> None:
        super().__init__(reason)
        self.untouched = untouched


class _ViolatedBound(Exception):
    """What a server may not send."""


@dataclass(slots=True)
class Http2Answer:
    """One answer: the last headers of each name, and the body. `reset`: the code of a stream that the server gave up.

    `whole` is done when the answer is; its exception is ConnectionEnded.
    """

    longest: int
    whole: "asyncio.Future[None]"
    headers: Headers = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    blocks: int = 0
    reset: int | None = None
    too_long: bool = False

    def end(self, failure: Exception | None = None) -> None:
        """Wake the one that waits, unless it has left."""
        if self.whole.done():
            return
        self.whole.set_exception(failure) if failure else self.whole.set_result(None)


class Http2Connection(asyncio.Protocol):
    """A client's end of one connection. `ended` says why it takes no more questions, "" while it does."""

    def __init__(self, decoder: "hpack.Decoder") -> None:
        self._decoder = decoder
        decoder.max_header_list_size = _LONGEST_HEADERS
        decoder.header_table_size = decoder.max_allowed_table_size = 0
        self._read_headers: dict[bytes, Headers] = {}
        self._transport: asyncio.Transport | None = None
        self._rest, self._left = b"", _ALLOWANCE
        self._next_stream = 1
        self._answers: dict[int, Http2Answer] = {}
        self._open_block: tuple[int, int, bytes] | None = None
        self._window, self._stream_window, self._most = _WINDOW, _WINDOW, _MOST_AT_ONCE
        self._unacknowledged, self._owed = 0, b""
        self._has_room = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the server has sent its settings; its exception is ConnectionEnded."""
        self.ended = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none of asyncio's classes
        self._transport.write(_PREFACE)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._end(str(error) if error else "the server closed the connection")

    async def ask(self, head: bytes, body: bytes, longest: int) -> Http2Answer:
        """Send headers (an HPACK block) and a body; wait for the answer of so many bytes. Raises ConnectionEnded."""
        while not self.ended and (len(self._answers) >= self._most or self._window < len(body)):
            self._has_room.clear()
            await self._has_room.wait()
        if self.ended or self._transport is None:
            raise ConnectionEnded(self.ended, untouched=True)
        if len(body) > self._stream_window:
            raise ConnectionEnded(f"the server takes no more than {self._stream_window} bytes of a question")
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        if self._next_stream > _LAST_STREAM:
            self.ended = "its numbers are used up"
        answer = self._answers[stream] = Http2Answer(longest, asyncio.get_running_loop().create_future())
        self._window -= len(body)
        self._left = min(self._left + _PER_QUESTION, _MOST_ALLOWANCE)
        self._owed += _frame(_HEADERS, _END_HEADERS, stream, head) + _frame(_DATA, _END_STREAM, stream, body)
        self._send_owed()
        try:
            await answer.whole
        finally:
            self._forget(stream)
        return answer

    def retire(self, reason: str) -> None:
        """Take no more questions, and close after the answers to those that were asked."""
        self.ended = self.ended or reason
        self._has_room.set()
        self._close_when_done()

    def close(self) -> None:
        """End the connection; its questions fail."""
        self._end("the connection was closed")

    def _forget(self, stream: int) -> None:
        """Give up an answer that has not ended yet, and make room for the next question."""
        if self._answers.pop(stream, None) is not None and self._transport is not None:
            self._transport.write(_frame(_RST, 0, stream, _CANCEL))
        self._has_room.set()
        self._close_when_done()

    def _end(self, reason: str) -> None:
        self.ended = self.ended or reason
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.end(ConnectionEnded(self.ended))
        if not self.ready.done():
            self.ready.set_exception(ConnectionEnded(self.ended))
            self.ready.exception()  # asyncio logs an exception that is not retrieved
        self._has_room.set()
        self._abort()

    def _abort(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def _close_when_done(self) -> None:
        if self.ended and not self._answers:
            self._abort()

    def data_received(self, data: bytes) -> None:
        data, at = self._rest + data if self._rest else data, 0
        try:
            while len(data) - at >= 9 and self._transport is not None:
                size, kind = int.from_bytes(data[at : at + 3], "big"), data[at + 3]
                if size > _LONGEST_FRAME or (not self.ready.done() and kind != _SETTINGS):
                    raise _ViolatedBound("what it says is not HTTP/2" if not self.ready.done() else "too long a frame")
                if len(data) - at < 9 + size:
                    break
                stream = int.from_bytes(data[at + 5 : at + 9], "big") & _LAST_STREAM
                self._receive(kind, data[at + 4], stream, data[at + 9 : at + 9 + size])
                at += 9 + size
        except _ViolatedBound as violation:
            self._end(f"the server breaks a bound: {violation}")
        except Exception as error:  # noqa: BLE001 - hpack's errors, and what a malformed frame leads to
            self._end(f"the server sent what cannot be read: {type(error).__name__}")
        self._rest = data[at:] if self._transport is not None else b""
        if self._owed:  # sent after those who wait for these answers have gone on, perhaps to the next question
            asyncio.get_running_loop().call_soon(self._send_owed)

    def _send_owed(self) -> None:
        owed, self._owed = self._owed, b""
        if owed and self._transport is not None:
            self._transport.write(owed)

    def _receive(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._left -= 1
        if self._left < 0:
            raise _ViolatedBound("frames that no question asked for")
        if self._open_block is not None and kind != _CONTINUATION:
            raise _ViolatedBound("headers that do not end")
        receive = _RECEIVERS.get(kind)
        if receive is not None:  # frames of kinds that a client does not know are passed over
            receive(self, flags, stream, payload)

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        self._unacknowledged += len(payload)
        if self._unacknowledged > _OUR_WINDOW // 8:
            self._owed += _frame(_WINDOW_UPDATE, 0, 0, self._unacknowledged.to_bytes(4, "big"))
            self._unacknowledged = 0
        answer = self._answers.get(stream)
        if answer is None:
            return
        answer.body += _unpadded(flags, payload) if flags & _PADDED else payload
        if len(answer.body) > answer.longest:
            answer.too_long = True
            answer.end()
        elif flags & _END_STREAM:
            self._complete(stream)

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        block = _unpadded(flags, payload)
        self._open_block = (stream, flags, block[5:] if flags & _PRIORITY else block)
        self._end_block(flags)

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._open_block is None or self._open_block[0] != stream:
            raise _ViolatedBound("headers out of order")
        self._open_block = (*self._open_block[:2], self._open_block[2] + payload)
        self._end_block(flags)

    def _end_block(self, flags: int) -> None:
        assert self._open_block is not None
        stream, first_flags, block = self._open_block
        if len(block) > _LONGEST_HEADERS:
            raise _ViolatedBound("too long headers")
        if not flags & _END_HEADERS:
            return
        self._open_block = None
        self._left -= 10 + len(block) // 8
        answer = self._answers.get(stream)
        if answer is None:
            return
        answer.blocks += 1
        if answer.blocks > 2:
            raise _ViolatedBound("an answer with more than two heads")
        answer.headers.update(self._headers_of(block))
        if first_flags & _END_STREAM:
            self._complete(stream)

    def _headers_of(self, block: bytes) -> Headers:
        headers = self._read_headers.get(block)
        if headers is None:
            headers = dict(self._decoder.decode(block, raw=True))
            if len(self._read_headers) < _MOST_KEPT and len(block) < _LONGEST_KEPT:
                self._read_headers[block] = headers
        return headers

    def _complete(self, stream: int) -> None:
        self._answers.pop(stream).end()

    def _reset(self, _: int, stream: int, payload: bytes) -> None:
        answer = self._answers.pop(stream, None)
        if answer is not None:
            answer.reset = int.from_bytes(payload[:4], "big")
            answer.end()

    def _settings(self, flags: int, _: int, payload: bytes) -> None:
        if flags & _ACK:
            return
        if len(payload) > _LONGEST_SETTINGS:
            raise _ViolatedBound("too many settings")
        for name, value in struct.iter_unpack(">HI", payload):
            if name == _MOST_STREAMS:
                self._most = min(value, _MOST_AT_ONCE)
            elif name == _FIRST_WINDOW:
                self._stream_window = value
        self._owed += _frame(_SETTINGS, _ACK, 0, b"")
        if not self.ready.done():
            self.ready.set_result(None)
        self._has_room.set()

    def _push(self, *_: object) -> None:
        raise _ViolatedBound("a push, which the settings forbid")

    def _ping(self, flags: int, _: int, payload: bytes) -> None:
        if not flags & _ACK:
            self._owed += _frame(_PING, _ACK, 0, payload[:8])

    def _go_away(self, _: int, __: int, payload: bytes) -> None:
        """End after the answers that the server still gives; questions that it has not begun may be asked again."""
        last = int.from_bytes(payload[:4], "big") & _LAST_STREAM
        for stream in [one for one in self._answers if one > last]:
            self._answers.pop(stream).end(ConnectionEnded("the server ends the connection", untouched=True))
        self.retire("the server ends the connection")

    def _window_update(self, _: int, stream: int, payload: bytes) -> None:
        if not stream:  # the window of a question is never used up: it is one frame
            self._window = min(self._window + int.from_bytes(payload[:4], "big"), _LAST_STREAM)
            self._has_room.set()


_RECEIVERS: dict[int, Callable[[Http2Connection, int, int, bytes], None]] = {
    _DATA: Http2Connection._data,
    _HEADERS: Http2Connection._headers,
    _RST: Http2Connection._reset,
    _SETTINGS: Http2Connection._settings,
    _PUSH: Http2Connection._push,
    _PING: Http2Connection._ping,
    _GOAWAY: Http2Connection._go_away,
    _WINDOW_UPDATE: Http2Connection._window_update,
    _CONTINUATION: Http2Connection._continuation,
}


def _unpadded(flags: int, payload: bytes) -> bytes:
    if not flags & _PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise _ViolatedBound("more padding than frame")
    return payload[1 : len(payload) - payload[0]]
