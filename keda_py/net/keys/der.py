"""DER parser for the outer structure of a private key, so that its kind and cost are known before it is used.

Pure. Next: `private_keys.py`.
"""

from dataclasses import dataclass

SEQUENCE, INTEGER, OCTETS, OBJECT = 0x30, 0x02, 0x04, 0x06
_LONG = 0x80


@dataclass(frozen=True, slots=True)
class Der:
    """DER element: its tag and its content."""

    tag: int
    content: bytes

    def inside(self) -> "tuple[Der, ...]":
        """Parse the elements of a SEQUENCE. Raises ValueError if they do not fill it exactly."""
        if self.tag != SEQUENCE:
            raise ValueError("not a SEQUENCE")
        found, rest = [], self.content
        while rest:
            element, rest = _first(rest)
            found.append(element)
        return tuple(found)

    def number(self) -> int:
        """Read a signed INTEGER. Raises ValueError."""
        return int.from_bytes(self._of(INTEGER), "big", signed=True)

    def octets(self) -> bytes:
        """Read an OCTET STRING. Raises ValueError."""
        return self._of(OCTETS)

    def object_id(self) -> str:
        """Read an OBJECT IDENTIFIER as hexadecimal digits. Raises ValueError."""
        return self._of(OBJECT).hex()

    def _of(self, tag: int) -> bytes:
        if self.tag != tag or not self.content:
            raise ValueError(f"not of tag {tag}")
        return self.content


def read_der(data: bytes) -> Der:
    """Parse bytes that are exactly one element. Raises ValueError."""
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
