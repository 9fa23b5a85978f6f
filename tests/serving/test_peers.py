"""Replicas recognise each other by the shared authority and the name they serve under, and by nothing less."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from keda_py.clock import FakeClock
from keda_py.serving.certificates import (
    Authority,
    ServingCertificate,
    issue,
    issue_client,
    make_authority,
    read_authority,
    read_leaf,
)
from keda_py.serving.peers import Peers
from keda_py.serving.server_tls import ServerTls

NAME = "keda-operator.keda.svc"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def authority() -> Authority:
    return make_authority(NOW)


def peers(shown: ServingCertificate | None, clock: FakeClock | None = None) -> Peers:
    tls = ServerTls()
    if shown is not None:
        tls.show(shown)
    return Peers(tls, NAME, clock or FakeClock(NOW))


def der(kept: ServingCertificate) -> bytes:
    leaf = read_leaf(kept)
    assert leaf is not None
    return leaf.public_bytes(Encoding.DER)


def without_ca_key(kept: ServingCertificate) -> ServingCertificate:
    return ServingCertificate(ca=kept.ca, certificate=kept.certificate, key=kept.key)


def test_a_client_certificate_by_the_shared_authority_for_our_name_makes_a_peer(authority: Authority) -> None:
    ours = peers(issue(authority, [NAME], NOW))
    assert ours.is_peer(der(issue_client(authority, [NAME], NOW)))
    assert ours.context() is not None


def test_a_certificate_for_servers_makes_none(authority: Authority) -> None:
    assert not peers(issue(authority, [NAME], NOW)).is_peer(der(issue(authority, [NAME], NOW)))


def test_another_name_by_the_same_authority_makes_none(authority: Authority) -> None:
    assert not peers(issue(authority, [NAME], NOW)).is_peer(der(issue_client(authority, ["shop.default.svc"], NOW)))


def test_another_authority_of_the_same_name_makes_none(authority: Authority) -> None:
    assert not peers(issue(authority, [NAME], NOW)).is_peer(der(issue_client(make_authority(NOW), [NAME], NOW)))


def test_one_that_has_expired_is_none_any_more(authority: Authority) -> None:
    clock = FakeClock(NOW)
    ours, shown = peers(issue(authority, [NAME], NOW), clock), der(issue_client(authority, [NAME], NOW))
    assert ours.is_peer(shown)
    clock.step(timedelta(days=366))
    assert not ours.is_peer(shown)


def test_an_authority_that_was_replaced_makes_none_any_more(authority: Authority) -> None:
    tls = ServerTls()
    tls.show(issue(authority, [NAME], NOW))
    ours, shown = Peers(tls, NAME, FakeClock(NOW)), der(issue_client(authority, [NAME], NOW))
    assert ours.is_peer(shown)
    tls.show(issue(make_authority(NOW), [NAME], NOW))
    assert not ours.is_peer(shown)


def test_without_the_authority_s_key_a_certificate_meant_for_clients_too_is_shown(authority: Authority) -> None:
    assert peers(without_ca_key(issue(authority, [NAME], NOW))).context() is None
    assert peers(without_ca_key(issue_client(authority, [NAME], NOW))).context() is not None


def test_before_there_is_a_certificate_nobody_is_a_peer(authority: Authority) -> None:
    ours = peers(None)
    assert ours.context() is None
    assert not ours.is_peer(der(issue_client(authority, [NAME], NOW)))


def test_the_shared_authority_is_read_from_what_was_issued(authority: Authority) -> None:
    again = read_authority(issue(authority, [NAME], NOW))
    assert again is not None
    assert peers(issue(authority, [NAME], NOW)).is_peer(der(issue_client(again, [NAME], NOW)))
