"""Rotation: `settle` turns the stored certificates into those that should be stored. Pure.

`certificate_secret.py` calls it until nothing changes. A new authority is announced first (clients get it beside the
old one) and signs only an hour later, so that no client meets a leaf whose signer it does not know yet.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509

from keda_py.serving.certificates import (
    SKEW,
    Authority,
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
from keda_py.serving.serving_certificate import ServingCertificate

REFRESH = timedelta(days=90)
"""Certificates with less time left are renewed."""
# Wait before a new authority signs: by then every API server has read the caBundle that contains it.
ANNOUNCE = timedelta(hours=1)


def is_usable(kept: ServingCertificate, now: datetime) -> bool:
    """Return whether the authority can be read, has its key and has not expired."""
    authority = read_authority(kept)
    return authority is not None and now < authority.certificate.not_valid_after_utc


def settle(kept: ServingCertificate | None, names: Sequence[str], now: datetime) -> ServingCertificate:
    """Take one step towards what should be stored at `now`; return `kept` if nothing is to be done."""
    authority = read_authority(kept) if kept is not None else None
    if kept is None or authority is None or now >= authority.certificate.not_valid_after_utc:
        return make_certificate(names, now)
    trusted = read_bundle(kept.ca)
    # First step of a rotation: the new authority is only announced, and the old leaf stays. `_refresh` switches later.
    if authority.certificate.not_valid_after_utc - now < REFRESH:
        return with_authority(kept, make_authority(now), [ca for ca in trusted if now < ca.not_valid_after_utc])
    leaf = read_leaf(kept)
    if leaf is None or now >= leaf.not_valid_after_utc or not any(signed_by(leaf, ca) for ca in trusted):
        return _reissue(kept, authority, names, now)
    return _refresh(kept, authority, leaf, (names, now))


def _refresh(
    kept: ServingCertificate, authority: Authority, leaf: x509.Certificate, wanted: tuple[Sequence[str], datetime]
) -> ServingCertificate:
    """Issue a new leaf if it is due or lacks a name, but not while clients may not know the authority yet."""
    names, now = wanted
    present = alternative_names(leaf)
    missing = set(names) - set(present)
    signer_in_use = signed_by(leaf, authority.certificate)
    due = leaf.not_valid_after_utc - now < REFRESH
    if signer_in_use and not due and not missing:
        return kept
    if not signer_in_use and now - (authority.certificate.not_valid_before_utc + SKEW) < ANNOUNCE:
        return kept
    # During an upgrade, replicas of two versions may want different names: keep both, or each would undo the other's.
    return _reissue(kept, authority, tuple(dict.fromkeys((*names, *present))) if missing else names, now)


def _reissue(kept: ServingCertificate, authority: Authority, names: Sequence[str], now: datetime) -> ServingCertificate:
    """Issue a new leaf and drop expired authorities from the bundle."""
    trusted = [ca for ca in read_bundle(kept.ca)[1:] if now < ca.not_valid_after_utc]
    bundle = b"".join(pem(ca) for ca in (authority.certificate, *trusted))
    return replace(issue(authority, names, now), ca=bundle)
