"""Certificate and trusted authorities of a port change while it serves, and no connection is dropped by that."""

import asyncio
import socket
import ssl
import warnings
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError
from keda_py.serving.certificates import make_authority, make_certificate
from keda_py.serving.https import LimitedServer
from keda_py.serving.renewal.certificate_files import CertificatePaths, FileCertificates
from keda_py.serving.renewal.rotation import settle
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.serving_certificate import ServingCertificate
from tests.serving.conftest import accepted
from tests.waiting import connections_closed, eventually

NAMES = ("localhost", "127.0.0.1")


def made() -> ServingCertificate:
    return make_certificate(NAMES, SystemClock().now())


@dataclass
class Port:
    """HTTPS port that answers `ok`."""

    tls: ServerTls
    number: int

    def shown(self, version: ssl.TLSVersion | None = None) -> bytes:
        """Return the certificate (DER) of a new connection that verifies nothing."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if version is not None:
            with warnings.catch_warnings(action="ignore"):
                context.minimum_version = context.maximum_version = version
        plain = socket.create_connection(("127.0.0.1", self.number), timeout=5)
        with plain, context.wrap_socket(plain) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while connection.recv(4096):  # until the server has closed its side
                pass
            return connection.getpeercert(binary_form=True)


async def _ok(_: web.Request) -> web.Response:
    return web.Response(text="ok")


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    tls = ServerTls()
    tls.show(made())
    app = web.Application()
    app.router.add_get("/", _ok)
    server = LimitedServer(app)
    yield Port(tls, await server.start("127.0.0.1", 0, tls.context(asks_clients=True)))
    await accepted()
    await server.aclose()


def der(certificate: ServingCertificate) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.certificate.decode())


async def test_a_new_certificate_is_shown_from_the_next_handshake_on(port):
    assert await asyncio.to_thread(port.shown) == der(port.tls.certificate)
    new = made()
    port.tls.show(new)
    assert await asyncio.to_thread(port.shown) == der(new)


async def test_no_request_fails_while_certificates_rotate(port):
    """Sixteen clients with kept-alive and fresh connections, twenty leaves by one authority: no error."""
    trust = ssl.create_default_context(cadata=port.tls.certificate.ca.decode())
    done, answered = asyncio.Event(), 0

    async def ask(fresh: bool) -> None:
        nonlocal answered
        connector = aiohttp.TCPConnector(ssl=trust, force_close=fresh)
        async with aiohttp.ClientSession(connector=connector) as client:
            while not done.is_set():
                async with client.get(f"https://localhost:{port.number}/") as answer:
                    assert await answer.text() == "ok"
                    answered += 1

    async with asyncio.TaskGroup() as tasks:
        for number in range(16):
            tasks.create_task(ask(fresh=number % 2 == 0))
        for number in range(20):
            await eventually(lambda goal=answered + 20: answered >= goal)
            port.tls.show(settle(port.tls.certificate, (*NAMES, f"host-{number}"), SystemClock().now()))
        done.set()
    assert answered >= 400
    await connections_closed()


async def test_a_pair_that_does_not_fit_leaves_the_old_one_in_place(port):
    before, other = port.tls.certificate, made()
    for certificate, key in ((other.certificate, before.key), (b"nonsense", before.key), (before.certificate, b"")):
        with pytest.raises(ConfigError, match=r"tls.crt, tls.key"):
            port.tls.show(ServingCertificate(ca=before.ca, certificate=certificate, key=key))
    assert await asyncio.to_thread(port.shown) == der(before)


@pytest.mark.parametrize("spoilt", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
async def test_a_spoilt_client_authority_leaves_the_old_ones_in_place(port, spoilt):
    with pytest.raises(ConfigError, match="client CA"):
        port.tls.trust([spoilt])
    assert await asyncio.to_thread(port.shown) == der(port.tls.certificate)


async def test_handshakes_fail_before_there_is_a_certificate():
    tls, server = ServerTls(), LimitedServer(web.Application())
    port = Port(tls, await server.start("127.0.0.1", 0, tls.context(asks_clients=False)))
    with pytest.raises(OSError):  # noqa: PT011 - an SSLError, or a reset
        await asyncio.to_thread(port.shown)
    tls.show(made())
    assert await asyncio.to_thread(port.shown) == der(tls.certificate)
    await accepted()
    await server.aclose()


@pytest.mark.parametrize(
    ("minimum", "version", "works"),
    [
        ("TLS12", ssl.TLSVersion.TLSv1_1, False),
        ("TLS12", ssl.TLSVersion.TLSv1_2, True),
        ("TLS12", ssl.TLSVersion.TLSv1_3, True),
        ("TLS13", ssl.TLSVersion.TLSv1_2, False),
        ("TLS13", ssl.TLSVersion.TLSv1_3, True),
    ],
)
async def test_the_oldest_tls_version_is_honoured(minimum, version, works):
    tls, server = ServerTls(minimum), LimitedServer(web.Application())
    tls.show(made())
    port = Port(tls, await server.start("127.0.0.1", 0, tls.context(asks_clients=False)))
    tls.show(made())  # and still after a reload
    try:
        shown = await asyncio.to_thread(port.shown, version)
    except OSError:
        shown = b""
    assert bool(shown) is works
    await accepted()
    await server.aclose()


def test_only_ciphers_that_authenticate_are_served_unless_others_are_named():
    served = ServerTls().context(asks_clients=True).get_ciphers()
    assert {cipher["aead"] for cipher in served} == {True}
    named = ServerTls("TLS12", ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"]).context(asks_clients=True)
    assert "ECDHE-ECDSA-AES128-SHA256" in {cipher["name"] for cipher in named.get_ciphers()}


def test_ciphers_have_gos_names_and_unknown_ones_are_refused():
    tls = ServerTls("TLS12", ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"])
    names = {cipher["name"] for cipher in tls.context(asks_clients=False).get_ciphers()}
    assert {name for name in names if not name.startswith("TLS_")} == {"ECDHE-ECDSA-AES128-GCM-SHA256"}
    with pytest.raises(ConfigError, match="TLS ciphers"):
        ServerTls("TLS12", ["TLS_MADE_WITH_UP"]).context(asks_clients=False)


def _write(folder: Path, certificate: ServingCertificate, *names: str) -> None:
    contents = {"tls.crt": certificate.certificate, "tls.key": certificate.key, "ca.crt": certificate.ca}
    for name in names or contents:
        (folder / name).write_bytes(contents[name])


async def test_files_are_reloaded_once_both_halves_are_there(tmp_path):
    tls = ServerTls()
    files = FileCertificates(CertificatePaths.within(str(tmp_path)), tls)
    files.look()
    assert tls.certificate is None
    old, new = made(), made()
    _write(tmp_path, old)
    files.look()
    assert tls.certificate.certificate == old.certificate
    _write(tmp_path, new, "tls.crt")
    files.look()
    assert tls.certificate.certificate == old.certificate
    _write(tmp_path, new, "tls.key", "ca.crt")
    files.look()
    assert (tls.certificate.certificate, tls.certificate.ca) == (new.certificate, new.ca)
    (tmp_path / "tls.key").unlink()
    files.look()
    assert tls.certificate.certificate == new.certificate


async def test_a_mounted_secret_is_followed_through_its_symlink(tmp_path):
    tls, old, new = ServerTls(), made(), made()
    for name, certificate in (("one", old), ("two", new)):
        (tmp_path / name).mkdir()
        _write(tmp_path / name, certificate)
    data = tmp_path / "..data"
    data.symlink_to("one")
    files = FileCertificates(CertificatePaths.within(str(data)), tls)
    files.look()
    data.unlink()
    data.symlink_to("two")
    files.look()
    assert tls.certificate.certificate == new.certificate


async def test_without_an_authority_file_the_chains_last_certificate_is_named(tmp_path):
    tls, certificate = ServerTls(), made()
    _write(tmp_path, certificate, "tls.crt", "tls.key")
    FileCertificates(CertificatePaths.within(str(tmp_path)), tls).look()
    assert tls.certificate.ca == certificate.certificate


async def test_an_expired_certificate_is_shown_all_the_same(port):
    """Serving no certificate would break probes and webhooks that do not verify."""
    long_ago = SystemClock().now() - timedelta(days=800)
    assert make_authority(long_ago)
    expired = make_certificate(NAMES, long_ago)
    port.tls.show(expired)
    assert await asyncio.to_thread(port.shown) == der(expired)
