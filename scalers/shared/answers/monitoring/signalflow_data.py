"""The binary messages of SignalFlow: the values of one moment, each with the id of its series.

A head of 20 bytes (version, type, flags, one that is not used, the channel), the moment in milliseconds and the number
of values, 8 and 4 bytes; then for each value its type, 8 bytes of id and 8 of value. All numbers are big-endian.
"""

import struct
import zlib
from typing import Final

from keda_py.errors import ScalerError

LONGEST: Final = 256 * 1024
"""Bytes of one message."""
_HEAD = struct.Struct(">BBBx16s")
_COUNT = struct.Struct(">8xI")
_WHOLE, _VALUE = struct.Struct(">B8xq"), struct.Struct(">B8xd")
_DATA, _COMPRESSED, _JSON = 5, 1, 2


def read_values(message: bytes, channel: str) -> list[float]:
    """The values of a data message, none where it is of another kind or channel. Raises ScalerError."""
    try:
        _, kind, flags, stream = _HEAD.unpack_from(message)
        if kind != _DATA or stream.rstrip(b"\0") != channel.encode():
            return []
        if flags & _JSON:
            raise ScalerError("SignalFlow sends data as JSON, which was not asked for")
        body = _inflated(message[_HEAD.size :]) if flags & _COMPRESSED else message[_HEAD.size :]
        (count,) = _COUNT.unpack_from(body)
        return [_value(body, _COUNT.size + index * _VALUE.size) for index in range(min(count, LONGEST))]
    except (struct.error, zlib.error):
        raise ScalerError("SignalFlow sends a binary message that cannot be read") from None


def _value(body: bytes, at: int) -> float:
    match body[at] if at < len(body) else None:
        case 1 | 3:  # long, int
            return float(_WHOLE.unpack_from(body, at)[1])
        case 2:  # double
            return float(_VALUE.unpack_from(body, at)[1])
    raise ScalerError("SignalFlow sends a binary message that cannot be read")


def _inflated(body: bytes) -> bytes:
    """Decompress, up to LONGEST bytes."""
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = inflater.decompress(body, LONGEST)
    if inflater.unconsumed_tail:
        raise ScalerError(f"SignalFlow sends a message of more than {LONGEST} bytes")
    return text
