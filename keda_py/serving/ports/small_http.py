"""HTTP/1.1 for a process that has to be small: one function answers the requests of a port, and h11 reads them.

aiohttp takes 12 MB, most of it for clients, cookies and forms, and the process of the admission webhook has no other
use for it. In exchange there are no routes and no streams: a request is a head, and a body that the function may ask
for; an answer is a status and a text. As with the other servers, the requests of a connection are answered in order,
and a client is read only as fast as it is answered: what comes and is not asked for yet stops the reading.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import h11

from keda_py.clock import SystemClock
from keda_py.serving.ports.port import GRACE_SECONDS, LimitedPort, certificate_of
from keda_py.serving.ports.table import PortLimits, Seat

log = logging.getLogger(__name__)

HEAD_BYTES = 16 * 1024
"""h11 is given so many bytes at once and refuses a longer part of a head, so that no head has twice as many."""
LINGER_SECONDS = 1.0
"""A connection is read on for so long after an answer that came before the end of its request: where bytes are left
unread, the kernel resets the connection, and the client may never see the answer."""
PIECES_AT_ONCE = 64
"""After so many pieces of a body others have their turn: h11 takes 10 us for each, and a chunk may have one byte."""
_UNFINISHED = (h11.SEND_BODY, h11.ERROR)


class BrokenBody(Exception):
    """Refusal of a body that ends early, or has not the form that its head promises."""


class LongBody(Exception):
    """Refusal of a body that is longer than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallAnswer:
    """Status, body and its type."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class SmallRequest:
    """Head of a request, and its body for as long as it is being answered."""

    def __init__(self, head: h11.Request, connection: "SmallConnection") -> None:
        self._headers, self._connection = {bytes(name): bytes(value) for name, value in head.headers}, connection
        self.method = head.method.decode("ascii")
        self.path = head.target.partition(b"?")[0].decode("latin-1")

    def header(self, name: str) -> str:
        """Return a header by its name in lower case: the last one of several, "" without one."""
        return self._headers.get(name.encode(), b"").decode("latin-1")

    @property
    def address(self) -> str:
        """Return the client's address."""
        return self._connection.seat.address

    @property
    def certificate(self) -> bytes | None:
        """Return the client's certificate (DER), if it has shown one."""
        return self._connection.certificate

    async def body(self, most: int) -> bytes:
        """Read the body. Raises LongBody above `most` bytes, or BrokenBody."""
        return await self._connection.body(most)


class SmallServer(LimitedPort):
    """Server whose `answer` gets every request, and bounds the body and its own time."""

    def __init__(
        self, answer: Callable[[SmallRequest], Awaitable[SmallAnswer]], limits: PortLimits | None = None
    ) -> None:
        super().__init__(limits)
        self.answer = answer
        self._serving: dict[asyncio.Task[None], SmallConnection] = {}

    def connect(self, seat: Seat) -> asyncio.Protocol:
        """Make the protocol of a connection."""
        return SmallConnection(self, seat)

    def serve_connection(self, connection: "SmallConnection") -> None:
        """Answer the requests of a connection until it ends."""
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._serving[task] = connection
        task.add_done_callback(self._serving.pop)

    async def finish(self) -> None:
        """Answer the requests under way; idle connections end at once."""
        self.leave()
        serving = dict(self._serving)
        for task, connection in serving.items():
            if connection.seat.answering_since is None:
                task.cancel()
        if serving:
            _, late = await asyncio.wait(serving, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class SmallConnection(asyncio.Protocol):
    """HTTP connection with its `seat` and the client's `certificate` (DER), if any."""

    def __init__(self, server: SmallServer, seat: Seat) -> None:
        self.seat, self._server = seat, server
        self.certificate: bytes | None = None
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[bytes] = deque()
        self._awaited: asyncio.Future[None] | None = None
        """Set while more bytes of the client are waited for."""
        self._unwritten: asyncio.Future[None] | None = None
        """Set while the client does not read what was sent."""
        self._is_paused = self._has_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = cast(asyncio.Transport, transport)  # uvloop's transport does not inherit from asyncio's
        self.certificate = certificate_of(transport)
        self._server.enter(self.seat, self._wire)
        self._server.serve_connection(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        self._server.depart(self.seat, self._wire)
        _wake(self._awaited)
        _wake(self._unwritten)

    def data_received(self, data: bytes) -> None:
        """Keep the bytes for `serve`, and read no more unless it waits for them."""
        if self.seat.reading_since is None and self.seat.answering_since is None:
            self.seat.reading_since = self._loop.time()
        self._pieces.extend(data[start : start + HEAD_BYTES] for start in range(0, len(data), HEAD_BYTES))
        if self._awaited is None or self._awaited.done():
            self._is_paused = True
            self._wire.pause_reading()
        _wake(self._awaited)

    def pause_writing(self) -> None:
        self._unwritten = self._loop.create_future()

    def resume_writing(self) -> None:
        _wake(self._unwritten)
        self._unwritten = None

    async def serve(self) -> None:
        """Answer one request after the other, until the client or the server ends the connection."""
        try:
            while await self._exchange():
                self._http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            log.debug("malformed request", extra={"peer": self.seat.address, "error": str(error)})
            self._send(_bare(error.error_status_hint), is_last=True)
            await self._linger()
        finally:
            self._wire.close()

    async def body(self, most: int) -> bytes:
        """Read the body of the request that is being answered. Raises LongBody above `most` bytes, or BrokenBody."""
        if self._http.they_are_waiting_for_100_continue:
            self._wire.write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
        whole, pieces = bytearray(), 0
        try:
            while isinstance(event := await self._event(), h11.Data):
                whole += event.data
                if len(whole) > most:
                    raise LongBody
                if not (pieces := pieces + 1) % PIECES_AT_ONCE:
                    await asyncio.sleep(0)
        except h11.RemoteProtocolError as error:
            raise BrokenBody(str(error)) from None
        return bytes(whole)

    async def _exchange(self) -> bool:
        """Answer one request; return whether another one may follow."""
        head = await self._event()
        if not isinstance(head, h11.Request):
            return False
        self.seat.answering_since, self.seat.reading_since = self._loop.time(), None
        answer = await self._answer(SmallRequest(head, self))
        self._skip_body()
        is_whole = self._http.their_state not in _UNFINISHED
        self._send(answer, is_last=self._server.is_leaving or not is_whole, has_body=head.method != b"HEAD")
        if self._unwritten is not None:
            await self._unwritten
        now = self._loop.time()
        has_more = bool(self._pieces or self._http.trailing_data[0])
        self.seat.answering_since, self.seat.idle_since = None, now
        self.seat.reading_since = now if has_more else None
        if not is_whole:
            await self._linger()
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _answer(self, request: SmallRequest) -> SmallAnswer:
        try:
            return await self._server.answer(request)
        except Exception:  # one failing request must not end the others
            log.exception("request failed")
            return _bare(500)

    async def _event(self) -> object:
        """Return h11's next event. Raises h11.RemoteProtocolError."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._piece())
        return event

    async def _piece(self) -> bytes:
        """Return the next bytes that the client has sent; b"" at the end."""
        while not self._pieces and not self._has_ended:
            if self._is_paused and not self._wire.is_closing():
                self._is_paused = False
                self._wire.resume_reading()
            self._awaited = self._loop.create_future()
            await self._awaited
        return self._pieces.popleft() if self._pieces else b""

    def _skip_body(self) -> None:
        """Drop what has come of a body that was not read, so that a short one does not end the connection."""
        with suppress(h11.RemoteProtocolError):
            while self._http.their_state is h11.SEND_BODY:
                if self._http.next_event() is h11.NEED_DATA:
                    if not self._pieces:
                        return
                    self._http.receive_data(self._pieces.popleft())

    def _send(self, answer: SmallAnswer, *, is_last: bool, has_body: bool = True) -> None:
        """Write an answer at once, unless the client has gone."""
        if self._wire.is_closing() or self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("Date", f"{SystemClock().now():%a, %d %b %Y %H:%M:%S} GMT"),
            *([("Connection", "close")] if is_last else ()),
        ]
        reason = HTTPStatus(answer.status).phrase.encode()
        parts: list[h11.Event] = [h11.Response(status_code=answer.status, headers=headers, reason=reason)]
        parts += [h11.Data(data=answer.body)] if has_body else []
        self._wire.write(b"".join(self._http.send(part) or b"" for part in (*parts, h11.EndOfMessage())))

    async def _linger(self) -> None:
        """Read and drop what still comes, for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await self._piece():
                    pass


def _bare(status: int) -> SmallAnswer:
    """Return an answer of nothing but the status."""
    return SmallAnswer(status=status, body=HTTPStatus(status).phrase.encode())


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
