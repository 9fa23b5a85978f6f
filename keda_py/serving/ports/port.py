"""A port with limits, TLS or plain: what all servers of the process have in common, whichever HTTP code they use.

Handshake, request and answer have a time limit each; a slower client is disconnected, and a full port drops connections
by `table.py`, so that no number of slow clients keeps the others waiting. Idle connections live longer than those of
Go's clients (90 s), so that the client closes first: a server that closes an idle connection may lose a request that is
already on its way. Connections are accepted a few at a time, so that a flood of them leaves the loop free for others.
"""

import asyncio
import errno
import logging
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from keda_py.serving.ports.listening import descriptors, listen
from keda_py.serving.ports.shared_buffer import BUFFER_BYTES, SharedBufferProtocol
from keda_py.serving.ports.table import PortLimits, Seat, Table

log = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
GRACE_SECONDS = 2.0
ACCEPTED_AT_ONCE = 16
PAUSE_SECONDS = 0.1
"""Wait after an accept that failed for lack of descriptors or memory."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class LimitedPort(ABC):
    """Accepts connections and gives each a seat; a subclass makes the protocol of each, and answers."""

    def __init__(self, limits: PortLimits | None = None) -> None:
        self.limits = limits or PortLimits()
        # A quarter of the descriptors at most: the API server's and sources' connections need the rest.
        self._table = Table(min(self.limits.connections, descriptors() // 4))
        self._tls: ssl.SSLContext | None = None
        # One buffer for all TLS connections; see `SharedBufferProtocol`.
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._listeners: Sequence[socket.socket] = ()
        self._opening: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._wires: set[asyncio.Transport] = set()
        self.is_leaving = False
        self.on_first_client: Callable[[], object] = _do_nothing
        """Called with each connection that is the only one."""

    @abstractmethod
    def connect(self, seat: Seat) -> asyncio.Protocol:
        """Make the protocol of a new connection; it calls `enter` when it is made and `depart` when it is lost."""

    @abstractmethod
    async def finish(self) -> None:
        """Answer the requests under way within the grace period; no others come."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen and return the port, which matters if `port` was 0. Host "" is every interface. Raises OSError."""
        listeners = await listen(host, port)
        await self.serve(listeners, tls)
        return int(listeners[0].getsockname()[1])

    async def serve(self, listeners: Sequence[socket.socket], tls: ssl.SSLContext | None) -> None:
        """Accept connections on listening sockets, TLS or plain; the server closes them when it ends."""
        self._listeners, self._tls = listeners, tls
        for listener in listeners:
            self._listen(listener)

    def leave(self) -> None:
        """Close each connection after its next answer, so that clients with keep-alive move to another server."""
        self.is_leaving = True

    def stop_listening(self) -> None:
        """Accept no more connections, from this very moment on; those that are open are served."""
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        self._listeners = ()

    async def aclose(self) -> None:
        """Stop listening, answer requests under way within the grace period, then close every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        self.stop_listening()
        for opening in tuple(self._opening):
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        await self.finish()
        for wire in tuple(self._wires):  # a graceful TLS close waits for the client, which may never answer
            wire.abort()
        # One turn of the loop, in which the aborted connections report `connection_lost`.
        await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """Return how many connections are open, handshakes included."""
        return len(self._table)

    def enter(self, seat: Seat, wire: asyncio.Transport) -> None:
        """Record that a connection is open, and time its first request: a client may not connect and send nothing."""
        self._wires.add(wire)
        seat.drop, seat.is_closing, seat.is_open = wire.abort, wire.is_closing, True
        seat.reading_since = asyncio.get_running_loop().time()

    def depart(self, seat: Seat, wire: asyncio.Transport) -> None:
        """Free the seat of a connection that is lost."""
        self._wires.discard(wire)
        self._table.leave(seat)

    def _listen(self, listener: socket.socket) -> None:
        if listener in self._listeners:  # it may have been closed during the pause
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Accept up to ACCEPTED_AT_ONCE waiting connections."""
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                wire, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    continue  # the client has disconnected already; the errno differs by system
                # Without a pause the loop would spin: the listener stays readable while no descriptor is free.
                self._table.make_room()
                loop.remove_reader(listener)
                loop.call_later(PAUSE_SECONDS, self._listen, listener)
                return
            wire.setblocking(False)
            self._welcome(wire, Seat(str(address[0]), loop.time()))

    def _welcome(self, wire: socket.socket, seat: Seat) -> None:
        if not self._table.take(seat):
            wire.close()
            return
        if self._sweeping is None:
            self._sweep()
        if self.connections == 1:
            self.on_first_client()
        opening = asyncio.get_running_loop().create_task(self._open(wire, seat))
        seat.drop = opening.cancel
        self._opening.add(opening)
        opening.add_done_callback(partial(self._opened, wire, seat))

    async def _open(self, wire: socket.socket, seat: Seat) -> None:
        """Run the TLS handshake, if there is one, and hand the connection to its protocol."""
        limits = {"ssl_handshake_timeout": self.limits.handshake, "ssl_shutdown_timeout": GRACE_SECONDS}
        await asyncio.get_running_loop().connect_accepted_socket(
            partial(self._connect, seat), wire, ssl=self._tls, **(limits if self._tls is not None else {})
        )

    def _opened(self, wire: socket.socket, seat: Seat, opening: asyncio.Task[None]) -> None:
        self._opening.discard(opening)
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not isinstance(error, OSError):
            log.error("connection could not be opened", exc_info=error)
        if error is not None or opening.cancelled():
            self._table.leave(seat)
            wire.close()

    def _connect(self, seat: Seat) -> asyncio.BaseProtocol:
        connection = self.connect(seat)
        return SharedBufferProtocol(connection, self._buffer) if self._tls is not None else connection

    def _sweep(self) -> None:
        """Disconnect slow clients, once a second while there are connections."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for seat in [seat for seat in self._table if seat.is_too_slow(self.limits, GRACE_SECONDS, now)]:
            log.debug("slow client cut off", extra={"peer": seat.address})
            seat.drop()
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep) if len(self._table) else None


def certificate_of(transport: asyncio.BaseTransport) -> bytes | None:
    """Return a client's certificate (DER), if it has shown one; TLS 1.3 and our options allow no second handshake."""
    tls = transport.get_extra_info("ssl_object")
    return tls.getpeercert(binary_form=True) if isinstance(tls, ssl.SSLObject) else None


def _do_nothing() -> None:
    pass
