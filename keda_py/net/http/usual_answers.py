"""Answers of the usual kind: the whole in one piece, its length in Content-Length, nothing packed.

aiohttp's parser takes 15 us to be made and to parse one, this file a third. What it does not take for usual, aiohttp's
parser reads from the first byte on. Rule of this file: an answer that it takes is the one that aiohttp's parser reads.
"""

from functools import lru_cache

import re2

_MOST_BYTES = 4 * 1024
"""Bytes of the head."""
_MOST_FIELDS = 64
_MOST_KEPT = 256
"""Names of fields, and first lines, that are kept checked: sources send the same ones again and again."""

_BLANKS = b" \t"
_TEXT = bytes([9, *range(32, 127)])
_FIRST_LINE = re2.compile(rb"HTTP/1\.1 ([2-5][0-9]{2}) ([!-~](?:[ -~]*[!-~])?)?")
_IN_NAMES = b"!#$%&'*+-.^_`|~" + bytes(byte for byte in range(128) if chr(byte).isalnum())


class UsualAnswer:
    """Head of an answer, with the names that aiohttp's messages have."""

    __slots__ = ("_lines", "code", "reason")

    def __init__(self, code: int, reason: str, lines: list[bytes]) -> None:
        self.code, self.reason, self._lines = code, reason, lines

    @property
    def raw_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        fields = (line.split(b":", 1) for line in self._lines)
        return tuple((name, value.strip(_BLANKS)) for name, value in fields)


def usual_answer(data: bytes) -> tuple[UsualAnswer, bytes] | None:
    """Return the answer that these bytes are; None if they are none of the usual kind."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end or len(head) > _MOST_BYTES:
        return None
    first, *lines = head.split(b"\r\n")
    # Besides text there is nothing but the line breaks: neither NUL nor half a line break.
    if len(lines) > _MOST_FIELDS or head.translate(None, _TEXT) != b"\r\n" * len(lines):
        return None
    size = -1
    for line in lines:
        name, colon, value = line.partition(b":")
        kind = _kind(name)
        if not colon or kind == _OTHER or (kind == _CONNECTION and value.strip(_BLANKS).lower() != b"keep-alive"):
            return None
        if kind == _LENGTH:
            value = value.strip(_BLANKS)
            if size >= 0 or not value.isdigit() or len(value) > 9:
                return None
            size = int(value)
    known = _status(first)
    return (UsualAnswer(*known, lines), body) if known is not None and size == len(body) else None


_PLAIN, _LENGTH, _CONNECTION, _OTHER = range(4)
_KINDS = {b"content-length": _LENGTH, b"connection": _CONNECTION} | dict.fromkeys(
    (b"content-encoding", b"proxy-connection", b"transfer-encoding", b"upgrade"), _OTHER
)


@lru_cache(_MOST_KEPT)
def _kind(name: bytes) -> int:
    """Return what a field's name says about the answer's form."""
    return _OTHER if not name or name.translate(None, _IN_NAMES) else _KINDS.get(name.lower(), _PLAIN)


@lru_cache(_MOST_KEPT)
def _status(line: bytes) -> tuple[int, str] | None:
    """Return status and reason of a first line."""
    parts = _FIRST_LINE.fullmatch(line)
    if parts is None or parts[1] in (b"204", b"304"):
        return None
    return int(parts[1]), (parts[2] or b"").decode()
