"""DER, as far as the outside of a private key goes: what a key is and what it costs is read before it is computed with.

Pure. Next: `private_keys.py`.
"""

from dataclasses import dataclass

SEQUENCE, INTEGER, OCTETS, OBJECT = 0x30, 0x02, 0x04, 0x06
_LONG = 0x80


@dataclass(frozen=True, slots=True)
class Der:
    """One element: its tag, and the bytes in it."""

    tag: int
    content: bytes

    def inside(self) -> "tuple[Der, ...]":
        """The elements of a SEQUENCE. Raises ValueError where they do not fill it."""
        if self.tag != SEQUENCE:
            raise ValueError("not a SEQUENCE")
        found, rest = [], self.content
        while rest:
            element, rest = _first(rest)
            found.append(element)
        return tuple(found)

    def number(self) -> int:
        """Of an INTEGER, signed."""
        return int.from_bytes(self._of(INTEGER), "big", signed=True)

    def octets(self) -> bytes:
        """Of an OCTET STRING."""
        return self._of(OCTETS)

    def object_id(self) -> str:
        """Of an OBJECT IDENTIFIER, its bytes as hexadecimal digits."""
        return self._of(OBJECT).hex()

    def _of(self, tag: int) -> bytes:
        if self.tag != tag or not self.content:
            raise ValueError(f"not of tag {tag}")
        return self.content


def read_der(data: bytes) -> Der:
    """The one element that the bytes are. Raises ValueError."""
    element, rest = _first(data)
    if rest:
        raise ValueError("bytes follow")
    return element


def _first(data: bytes) -> tuple[Der, bytes]:
    if len(data) < 2:
        raise ValueError("too short")
    begins, size = 2, data[1]
    if size >= _LONG:
        begins += size - _LONG
        size = int.from_bytes(data[2:begins], "big")
    content = data[begins : begins + size]
    if data[1] == _LONG or len(content) != size:
        raise ValueError("the length is wrong")
    return Der(data[0], content), data[begins + size :]
