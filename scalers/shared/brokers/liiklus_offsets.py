"""The few messages of liiklus' gRPC service that are needed, in the wire format of Protocol Buffers.

A reply is a map of partitions to offsets in field 1; requests have texts and one number. May run in another process.
"""

from collections.abc import Iterator
from typing import Final

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 4 * 1024
"""A longer answer may take more than 10 ms."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


def request(*fields: str | int) -> bytes:
    """Fields 1, 2, 3...; "" and 0 are left out, as the format has it."""
    return b"".join(_field(number, value) for number, value in enumerate(fields, 1) if value)


def offsets_in(text: bytes) -> list[tuple[int, int]]:
    """Partition and offset. Raises ScalerError."""
    try:
        entries = [dict(_fields(entry)) for number, entry in _fields(text) if number == 1 and isinstance(entry, bytes)]
    except IndexError:
        raise ScalerError("the answer is not one of liiklus") from None
    return [(_number(entry.get(1, 0)), _number(entry.get(2, 0))) for entry in entries]


def _field(number: int, value: str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    text = value.encode()
    return _varint(number << 3 | _BYTES) + _varint(len(text)) + text


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _fields(text: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field. Raises IndexError for a text that ends too early, or is of another format."""
    at = 0
    while at < len(text):
        tag, at = _read_varint(text, at)
        length = {_FIXED64: 8, _FIXED32: 4}.get(tag & 7, 0)
        if tag & 7 == _VARINT:
            value, at = _read_varint(text, at)
            yield tag >> 3, value
            continue
        if tag & 7 == _BYTES:
            length, at = _read_varint(text, at)
        if at + length > len(text) or (not length and tag & 7 != _BYTES):
            raise IndexError
        yield tag >> 3, text[at : at + length]
        at += length


def _read_varint(text: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        byte = text[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise IndexError


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ScalerError("the answer is not one of liiklus")
    return value
