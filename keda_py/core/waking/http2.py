"""HTTP/2 between a client and a pod, as far as a waker has to know it: where frames begin. Pure.

A client of gRPC gives a connection up after 20 s without the server's SETTINGS, so a waker sends empty ones in its own
name; the client acknowledges them, and the pod must not see that, since it would count as an error. And a connection
is asked to end by GOAWAY, which may stand between two frames only. `waker/connection.py` uses both.
"""

from keda_py.core.waking.sniffing import PREFACE

HEADER = 9
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""No settings: the defaults hold until the pod's own come."""
_HEADERS, _SETTINGS, _ACK, _GOAWAY = 1, 4, 1, 7
_EVERY_STREAM = 2**31 - 1


def goaway(last_stream: int) -> bytes:
    """Return a GOAWAY frame without an error; streams above `last_stream` were not served, and may be sent again."""
    return bytes((0, 0, 8, _GOAWAY, 0, 0, 0, 0, 0)) + last_stream.to_bytes(4, "big") + bytes(4)


LEAVE = goaway(_EVERY_STREAM)
"""The client shall open no more streams here; those that are open go on."""
TRY_AGAIN = goaway(0)
"""Nothing was served."""


def find_request(data: bytes | bytearray, at: int) -> tuple[bool, int]:
    """Look for the first HEADERS frame of a client, from the frame that begins at `at`; return where to go on as well.

    Preface and SETTINGS alone ask for nothing: checks that only connect send them, and channels opened in advance.
    """
    while at + HEADER <= len(data):
        if data[at + 3] == _HEADERS:
            return True, at
        at += HEADER + int.from_bytes(data[at : at + 3], "big")
    return False, at


class AcknowledgedSettings:
    """Takes the first acknowledgement of SETTINGS, the answer to ours, out of what a client sends after its preface."""

    __slots__ = ("_header", "_payload", "is_done")

    def __init__(self) -> None:
        self._header = b""
        self._payload = 0
        """Bytes of the frame under way that are still to come."""
        self.is_done = False

    def feed(self, data: bytes) -> bytes:
        """Return what is to be passed on; the beginning of a header waits until it is whole."""
        passed, at = bytearray(), 0
        while at < len(data) and not self.is_done:
            if self._payload:
                piece = data[at : at + self._payload]
                passed += piece
                at, self._payload = at + len(piece), self._payload - len(piece)
                continue
            piece = data[at : at + HEADER - len(self._header)]
            self._header, at = self._header + piece, at + len(piece)
            if len(self._header) == HEADER:
                passed += self._take_header()
        return bytes(passed) + data[at:]

    def _take_header(self) -> bytes:
        header, self._header = self._header, b""
        if header[3] == _SETTINGS and header[4] & _ACK:
            self.is_done = True
            return b""
        self._payload = int.from_bytes(header[:3], "big")
        return header


class FrameEnds:
    """Finds where frames end in what a pod sends, so that one of ours can stand between two of them."""

    __slots__ = ("_header", "_left")

    def __init__(self) -> None:
        self._header = b""
        self._left = 0

    @property
    def between(self) -> bool:
        """Return whether all that was fed ends with a whole frame."""
        return not self._header and not self._left

    def feed(self, data: bytes) -> int:
        """Go on over the data; return up to which byte of it whole frames reach, -1 if no frame ends in it."""
        at, end = 0, -1
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                at, self._left = at + step, self._left - step
            else:
                piece = data[at : at + HEADER - len(self._header)]
                self._header, at = self._header + piece, at + len(piece)
                if len(self._header) < HEADER:
                    break
                self._left, self._header = int.from_bytes(self._header[:3], "big"), b""
            if self.between:
                end = at
        return end


class Http2Passage:
    """State of one HTTP/2 connection on its way through a waker: what each side is to see of it."""

    __slots__ = ("_acknowledged", "_began", "_ends", "_leaves", "_preface")

    def __init__(self) -> None:
        self._acknowledged: AcknowledgedSettings | None = None
        self._ends = FrameEnds()
        self._began = self._leaves = False
        self._preface = len(PREFACE)
        """Bytes of the preface that are still to be passed on."""

    def greet(self) -> bytes:
        """Return SETTINGS of ours for the client; its answer to them is kept from the pod."""
        self._acknowledged = AcknowledgedSettings()
        return SETTINGS

    def to_pod(self, data: bytes) -> bytes:
        """Return what the pod gets of the client's bytes."""
        if self._acknowledged is None or self._acknowledged.is_done:
            return data
        preface, rest = data[: self._preface], data[self._preface :]
        self._preface -= len(preface)
        return preface + self._acknowledged.feed(rest)

    def to_client(self, data: bytes) -> bytes:
        """Return what the client gets of the pod's bytes, with our GOAWAY after a frame if it shall leave."""
        end = self._ends.feed(data)
        self._began = self._began or end >= 0
        if not self._leaves or end < 0:
            return data
        self._leaves = False
        return data[:end] + LEAVE + data[end:]

    def leave(self) -> bytes:
        """Ask the client to open no more streams; return what it gets at once, b"" while a frame is under way."""
        # The pod's first frame has to be SETTINGS, so nothing may come before it.
        if self._began and self._ends.between:
            return LEAVE
        self._leaves = True
        return b""
