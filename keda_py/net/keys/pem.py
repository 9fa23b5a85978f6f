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
    """Each block of the text, in order, until one that does not end before another begins."""
    _, found, rest = text.partition(_BEGIN)
    while found:
        label, _, rest = rest.partition(_DASHES)
        body, ended, rest = rest.partition(f"{_END}{label}{_DASHES}")
        if not ended or _DASHES in body:
            return
        yield Block(label, body)
        _, found, rest = rest.partition(_BEGIN)


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
