"""Stored certificates, and their rotation as time passes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from keda_py.serving.certificates import (
    alternative_names,
    make_certificate,
    read_authority,
    read_bundle,
    read_leaf,
    signed_by,
)
from keda_py.serving.renewal.rotation import settle

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
NAMES = ("keda-operator", "keda-operator.keda.svc")
DAY = timedelta(days=1)


def test_a_first_certificate_has_kedas_names_and_lifetimes():
    made = settle(None, NAMES, NOW)
    authority, leaf = read_authority(made).certificate, read_leaf(made)
    assert authority.subject.rfc4514_string() == "CN=KEDA,O=KEDAORG"
    assert authority.not_valid_after_utc == NOW + 3650 * DAY
    assert leaf.not_valid_after_utc == NOW + 365 * DAY
    assert alternative_names(leaf) == NAMES
    assert signed_by(leaf, authority)
    assert leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage)


@pytest.mark.parametrize("later", [timedelta(0), 100 * DAY, 274 * DAY])
def test_nothing_changes_while_there_is_time_left(later):
    made = settle(None, NAMES, NOW)
    assert settle(made, NAMES, NOW + later) == made


@pytest.mark.parametrize("later", [276 * DAY, 364 * DAY, 366 * DAY, 1000 * DAY])
def test_a_leaf_with_less_than_ninety_days_is_renewed_by_the_same_authority(later):
    made = settle(None, NAMES, NOW)
    renewed = settle(made, NAMES, NOW + later)
    assert (renewed.ca, renewed.ca_key) == (made.ca, made.ca_key)
    assert renewed.key != made.key
    assert read_leaf(renewed).not_valid_after_utc == NOW + later + 365 * DAY
    assert settle(renewed, NAMES, NOW + later) == renewed


def test_a_new_authority_is_announced_an_hour_before_it_signs():
    made = settle(None, NAMES, NOW)
    then = NOW + 3600 * DAY
    current = settle(settle(made, NAMES, then - 100 * DAY), NAMES, then - 100 * DAY)
    announced = settle(current, NAMES, then)
    assert announced.certificate == current.certificate
    new, old = read_bundle(announced.ca)
    assert read_bundle(current.ca) == (old,)
    assert settle(announced, NAMES, then + timedelta(minutes=59)) == announced
    signed = settle(announced, NAMES, then + timedelta(minutes=61))
    assert signed_by(read_leaf(signed), new)
    assert read_bundle(signed.ca) == (new, old)  # other replicas still serve leaves of the old authority
    year = then + 300 * DAY
    assert read_bundle(settle(signed, NAMES, year).ca) == (new,)


def test_an_expired_authority_is_replaced_at_once():
    made = settle(None, NAMES, NOW)
    again = settle(made, NAMES, NOW + 3651 * DAY)
    assert again.ca != made.ca


def test_a_leaf_gains_names_and_loses_none_until_it_is_renewed():
    made = settle(None, ("old",), NOW)
    wider = settle(made, ("new",), NOW)
    assert set(alternative_names(read_leaf(wider))) == {"old", "new"}
    assert settle(wider, ("old",), NOW) == wider  # a replica of the old version changes nothing
    assert alternative_names(read_leaf(settle(wider, ("new",), NOW + 300 * DAY))) == ("new",)


@pytest.mark.parametrize("field", ["certificate", "key"])
def test_a_spoilt_leaf_is_issued_again_and_a_spoilt_authority_is_made_anew(field):
    made = settle(None, NAMES, NOW)
    assert settle(replace(made, **{field: b"spoilt"}), NAMES, NOW).ca == made.ca
    other = make_certificate(NAMES, NOW)
    assert settle(replace(made, **{field: getattr(other, field)}), NAMES, NOW).ca == made.ca
    assert settle(replace(made, ca_key=b"spoilt"), NAMES, NOW).ca != made.ca
    assert settle(replace(made, ca=b""), NAMES, NOW).ca != made.ca
