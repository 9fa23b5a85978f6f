"""A serving certificate as PEM texts, for processes that only load it: to make or read one, see `certificates.py`.

Apart from it, because the library that makes and reads certificates takes 3 MB, and the webhook's process needs none of
that.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingCertificate:
    """PEM texts: the CAs that clients trust (the one in use first), and the server's certificate and key.

    `ca_key` is empty if the authority is not ours.
    """

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    ca_key: bytes = field(default=b"", repr=False)
