"""The part of CQL's binary protocol, version 4, that logs in and reads one cell. Numbers are big-endian.

What arrives is read within the bounds of its frame: a text that ends too early is a ValueError.
"""

import struct
from dataclasses import dataclass
from typing import Final

ERROR, STARTUP, READY, AUTHENTICATE, QUERY, RESULT = 0, 1, 2, 3, 7, 8
AUTH_CHALLENGE, AUTH_RESPONSE, AUTH_SUCCESS = 14, 15, 16
HEADER: Final = struct.Struct(">BBhBi")
"""Version, flags, stream, operation, length."""
CONSISTENCIES: Final = {
    "any": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "quorum": 4,
    "all": 5,
    "local_quorum": 6,
    "each_quorum": 7,
    "local_one": 10,
}

_WARNING, _PAGE_SIZE, _ROWS = 0x08, 0x04, 2
_GLOBAL, _MORE_PAGES = 1, 2
_WHOLE = {2: "bigint", 5: "counter", 9: "int", 14: "varint", 19: "smallint", 20: "tinyint"}
_REAL = {7: ">d", 8: ">f"}
_DEEPEST_TYPE = 8
# Names, types and lengths of an answer. A table has hundreds of columns at most, and each takes a microsecond.
_MOST_PIECES = 5_000


def frame(version: int, operation: int, body: bytes) -> bytes:
    """Encode a request with its header."""
    # Without flags, such as compression, and always on stream 0: a connection carries one question at a time.
    return HEADER.pack(version, 0, 0, operation, len(body)) + body


def startup() -> bytes:
    """Encode the body of a STARTUP."""
    return struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0")


def plain_log_in(username: str, password: str) -> bytes:
    """The body of an AUTH_RESPONSE to a PasswordAuthenticator."""
    token = f"\0{username}\0{password}".encode()
    return struct.pack(">i", len(token)) + token


def query(text: str, consistency: int) -> bytes:
    """The body of a QUERY that wants few rows."""
    encoded = text.encode()
    return struct.pack(">i", len(encoded)) + encoded + struct.pack(">HBi", consistency, _PAGE_SIZE, 2)


@dataclass(slots=True)
class Body:
    """The body of a frame, read from the front. Raises ValueError."""

    data: bytes
    at: int = 0
    taken: int = 0

    @classmethod
    def of(cls, flags: int, data: bytes) -> "Body":
        """Return the body behind the warnings that some answers begin with."""
        body = cls(data)
        if flags & _WARNING:
            for _ in range(body.short()):
                body.string()
        return body

    def take(self, size: int) -> bytes:
        """Read so many bytes."""
        piece = self.data[self.at : self.at + size]
        if size < 0 or len(piece) < size:
            raise ValueError("the answer ends too early")
        self.taken += 1
        if self.taken > _MOST_PIECES:
            raise ValueError("the answer has too many parts: select one column")
        self.at += size
        return piece

    def number(self) -> int:
        """Read a signed number of 4 bytes."""
        return int.from_bytes(self.take(4), signed=True)

    def short(self) -> int:
        """Read a number of 2 bytes."""
        return int.from_bytes(self.take(2))

    def string(self) -> str:
        """Read a text with its length before it."""
        return self.take(self.short()).decode("utf-8", "replace")

    def cell(self) -> bytes | None:
        """Read a cell with its length before it; None for null."""
        size = self.number()
        return self.take(size) if size >= 0 else None


class SeveralColumns(ValueError):
    """A row of more than one cell."""


def first_cell(body: Body) -> tuple[bool, object]:
    """Return whether there is a row, and its only cell: a number, None for null, or the name of another type's code."""
    if body.number() != _ROWS:
        return False, None
    flags, columns = body.number(), body.number()
    if flags & _MORE_PAGES:
        body.cell()
    if flags & _GLOBAL:
        body.string(), body.string()
    kinds = [_column(body, flags) for _ in range(columns)]
    if body.number() < 1 or not kinds:
        return False, None
    if columns > 1:
        raise SeveralColumns(f"the query answers {columns} columns: select one, a count or a number")
    return True, _number(kinds[0], body.cell())


def _column(body: Body, flags: int) -> int:
    if not flags & _GLOBAL:
        body.string(), body.string()
    body.string()
    return _type(body, 0)


def _type(body: Body, depth: int) -> int:
    """The code of a type, behind whatever it holds."""
    if depth > _DEEPEST_TYPE:
        raise ValueError("types inside of types")
    kind = body.short()
    inside = {0x20: 1, 0x21: 2, 0x22: 1}.get(kind, 0)
    if kind == 0:
        body.string()
    elif kind == 0x30:
        body.string(), body.string()
        for _ in range(body.short()):
            body.string()
            _type(body, depth + 1)
    elif kind == 0x31:
        inside = body.short()
    for _ in range(inside):
        _type(body, depth + 1)
    return kind


def _number(kind: int, cell: bytes | None) -> object:
    if cell is None:
        return None
    if kind in _WHOLE:
        return int.from_bytes(cell, signed=True)
    if kind in _REAL and len(cell) == struct.calcsize(_REAL[kind]):
        return struct.unpack(_REAL[kind], cell)[0]
    return f"a value of type {kind}"


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded
