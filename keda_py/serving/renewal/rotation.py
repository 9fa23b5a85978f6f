"""When to renew what: `settle` turns the certificates that are kept into those that should be. Pure.

Called by `certificate_secret.py` until nothing changes. A new authority is announced first (clients get it beside the
old one) and signs only an hour later, so that no client ever meets a leaf whose signer it has not heard of.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509

from keda_py.serving.certificates import (
    SKEW,
    Authority,
    ServingCertificate,
    alternative_names,
    issue,
    make_authority,
    make_certificate,
    pem,
    read_authority,
    read_bundle,
    read_leaf,
    signed_by,
    with_authority,
)

REFRESH = timedelta(days=90)
"""What has less time left is renewed."""
ANNOUNCE = timedelta(hours=1)
"""A new authority signs after that time: by then every API server has read the caBundle that names it."""


def is_usable(kept: ServingCertificate, now: datetime) -> bool:
    """Whether this can go on being the root of everything: a readable authority that has not expired, and its key."""
    authority = read_authority(kept)
    return authority is not None and now < authority.certificate.not_valid_after_utc


def settle(kept: ServingCertificate | None, names: Sequence[str], now: datetime) -> ServingCertificate:
    """One step towards what should be kept at `now`; equal to `kept` when nothing is to be done."""
    authority = read_authority(kept) if kept is not None else None
    if kept is None or authority is None or now >= authority.certificate.not_valid_after_utc:
        return make_certificate(names, now)
    trusted = read_bundle(kept.ca)
    if authority.certificate.not_valid_after_utc - now < REFRESH:
        return with_authority(kept, make_authority(now), [one for one in trusted if now < one.not_valid_after_utc])
    leaf = read_leaf(kept)
    if leaf is None or now >= leaf.not_valid_after_utc or not any(signed_by(leaf, one) for one in trusted):
        return _reissue(kept, authority, names, now)
    return _refresh(kept, authority, leaf, (names, now))


def _refresh(
    kept: ServingCertificate, authority: Authority, leaf: x509.Certificate, wanted: tuple[Sequence[str], datetime]
) -> ServingCertificate:
    """A leaf that works may wait until clients know the authority."""
    names, now = wanted
    present = alternative_names(leaf)
    missing = set(names) - set(present)
    signer_in_use = signed_by(leaf, authority.certificate)
    due = leaf.not_valid_after_utc - now < REFRESH
    if signer_in_use and not due and not missing:
        return kept
    if not signer_in_use and now - (authority.certificate.not_valid_before_utc + SKEW) < ANNOUNCE:
        return kept
    # Replicas of two versions may want different names for a while: neither takes away the other's.
    return _reissue(kept, authority, tuple(dict.fromkeys((*names, *present))) if missing else names, now)


def _reissue(kept: ServingCertificate, authority: Authority, names: Sequence[str], now: datetime) -> ServingCertificate:
    """A new leaf; expired authorities are forgotten on the occasion."""
    trusted = [one for one in read_bundle(kept.ca)[1:] if now < one.not_valid_after_utc]
    bundle = b"".join(pem(one) for one in (authority.certificate, *trusted))
    return replace(issue(authority, names, now), ca=bundle)
