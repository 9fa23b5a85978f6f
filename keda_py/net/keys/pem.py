"""PEM texts of tenants, taken apart: so many blocks of so many bytes, and none but those that are meant is handed on.

Pure. Next: `private_keys.py`, and `keda_py/net/tls.py`.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field

from keda_py.errors import ConfigError

LONGEST = 512 * 1024
"""Characters of a text: the authorities that browsers trust take 220 000."""
MOST_BLOCKS = 1_000

_BEGIN, _END, _DASHES = "-----BEGIN ", "-----END ", "-----"
_CERTIFICATES = ("CERTIFICATE", "X509 CERTIFICATE")


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between a BEGIN and its END: headers ("DEK-Info: ...") and base64, as written."""

    label: str
    body: str = field(repr=False)

    @property
    def text(self) -> str:
        """The block alone."""
        return f"{_BEGIN}{self.label}{_DASHES}\n{self.body.strip()}\n{_END}{self.label}{_DASHES}\n"

    def der(self) -> bytes:
        """The bytes. Raises ValueError for what is no base64, headers among it."""
        try:
            return base64.b64decode("".join(self.body.split()), validate=True)
        except binascii.Error as error:
            raise ValueError("no base64") from error


def blocks(text: str) -> Iterator[Block]:
    """Each block of the text, in order, until one that does not end before another begins; a thousand at most.

    In one walk: a text that was cut in two at each of its shortest blocks kept the event loop for 0.3 s.
    """
    start, left = text.find(_BEGIN), MOST_BLOCKS
    while start >= 0 and (left := left - 1) >= 0:
        label_end = text.find(_DASHES, start + len(_BEGIN))
        label = text[start + len(_BEGIN) : label_end]
        body_start = label_end + len(_DASHES)
        body_end = text.find(_DASHES, body_start) if label_end >= 0 else -1
        ending = f"{_END}{label}{_DASHES}"
        if body_end < 0 or not text.startswith(ending, body_end):
            return
        yield Block(label, text[body_start:body_end])
        start = text.find(_BEGIN, body_end + len(ending))


def certificates(text: str, field: str, most: int) -> tuple[bytes, ...]:
    """DER of the certificates in the text, at least one and at most so many. Raises ConfigError, naming the field.

    They are counted because OpenSSL takes half a millisecond for each, on the event loop.
    """
    if len(text) > LONGEST:
        raise ConfigError(f"{field}: is over {LONGEST} characters: keep the certificates that are needed", field=field)
    found = [block for block in blocks(text) if block.label in _CERTIFICATES]
    if len(found) > most:
        raise ConfigError(
            f"{field}: holds {len(found)} certificates, at most {most} are read: keep those that are needed",
            field=field,
        )
    try:
        if found:
            return tuple(block.der() for block in found)
    except ValueError:
        pass
    raise ConfigError(f"{field}: is not a PEM certificate", field=field)
