"""Columns of ClickHouse's native format: the first value of one, behind all of whose rows the next part begins.

Numbers are little-endian. Types that a count or a number cannot have are skipped where their width is known; of others
nothing tells where they end.
"""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Final, Protocol

import re2

_WHOLE = re2.compile(r"(U?)Int(8|16|32|64|128|256)")
_DECIMAL = re2.compile(r"Decimal(32|64|128|256)?\((?:([0-9]+), )?([0-9]+)\)")
_FIXED_STRING = re2.compile(r"FixedString\(([0-9]+)\)")
_WRAPPED = re2.compile(r"(Nullable|LowCardinality|SimpleAggregateFunction)\((.*)\)")
_DEEPEST: Final = 8
_REAL: Final = {"Float32": "<f", "Float64": "<d"}
_WIDTHS: Final = {
    **dict.fromkeys(("Nothing", "Bool", "Enum8"), 1),
    **dict.fromkeys(("Date", "Enum16", "BFloat16"), 2),
    **dict.fromkeys(("Date32", "DateTime", "IPv4"), 4),
    **dict.fromkeys(("DateTime64", "Time64"), 8),
    **dict.fromkeys(("UUID", "IPv6"), 16),
}
"""Bytes of values that are no numbers, by the name before the parameters."""
_DIGITS: Final = ((9, 4), (18, 8), (38, 16), (76, 32))
"""Most digits of a Decimal, and its bytes."""


class Source(Protocol):
    """What a server sends, read from the front. Raises OSError or IncompleteReadError."""

    async def take(self, size: int) -> bytes:
        """Read so many bytes."""
        ...

    async def string(self) -> bytes:
        """Read a text with its length before it."""
        ...


class UnknownType(ValueError):
    """A type of which it is not known where it ends."""


async def first_value(source: Source, kind: str, rows: int, depth: int = 0) -> object:
    """The first of so many values of a type, at least one: a number, a text, None, or the name of another type.

    Raises UnknownType, and what the source raises.
    """
    if depth > _DEEPEST:
        raise UnknownType(kind)
    if wrapped := _WRAPPED.fullmatch(kind):
        # To a client of our age LowCardinality comes as the type inside.
        is_null = wrapped[1] == "Nullable" and (await source.take(rows))[0] != 0
        inner = wrapped[2].partition(", ")[2] if wrapped[1] == "SimpleAggregateFunction" else wrapped[2]
        value = await first_value(source, inner, rows, depth + 1)
        return None if is_null else value
    if kind == "String":
        texts = [await source.string() for _ in range(rows)]
        return texts[0]
    width, read = _reader(kind)
    return read((await source.take(width * rows))[:width])


def _reader(kind: str) -> tuple[int, Callable[[bytes], object]]:
    """Bytes of a value, and what it means. Raises UnknownType."""
    if whole := _WHOLE.fullmatch(kind):
        return int(whole[2]) // 8, lambda data: int.from_bytes(data, "little", signed=not whole[1])
    if kind in _REAL:
        return struct.calcsize(_REAL[kind]), lambda data: struct.unpack(_REAL[kind], data)[0]
    if decimal := _DECIMAL.fullmatch(kind):
        width, scale = _decimal_width(decimal[1], decimal[2]), min(int(decimal[3]), 76)
        return width, lambda data: Decimal(int.from_bytes(data, "little", signed=True)).scaleb(-scale)
    if fixed := _FIXED_STRING.fullmatch(kind):
        return int(fixed[1]), bytes
    if width := _WIDTHS.get(kind.partition("(")[0], 0):
        is_bool = kind == "Bool"
        return width, lambda _: True if is_bool else f"a value of type {kind}"
    raise UnknownType(kind)


def _decimal_width(bits: str | None, digits: str | None) -> int:
    if bits:
        return int(bits) // 8
    return next(width for most, width in _DIGITS if int(digits or 0) <= most or most == _DIGITS[-1][0])
