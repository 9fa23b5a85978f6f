"""One connection of a client, from its first byte until a pod has it, or until it got an answer of ours.

The bytes are read into one buffer that all connections share, kept within bounds, and sniffed
(`core/waking/sniffing.py`). `service_port.py` decides on what was found, and opens the connection to a pod; from then
on bytes go both ways, each side reading only as fast as the other one writes. Rule: nothing of a request is kept or
logged beyond the connection, and bytes are changed in one place only, `Connection: close` in the first head.
"""

import asyncio
import socket
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from keda_py.core.waking.http2 import Http2Passage, find_request
from keda_py.core.waking.sniffing import PREFACE, H2Preface, HttpHead, Sniffed, UnknownProtocol, closing, sniff
from keda_py.waker.seats import Place

if TYPE_CHECKING:
    from keda_py.waker.service_port import ServicePort

WRITE_BYTES = 64 * 1024
"""Bytes that wait for a slow side before the other one is read no more."""


class Phase(Enum):
    """Sniffing: not known what it is. Waiting: for a pod. Open: a pod has it. Ending: our answer is on its way."""

    SNIFFING = auto()
    WAITING = auto()
    OPEN = auto()
    ENDING = auto()
    CLOSED = auto()


class PodSide(asyncio.BufferedProtocol):
    """Connection to a pod; everything it receives is the client's."""

    __slots__ = ("_buffer", "_early", "_lost", "client", "transport")

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self.transport: asyncio.Transport | None = None
        self.client: Connection | None = None
        self._early = b""
        """What came before a client was there; a server that speaks first does so at once."""
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what waits to be written."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(WRITE_BYTES)
        _keep_alive(self.transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the shared buffer; `buffer_updated` empties it before anything else runs."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what came."""
        if self.client is not None:
            self.client.send(bytes(self._buffer[:nbytes]))
            return
        assert self.transport is not None
        self._early += bytes(self._buffer[:nbytes])
        self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Pass on the end of one direction; the other one may go on."""
        if self.client is None:
            return False
        self.client.end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the client's connection in the same way: in order, or by a reset."""
        self._lost = True
        if self.client is not None:
            self.client.pod_lost(exc)

    def serve(self, client: "Connection") -> None:
        """Pass on to this client what has come already, and all that comes."""
        assert self.transport is not None
        self.client = client
        if self._early:
            early, self._early = self._early, b""
            client.send(early)
        if not self._lost:
            self.transport.resume_reading()

    @property
    def is_lost(self) -> bool:
        """Return whether the pod has ended the connection before a client had it."""
        return self._lost

    def pause_writing(self) -> None:
        if self.client is not None:
            self.client.read(wanted=False)

    def resume_writing(self) -> None:
        if self.client is not None:
            self.client.read(wanted=True)


class Connection(asyncio.BufferedProtocol):
    """Connection of a client to one port of a Service."""

    __slots__ = (
        "_again", "_buffer", "_ended", "_http2", "_kept", "_reading", "_seen", "address", "asked", "asks", "heard",
        "is_known", "phase", "place",
        "pod", "pod_ended", "port", "since", "sniffed", "transport",
    )  # fmt: skip

    def __init__(self, port: "ServicePort", buffer: memoryview) -> None:
        self.port, self._buffer = port, buffer
        self.transport: asyncio.Transport | None = None
        self.phase = Phase.SNIFFING
        self.place: Place | None = None
        self.pod: PodSide | None = None
        self.pod_ended = False
        """Whether the pod has ended its direction."""
        self.sniffed: Sniffed | None = None
        self.is_known = False
        """Whether bytes told what it is; a silent connection is only taken for something."""
        self.asks = False
        """Whether its bytes ask for something: those by which an HTTP/2 connection only begins do not."""
        self.address = ""
        self.since = 0.0
        """When the phase began, on the loop's time."""
        self.heard = 0.0
        """When the first byte came, 0.0 before."""
        self._kept: bytearray | None = bytearray()
        """Bytes that no pod has got yet; None once they are passed on."""
        self.asked = 0.0
        """When it began to wait for a pod."""
        self._again: bytearray | None = None
        """A whole request that a pod has got and not answered, if another pod may get it as well."""
        self._seen = 0
        self._http2: Http2Passage | None = None
        self._ended = False
        self._reading = True

    # What the client does

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, or go."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(WRITE_BYTES)
        _keep_alive(self.transport)
        self.address = str((self.transport.get_extra_info("peername") or ("",))[0])
        self.port.admit(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the part of the shared buffer that may be read."""
        return self._buffer if self._kept is None else self._buffer[: max(self.port.room(len(self._kept)), 1)]

    def buffer_updated(self, nbytes: int) -> None:
        """Pass bytes on, or keep and sniff them."""
        if self.phase in (Phase.ENDING, Phase.CLOSED):
            return
        data = bytes(self._buffer[:nbytes])
        if self._kept is None:
            self._forget_request()
            data = data if self.heard else self._first(data)
            self._pass_on(data if self._http2 is None else self._http2.to_pod(data))
            return
        self._keep(data)
        if not self.is_known:
            found = sniff(self._kept, self._seen)
            self._seen = self.kept
            if found is not None:
                self._know(found)
        elif not self.asks and self._look_for_request():
            self.port.wake_by(self)

    def _keep(self, data: bytes) -> None:
        assert self._kept is not None
        self._kept += data
        self.port.keep(len(data))
        self.heard = self.heard or asyncio.get_running_loop().time()
        if self.port.room(len(self._kept)) <= 0:
            self.read(wanted=False)

    def _first(self, data: bytes) -> bytes:
        """Return the first bytes of a client that was silent until a pod had it; HTTP is asked to leave here, too."""
        self.heard = asyncio.get_running_loop().time()
        found = sniff(data)
        if isinstance(found, H2Preface):
            self._http2 = Http2Passage()
        return closing(data, found) if isinstance(found, HttpHead) else data

    def eof_received(self) -> bool:
        """Take the end for the client's leave where its protocol never ends one direction alone."""
        self._ended = True
        if self._http2 is not None:  # it ends both directions at once, and some servers go on after half of an end
            return False
        if self.phase is Phase.OPEN and self._kept is None:
            self._end_pod()
            return not self.pod_ended  # with both directions ended, nothing more can come
        # `nc`, and some clients of line protocols, end their direction and still wait for what comes back.
        return self.phase is Phase.WAITING and isinstance(self.sniffed, UnknownProtocol) and bool(self._kept)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free everything, and end the pod's side in the same way."""
        self._drop_kept()
        self._forget_request()
        self.port.leave(self)
        if self.pod is not None and self.pod.transport is not None:
            pod, self.pod = self.pod, None
            pod.client = None
            assert pod.transport is not None
            pod.transport.abort() if exc is not None else pod.transport.close()

    def pause_writing(self) -> None:
        if self.pod is not None and self.pod.transport is not None:
            self.pod.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.pod is not None and self.pod.transport is not None and not self.pod.transport.is_closing():
            self.pod.transport.resume_reading()

    # What the port does

    def assume(self, sniffed: Sniffed) -> None:
        """Take a silent connection for that until its first bytes tell: browsers open connections in advance."""
        if self.sniffed is None:
            self.sniffed = sniffed
            self.port.found(self, sniffed)

    def _know(self, found: Sniffed) -> None:
        self.sniffed, self.is_known = found, True
        if isinstance(found, H2Preface):
            self._http2, self._seen = Http2Passage(), len(PREFACE)
            self._look_for_request()
        else:
            self.asks = True
        self.port.found(self, found)

    def _look_for_request(self) -> bool:
        """Look for a request of HTTP/2 in what came since the last look; return whether there is one."""
        self.asks, self._seen = find_request(self._kept or b"", self._seen)
        return self.asks

    def take(self, pod: PodSide) -> None:
        """Go on with a pod that has accepted: it gets what was read, and all that comes."""
        self.pod, self.pod_ended = pod, False
        data = bytes(self._kept or b"")
        if isinstance(self.sniffed, HttpHead):
            if self.sniffed.may_repeat and len(data) == self.sniffed.length:
                self._again, self._kept = self._kept, None
            data = closing(data, self.sniffed)
        if self._http2 is not None:
            data = self._http2.to_pod(data)
        self._drop_kept()
        self.read(wanted=True)
        if data:
            self._pass_on(data)
        if self._ended:
            self._end_pod()
        pod.serve(self)

    def answer(self, data: bytes) -> None:
        """Send our own answer, the last thing on this connection.

        Only our direction is ended: closed at once while the client still sends a body, the system would reset the
        connection, and the client would never read the answer.
        """
        assert self.transport is not None
        self._drop_kept()
        self.read(wanted=True)
        self.transport.write(data)
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()

    def close(self) -> None:
        """End it without a word, after what has been written."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Drop the connection with what has not been written yet."""
        if self.transport is not None:
            self.transport.abort()

    def read(self, *, wanted: bool) -> None:
        """Read from the client, or leave its bytes where they are."""
        if self.transport is None or self.transport.is_closing() or wanted is self._reading:
            return
        self._reading = wanted
        self.transport.resume_reading() if wanted else self.transport.pause_reading()

    @property
    def kept(self) -> int:
        """Return how many bytes are kept."""
        return len(self._kept) if self._kept is not None else 0

    # What the pod does

    def send(self, data: bytes) -> None:
        """Pass the pod's bytes on."""
        assert self.transport is not None
        self._forget_request()
        self.port.count_bytes(len(data))
        self.transport.write(data if self._http2 is None else self._http2.to_client(data))

    def greet(self) -> None:
        """Let a client of HTTP/2 go on waiting: without the server's SETTINGS it would give the connection up."""
        if self._http2 is not None and self.transport is not None:
            self.transport.write(self._http2.greet())

    def ask_to_leave(self) -> None:
        """Ask the client to open a connection anew, which leads to a pod, where its protocol has words for that."""
        if self._http2 is not None and self.transport is not None and (words := self._http2.leave()):
            self.transport.write(words)

    def end(self) -> None:
        """Tell the client that no more will come."""
        self.pod_ended = True
        if self._again is not None and not self._ended:
            self._wait_again()
        elif self._ended:
            self.close()
        elif self.transport is not None and self.transport.can_write_eof() and not self.transport.is_closing():
            with suppress(OSError):  # the client is gone already
                self.transport.write_eof()

    def pod_lost(self, exc: Exception | None) -> None:
        """End the connection as the pod has ended it."""
        self.pod = None
        if self._again is not None and not self._ended:
            self._wait_again()
        elif exc is not None:
            self.abort()
        else:
            self.close()

    def _wait_again(self) -> None:
        """Have another pod answer: this one accepted, and ended the connection without a byte, as a proxy in front of
        an application does that has not started yet.
        """
        if self.pod is not None and self.pod.transport is not None:
            self.pod.client = None
            self.pod.transport.abort()
        self.pod, self._kept, self._again = None, self._again, None
        self.port.wait_again(self)

    def _forget_request(self) -> None:
        if self._again is not None:
            self.port.keep(-len(self._again))
            self._again = None

    def _pass_on(self, data: bytes) -> None:
        if self.pod is not None and self.pod.transport is not None and not self.pod.transport.is_closing():
            self.port.count_bytes(len(data))
            self.pod.transport.write(data)

    def _end_pod(self) -> None:
        pod = self.pod.transport if self.pod is not None else None
        if pod is not None and pod.can_write_eof() and not pod.is_closing():
            with suppress(OSError):  # the pod is gone already
                pod.write_eof()

    def _drop_kept(self) -> None:
        if self._kept is not None:
            self.port.keep(-len(self._kept))
            self._kept = None


def _keep_alive(transport: asyncio.Transport) -> None:
    """Let the system find out that a silent other side is gone, which may be after hours of an idle connection."""
    found = transport.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
