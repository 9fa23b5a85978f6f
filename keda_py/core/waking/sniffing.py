"""Protocol of a connection, by its first bytes. Sniffing never changes bytes: what is not known is passed on as it is.

In: all bytes read so far. Out: what they are, or `None` while more are needed. `waker/connection.py` asks after each
read; `answers.py` decides on an HTTP request. Every decision is made from a bounded number of bytes, and a head is
searched once, however small the pieces are in which it comes.
"""

import re  # noqa: TID251  # constant patterns without nested repeats, over at most MOST_HEAD bytes
from dataclasses import dataclass
from typing import TypeAlias

MOST_HEAD = 32 * 1024
"""Bytes of an HTTP head. Servers bound it by 8 KiB (nginx, Apache) to 16 KiB (Node.js), so no real one is longer."""
MOST_LINE = 16 * 1024
MOST_HEADERS = 200
PROBE = b"PRI-KEDA-PY-PROBE "
MOST_PROBE = 128
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_END = b"\r\n\r\n"
_REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]{1,19}) ([\x21-\xff]+) HTTP/(1\.[01])\r\n")
_BEGINNING = re.compile(rb"[A-Z][A-Z-]{0,19}( [\x21-\xff]*( (H(T(T(P(/(1(\.([01]\r?)?)?)?)?)?)?)?)?)?)?")
"""Any beginning of a request line."""
_REST = re.compile(rb"[\x20-\xff]*\r?")
_HANDSHAKE, _CLIENT_HELLO, _RECORD_HEADER, _LONGEST_RECORD = 0x16, 1, 5, 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpHead:
    """Head of an HTTP/1 request. Names of headers are in lower case; of a repeated header the first one counts."""

    method: str
    target: str
    version: str
    headers: dict[str, str]
    length: int
    """Bytes up to the body, the empty line included."""

    @property
    def may_repeat(self) -> bool:
        """Return whether the request may be sent twice without harm: it reads, and has no body."""
        has_body = "transfer-encoding" in self.headers or self.headers.get("content-length", "0") != "0"
        return self.method in ("GET", "HEAD", "OPTIONS") and not has_body and "upgrade" not in self.headers

    @property
    def path(self) -> str:
        """Return the target without its query, also of a target that names a host, as requests to proxies do."""
        target = self.target
        if target.startswith(("http://", "https://")):
            target = "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
        return target.partition("?")[0]


@dataclass(frozen=True, slots=True)
class H2Preface:
    """HTTP/2 without TLS, gRPC for example."""


@dataclass(frozen=True, slots=True)
class ClientHello:
    """TLS."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The operator asks whether this port stands for the Service of that uid."""

    uid: str


@dataclass(frozen=True, slots=True)
class UnknownProtocol:
    """Anything else, such as the wire protocol of a database."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """HTTP with a head over the bounds."""


Sniffed: TypeAlias = HttpHead | H2Preface | ClientHello | Probe | UnknownProtocol | TooLong


def sniff(data: bytes | bytearray, seen: int = 0) -> Sniffed | None:
    """Return what the first bytes of a connection are, None while more are needed.

    `seen` is how many of them an earlier call has seen.
    """
    if not data:
        return None
    if data[0] == _HANDSHAKE:
        return _sniff_tls(data)
    if data[:3] == b"PRI"[: len(data)] and (found := _sniff_magic(data)) is not _NOT_MAGIC:
        return found
    return _sniff_http(data, seen)


_NOT_MAGIC = UnknownProtocol()


def _sniff_magic(data: bytes | bytearray) -> Sniffed | None:
    """Recognise what begins with PRI: HTTP/2's preface, and the operator's probe; `_NOT_MAGIC` for neither."""
    data = bytes(data[:MOST_PROBE])
    if data.startswith(PREFACE):
        return H2Preface()
    if data.startswith(PROBE):
        line, ended, _ = data[len(PROBE) :].partition(b"\r\n")
        if not ended:
            return UnknownProtocol() if len(data) >= MOST_PROBE else None
        return Probe(line.decode("ascii", "replace"))
    if any(magic.startswith(data) for magic in (PREFACE, PROBE)):
        return None
    return _NOT_MAGIC


def _sniff_tls(data: bytes | bytearray) -> Sniffed | None:
    """Recognise TLS once the whole first record is there, so that half of a ClientHello wakes nothing."""
    if len(data) >= 2 and data[1] != 3:
        return UnknownProtocol()
    if len(data) <= _RECORD_HEADER:
        return None
    length = int.from_bytes(data[3:_RECORD_HEADER], "big")
    if data[_RECORD_HEADER] != _CLIENT_HELLO or not 4 <= length <= _LONGEST_RECORD:
        return UnknownProtocol()
    return ClientHello() if len(data) >= _RECORD_HEADER + length else None


def _sniff_http(data: bytes | bytearray, seen: int) -> Sniffed | None:
    line = data.find(b"\n", 0, MOST_LINE)
    if line < 0:
        if len(data) >= MOST_LINE:
            return TooLong() if _BEGINNING.fullmatch(data, 0, MOST_LINE) else UnknownProtocol()
        # Of a longer line only what is new is matched, so that a head in single bytes costs its length once.
        matches = _REST.fullmatch(data, seen) if seen > 64 else _BEGINNING.fullmatch(data)
        return None if matches else UnknownProtocol()
    first = _REQUEST_LINE.match(data, 0, line + 1)
    if first is None:
        return UnknownProtocol()
    end = data.find(_END, max(seen - len(_END), line - 1), MOST_HEAD)
    if end < 0:
        return TooLong() if len(data) >= MOST_HEAD else None
    lines = bytes(data[line + 1 : end]).split(b"\r\n") if end > line else []
    if len(lines) > MOST_HEADERS:
        return TooLong()
    method, target, version = (group.decode("latin-1") for group in first.groups())
    headers = _headers(lines)
    return HttpHead(method=method, target=target, version=version, headers=headers, length=end + len(_END))


def _headers(lines: list[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            found.setdefault(name.lower(), value.strip(" \t"))
    return found


def closing(data: bytes | bytearray, head: HttpHead) -> bytes:
    """Return the bytes with `Connection: close` in the request's head, so that the client leaves after its answer.

    A request that switches protocols keeps its head, and so does one whose head is not plain: nothing is guessed about
    requests that other servers may read in another way.
    """
    if "upgrade" in head.headers or "upgrade" in head.headers.get("connection", "").lower():
        return bytes(data)
    first, *lines = bytes(data[: head.length - len(_END)]).split(b"\r\n")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return bytes(data)
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _CONNECTION]
    return b"\r\n".join([first, *kept, b"Connection: close", b"", b""]) + bytes(data[head.length :])


_CONNECTION = (b"connection", b"keep-alive", b"proxy-connection")
