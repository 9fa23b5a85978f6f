"""Servers whose certificate has the name of its authority, such as the pair in KEDA's own test of --ca-dir."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from keda_py.clock import FakeClock, SystemClock
from keda_py.net.http import HttpClientSpec, http_client
from keda_py.net.http.own_subject_certificates import (
    LOOK_SECONDS,
    REFUSED_FOR,
    SERVERS,
    TRUSTED_FOR,
    IssuedPath,
    OwnSubjectCertificates,
)
from keda_py.net.tls import TlsContexts, TlsSettings
from keda_py.testing import A_SATURDAY
from tests.busy_threads import no_thread_left
from tests.certificates import Authority, Pair, usage
from tests.http_server import HttpServer, http_server

PAST = datetime(2026, 1, 2, tzinfo=UTC)
ENDS = datetime(2036, 1, 2, tzinfo=UTC)
SELF_SIGNED = 18
SERVER_AUTH = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
NO_SERVER_AUTH = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
HERE, ELSEWHERE = x509.IPAddress(ip_network("127.0.0.0/8")), x509.IPAddress(ip_network("10.0.0.0/8"))
A_UNIT = x509.DirectoryName(x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "unit")]))


def refusal(code: int = SELF_SIGNED) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code = code
    return error


def trusting(folder: Path, *authorities: Authority, ciphers: tuple[str, ...] = ()) -> TlsContexts:
    """Make contexts with these authorities in --ca-dir."""
    folder = folder / "authorities"
    folder.mkdir(exist_ok=True)
    for number, authority in enumerate(authorities):
        (folder / f"{number}.crt").write_text(authority.cert)
    return TlsContexts(ciphers=ciphers, ca_dirs=[str(folder)])


@asynccontextmanager
async def serving(folder: Path, authority: Authority, pair: Pair, **options: bool) -> AsyncIterator[HttpServer]:
    async with http_server(authority.server_context(folder, pair=pair, **options)) as server:
        server.answers["/"] = "safe"
        yield server


def client_of(contexts: TlsContexts) -> httpx.AsyncClient:
    return http_client(HttpClientSpec(), FakeClock(A_SATURDAY), contexts)


async def test_a_server_that_an_authority_of_the_directory_has_signed_is_believed(tmp_path: Path) -> None:
    ours = Authority(SERVER_AUTH)
    contexts = trusting(tmp_path, Authority(), ours)
    async with serving(tmp_path, ours, ours.namesake(SERVER_AUTH)) as server, client_of(contexts) as client:
        for _ in range(2):
            assert (await client.get(server.url)).text == "safe"
        assert len({request.transport for request in server.asked}) == 1


@pytest.mark.parametrize(
    "authority",
    [
        Authority,
        lambda: Authority(x509.NameConstraints([HERE], None)),
        lambda: Authority(x509.NameConstraints(None, [ELSEWHERE])),
        lambda: Authority(path_length=0),
    ],
    ids=["says nothing of usage", "may name this server", "may not name others", "may sign leaves only"],
)
async def test_an_authority_that(authority: Callable[[], Authority], tmp_path: Path) -> None:
    ours = authority()
    contexts = trusting(tmp_path, ours)
    async with serving(tmp_path, ours, ours.namesake()) as server, client_of(contexts) as client:
        assert (await client.get(server.url)).text == "safe"


async def test_the_pair_of_kedas_own_test_is_believed(tmp_path: Path) -> None:
    """The pair is made as in tests/helper/helper.go for tests/internals/global_custom_ca, with shorter keys."""
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
            x509.NameAttribute(NameOID.STATE_OR_PROVINCE_NAME, "", _validate=False),
            x509.NameAttribute(NameOID.LOCALITY_NAME, "San Francisco"),
            x509.NameAttribute(NameOID.STREET_ADDRESS, "Golden Gate Bridge"),
            x509.NameAttribute(NameOID.POSTAL_CODE, "94016"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Company, INC."),
        ]
    )
    signer, key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    addresses = [x509.DNSName("metrics.shop.svc.cluster.local"), x509.IPAddress(ip_address("127.0.0.1"))]
    leaf = (
        certificate(name, key)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(SERVER_AUTH, critical=False)
        .add_extension(x509.SubjectKeyIdentifier(bytes((1, 2, 3, 4, 6))), critical=False)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    )
    authority = (
        certificate(name, signer)
        .add_extension(usage(signs_certificates=True), critical=True)
        .add_extension(SERVER_AUTH, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(signer.public_key()), critical=False)
    )
    (tmp_path / "ca.crt").write_bytes(authority.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (tmp_path / "server").write_bytes(leaf.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM) + plain)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server")
    (tmp_path / "server").unlink()
    async with http_server(context) as server, client_of(TlsContexts(ca_dirs=[str(tmp_path)])) as client:
        server.answers["/"] = "safe"
        assert (await client.get(server.url)).text == "safe"


def certificate(name: x509.Name, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(name, name, key.public_key(), 2019, PAST, ENDS)


ATTACKS: dict[str, Callable[[], tuple[Authority, Pair]]] = {
    "an authority that may not name this server": lambda: signed_by(
        Authority(SERVER_AUTH, x509.NameConstraints([ELSEWHERE], None))
    ),
    "an authority that excludes this server": lambda: signed_by(
        Authority(SERVER_AUTH, x509.NameConstraints(None, [HERE]))
    ),
    "an authority with a constraint that cannot be judged": lambda: signed_by(
        Authority(SERVER_AUTH, x509.NameConstraints([A_UNIT], None))
    ),
    "an authority that is not for servers": lambda: signed_by(Authority(NO_SERVER_AUTH)),
    "an authority that has ended": lambda: signed_by(Authority(SERVER_AUTH, until=PAST)),
    "an authority that is none": lambda: signed_by(Authority(SERVER_AUTH, ca=False)),
    "a leaf that is not for servers": lambda: with_leaf(NO_SERVER_AUTH),
    "a leaf that has ended": lambda: with_leaf(SERVER_AUTH, until=PAST),
    "a leaf of another name": lambda: with_leaf(SERVER_AUTH, hosts=["127.0.0.2"]),
    "a leaf without a name": lambda: with_leaf(SERVER_AUTH, hosts=[]),
    "another authority of the same name and another key": lambda: (Authority(SERVER_AUTH), Authority().namesake()),
    "an authority below one that allows none": lambda: below(Authority(SERVER_AUTH, path_length=0)),
    "an authority below one that allows it, which the server sends itself": lambda: below(Authority(SERVER_AUTH)),
}


def signed_by(authority: Authority) -> tuple[Authority, Pair]:
    return authority, authority.namesake(SERVER_AUTH)


def with_leaf(*more: x509.ExtensionType, **options: object) -> tuple[Authority, Pair]:
    authority = Authority(SERVER_AUTH)
    return authority, authority.namesake(*more, **options)  # type: ignore[arg-type]


def below(root: Authority) -> tuple[Authority, Pair]:
    middle = Authority(SERVER_AUTH, parent=root)
    leaf = middle.namesake(SERVER_AUTH)
    return root, Pair(leaf.cert + middle.cert, leaf.key)


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_server_is_not_believed_that_shows(attack: str, tmp_path: Path) -> None:
    authority, pair = ATTACKS[attack]()
    contexts = trusting(tmp_path, authority)
    async with serving(tmp_path, authority, pair) as server, client_of(contexts) as client:
        for _ in range(2):
            with pytest.raises(httpx.ConnectError, match="TLS"):
                await client.get(server.url)
        assert server.asked == []


async def test_an_authority_that_only_a_trigger_names_is_not_enough(tmp_path: Path) -> None:
    ours, contexts = Authority(), trusting(tmp_path, Authority())
    async with serving(tmp_path, ours, ours.namesake()) as server, client_of(contexts) as client:
        with pytest.raises(httpx.ConnectError, match="TLS"):
            await client.get(server.url, extensions={"ssl": contexts.get(TlsSettings(ca=ours.cert), "shop")})


async def test_without_authorities_in_a_directory_a_server_is_asked_once_and_no_more(tmp_path: Path) -> None:
    ours, contexts = Authority(), TlsContexts(ca_dirs=[str(tmp_path / "none")])
    async with counting(tmp_path, ours.namesake()) as (url, accepted), client_of(contexts) as client:
        with pytest.raises(httpx.ConnectError, match="TLS"):
            await client.get(url, extensions={"ssl": contexts.get(TlsSettings(ca=ours.cert), "shop")})
        assert len(accepted) == 1


async def test_what_is_no_certificate_to_the_verifier_is_left_out_of_the_directory(tmp_path: Path) -> None:
    odd = Authority().cert.replace("MII", "MIJ", 1)
    path = IssuedPath.of([ssl.PEM_cert_to_DER_cert(odd), ssl.PEM_cert_to_DER_cert(Authority().cert)])
    assert path is not None
    assert IssuedPath.of([ssl.PEM_cert_to_DER_cert(odd)]) is None


async def test_a_context_from_elsewhere_is_left_as_it_is(tmp_path: Path) -> None:
    ours = Authority()
    contexts = trusting(tmp_path, ours)
    narrow = ssl.create_default_context(cadata=Authority().cert)
    async with serving(tmp_path, ours, ours.namesake()) as server, client_of(contexts) as client:
        assert (await client.get(server.url)).text == "safe"
        with pytest.raises(httpx.ConnectError, match="TLS"):
            await client.get(server.url, extensions={"ssl": narrow})


async def test_a_server_may_change_its_certificate(tmp_path: Path) -> None:
    ours = Authority(SERVER_AUTH)
    contexts, context = trusting(tmp_path, ours), ours.server_context(tmp_path, pair=ours.namesake())
    async with http_server(context) as server, client_of(contexts) as client:
        server.answers["/"] = "safe"
        for pair in (ours.namesake(), ours.namesake(), ours.leaf("server")):
            (tmp_path / "server.pem").write_text(pair.cert + pair.key)
            context.load_cert_chain(tmp_path / "server.pem")
            assert (await client.get(server.url, headers={"Connection": "close"})).text == "safe"


async def test_the_configured_ciphers_stay_in_force(tmp_path: Path) -> None:
    ours = Authority()
    only = ("ECDHE-ECDSA-AES256-GCM-SHA384",)
    contexts, context = trusting(tmp_path, ours, ciphers=only), ours.server_context(tmp_path, pair=ours.namesake())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with http_server(context) as server, client_of(contexts) as client:
        server.answers["/"] = "safe"
        assert (await client.get(server.url, headers={"Connection": "close"})).text == "safe"
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        with pytest.raises(httpx.ConnectError):
            await client.get(server.url)


async def test_no_client_certificate_is_shown(tmp_path: Path) -> None:
    ours = Authority()
    contexts, own = trusting(tmp_path, ours), ours.leaf("keda")
    mine = contexts.get(TlsSettings(cert=own.cert, key=own.key), "shop")
    async with (
        serving(tmp_path, ours, ours.namesake(), wants_client=True) as server,
        client_of(contexts) as client,
    ):
        with pytest.raises(httpx.HTTPError):
            await client.get(server.url, extensions={"ssl": mine})
        assert server.asked == []


async def test_a_look_needs_no_thread(tmp_path: Path) -> None:
    ours = Authority()
    contexts = trusting(tmp_path, ours)
    async with serving(tmp_path, ours, ours.namesake()) as server, client_of(contexts) as client, no_thread_left():
        assert (await client.get(server.url, timeout=5)).text == "safe"


@asynccontextmanager
async def counting(
    folder: Path, pair: Pair, *, answers: int = 1000
) -> AsyncIterator[tuple[str, list[asyncio.StreamWriter]]]:
    """Serve the certificate to the first connections only; later ones get no answer."""
    accepted: list[asyncio.StreamWriter] = []
    context = Authority().server_context(folder, pair=pair)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        try:
            if len(accepted) <= answers:
                await writer.start_tls(context)
            await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", accepted


async def test_a_server_that_is_not_believed_is_looked_at_once_a_minute(tmp_path: Path) -> None:
    contexts = trusting(tmp_path, Authority())
    async with counting(tmp_path, Authority().namesake()) as (url, accepted), client_of(contexts) as client:
        for _ in range(3):
            with pytest.raises(httpx.ConnectError, match="TLS"):
                await client.get(url)
    assert len(accepted) == 3 + 1


async def test_requests_for_one_server_look_at_it_once(tmp_path: Path) -> None:
    contexts = trusting(tmp_path, Authority())
    async with counting(tmp_path, Authority().namesake()) as (url, accepted), client_of(contexts) as client:
        await asyncio.gather(*(client.get(url) for _ in range(5)), return_exceptions=True)
    assert len(accepted) == 5 + 1


async def test_a_look_ends_with_the_time_of_its_request(tmp_path: Path) -> None:
    contexts, loop = trusting(tmp_path, Authority()), asyncio.get_running_loop()
    async with counting(tmp_path, Authority().namesake(), answers=1) as (url, _), client_of(contexts) as client:
        began = loop.time()
        with pytest.raises(httpx.ConnectError, match="TLS"):
            await client.get(url, timeout=0.5)
        assert loop.time() - began < LOOK_SECONDS - 0.5


class LearningClient:
    """`OwnSubjectCertificates` on a clock of its own, with its answers about a server."""

    def __init__(self, contexts: TlsContexts) -> None:
        self.clock = FakeClock(SystemClock().now())
        self.own_subject_certificates = OwnSubjectCertificates(contexts, self.clock)
        self.context = contexts.get(TlsSettings(), "shop")

    async def learn(self, server: HttpServer, host: str = "127.0.0.1") -> bool:
        return await self.own_subject_certificates.learn(self.context, self.context, (host, server.port), refusal())

    def knows(self, server: HttpServer, host: str = "127.0.0.1") -> bool:
        return self.own_subject_certificates.context_for(self.context, (host, server.port)) is not self.context


async def test_a_server_is_looked_at_again_every_hour(tmp_path: Path) -> None:
    ours = Authority()
    learning = LearningClient(trusting(tmp_path, ours))
    async with serving(tmp_path, ours, ours.namesake()) as server:
        assert await learning.learn(server)
        await learning.clock.advance(TRUSTED_FOR - timedelta(seconds=1))
        assert learning.knows(server)
        await learning.clock.advance(2)
        assert not learning.knows(server)
        assert await learning.learn(server)


@pytest.mark.parametrize("whose", ["leaf", "authority"])
async def test_a_server_is_forgotten_when_a_certificate_of_its_path_ends(whose: str, tmp_path: Path) -> None:
    ends = SystemClock().now().replace(microsecond=0) + timedelta(minutes=10)
    ours = Authority(until=ends) if whose == "authority" else Authority()
    pair = ours.namesake(until=ends) if whose == "leaf" else ours.namesake()
    learning = LearningClient(trusting(tmp_path, ours))
    async with serving(tmp_path, ours, pair) as server:
        assert await learning.learn(server)
        assert learning.knows(server)
        await learning.clock.advance(timedelta(minutes=10, seconds=1))
        assert not learning.knows(server)
        assert not await learning.learn(server)


async def test_a_server_that_is_not_believed_may_be_after_a_minute(tmp_path: Path) -> None:
    ours = Authority()
    learning, context = (
        LearningClient(trusting(tmp_path, ours)),
        ours.server_context(tmp_path, pair=Authority().namesake()),
    )
    async with http_server(context) as server:
        assert not await learning.learn(server)
        pair = ours.namesake()
        (tmp_path / "server.pem").write_text(pair.cert + pair.key)
        context.load_cert_chain(tmp_path / "server.pem")
        assert not await learning.learn(server)
        await learning.clock.advance(REFUSED_FOR)
        assert await learning.learn(server)


async def test_no_more_servers_are_remembered_than_allowed(tmp_path: Path) -> None:
    hosts = [f"127.0.{number // 200}.{number % 200 + 1}" for number in range(SERVERS + 1)]
    ours = Authority()
    learning = LearningClient(trusting(tmp_path, ours))
    async with http_server(ours.server_context(tmp_path, pair=ours.namesake(hosts=hosts)), host="0.0.0.0") as server:
        for host in hosts:
            assert await learning.learn(server, host)
            learning.knows(server, hosts[1])  # the most recently used entry stays
    assert [host for host in hosts if not learning.knows(server, host)] == [hosts[0]]


async def test_another_refusal_than_a_self_signed_certificate_is_final(tmp_path: Path) -> None:
    ours = Authority()
    learning = LearningClient(trusting(tmp_path, ours))
    async with serving(tmp_path, ours, ours.namesake()) as server:
        where = ("127.0.0.1", server.port)
        expired = refusal(10)
        assert not await learning.own_subject_certificates.learn(learning.context, learning.context, where, expired)
