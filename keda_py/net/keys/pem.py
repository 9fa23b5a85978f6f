"""PEM parser for tenants' texts, bounded in blocks and bytes; only blocks with an expected label are returned.

Pure. Next: `private_keys.py`, and `keda_py/net/tls.py`.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field

from keda_py.errors import ConfigError

LONGEST = 512 * 1024
"""Characters of a text; the authorities that browsers trust take 220 000."""
MOST_BLOCKS = 1_000

_BEGIN, _END, _DASHES = "-----BEGIN ", "-----END ", "-----"
_CERTIFICATES = ("CERTIFICATE", "X509 CERTIFICATE")


@dataclass(frozen=True, slots=True)
class Block:
    """PEM block: the text between BEGIN and END, with headers ("DEK-Info: ...") and base64 as written."""

    label: str
    body: str = field(repr=False)

    @property
    def text(self) -> str:
        """Return the block as a PEM text of its own."""
        return f"{_BEGIN}{self.label}{_DASHES}\n{self.body.strip()}\n{_END}{self.label}{_DASHES}\n"

    def der(self) -> bytes:
        """Decode the block. Raises ValueError if it is not pure base64, for example because of headers."""
        try:
            return base64.b64decode("".join(self.body.split()), validate=True)
        except binascii.Error as error:
            raise ValueError("no base64") from error


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order, a thousand at most, up to the first that is malformed.

    One pass over the text: splitting it again for each block blocked the event loop for 0.3 s.
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
    """Return the certificates of a text (DER), from one to `most`. Raises ConfigError with the field.

    The number is bounded because OpenSSL takes half a millisecond for each, on the event loop.
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
