"""Whether an authority of --ca-dir has issued a server's certificate under its own name: the whole path is judged.

By cryptography's verifier: signature, dates and usage of both, name constraints, path length, and the server's name.
Its own rules for the public web stay in force but for one: Go's certificates of this kind have no identifier of their
authority's key. Only a certificate that the authority signed itself is believed, none of another's below it.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from ipaddress import ip_address
from typing import Self

from cryptography import x509
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

_LEAF = ExtensionPolicy.webpki_defaults_ee().may_be_present(x509.AuthorityKeyIdentifier, Criticality.AGNOSTIC, None)
# A constraint that the verifier cannot judge is only fatal where it is critical, as the standard demands it to be.
_AUTHORITY = ExtensionPolicy.webpki_defaults_ca().may_be_present(x509.NameConstraints, Criticality.CRITICAL, None)


class IssuedPath:
    """The path from a server's certificate to an authority of the same name."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def of(cls, authorities: Iterable[bytes]) -> Self | None:
        """Paths to these authorities (DER); None where there are none. What is none to this library is left out."""
        loaded = []
        for one in authorities:
            with suppress(ValueError):
                loaded.append(x509.load_der_x509_certificate(one))
        return cls(Store(loaded)) if loaded else None

    def ends(self, shown: bytes, host: str, now: datetime) -> datetime:
        """When the first certificate of the path of `shown` (DER) ends. Raises ValueError: not to be believed, why."""
        leaf = x509.load_der_x509_certificate(shown)
        if leaf.subject != leaf.issuer:
            raise ValueError("its name is not that of its authority")
        policy = PolicyBuilder().store(self._store).time(now).max_chain_depth(0)
        policy = policy.extension_policies(ca_policy=_AUTHORITY, ee_policy=_LEAF)
        try:
            path = policy.build_server_verifier(_subject(host)).verify(leaf, [])
        except VerificationError as error:
            raise ValueError(str(error)) from None
        return min(one.not_valid_after_utc for one in path)


def _subject(host: str) -> x509.IPAddress | x509.DNSName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host.removesuffix("."))
