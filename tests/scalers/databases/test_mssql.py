"""`mssql` against a server that is played: no server of its protocol is to be had."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from OpenSSL import SSL

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from keda_py.testing import EngineContext, check_scaler
from scalers.mssql import MssqlScaler
from scalers.shared.databases.mssql_address import MssqlAddress, parse_connection
from scalers.shared.databases.mssql_client import context_for
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.triggers import trigger_of

PRELOGIN, LOGIN, ATTENTION = 18, 16, 6
CANCELLED = b"\xfd" + struct.pack("<HHQ", 0x20, 0, 0)
DONE = b"\xfd" + struct.pack("<HHQ", 0x10, 0xC1, 1)
LOGGED_IN = (
    b"\xad" + struct.pack("<HB", 10 + 2, 1) + b"\x74\0\0\4" + b"\x01" + "S".encode("utf-16-le") + b"\x0f\0\0\0" + DONE
)
PLAIN = b"\0\0\x0b\0\6\1\0\x11\0\1\xff" + b"\x0f\0\0\0\0\0" + b"\2"
"""Version, and no encryption."""


def number(*cells: int | None) -> bytes:
    """A result of one column, an int that may be NULL."""
    head = b"\x81" + struct.pack("<HIH", 1, 0, 9) + b"\x26\4" + b"\1" + "n".encode("utf-16-le")
    rows = [b"\xd1" + (b"\0" if cell is None else b"\4" + struct.pack("<i", cell)) for cell in cells]
    return head + b"".join(rows) + DONE


def refused(code: int, text: str) -> bytes:
    return said(code, text, token=b"\xaa") + b"\xfd" + struct.pack("<HHQ", 2, 0, 0)


def said(code: int, text: str, token: bytes = b"\xab") -> bytes:
    body = struct.pack("<IBBH", code, 1, 16, len(text)) + text.encode("utf-16-le") + b"\0\0" + struct.pack("<I", 1)
    return token + struct.pack("<H", len(body)) + body


@dataclass
class Server:
    """Answers queries by their text; one without an answer is never answered."""

    answers: dict[str, bytes]
    log_in: bytes = LOGGED_IN
    connections: int = 0

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                kind, body = await self._message(reader)
                answer = {PRELOGIN: PLAIN, LOGIN: self.log_in, ATTENTION: CANCELLED}.get(kind)
                if answer is None:
                    answer = self._answer(body)
                for at in range(0, len(answer), 4000):
                    piece = answer[at : at + 4000]
                    writer.write(struct.pack(">BBHHBB", 4, at + 4000 >= len(answer), len(piece) + 8, 0, 1, 0) + piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, body: bytes) -> bytes:
        (skipped,) = struct.unpack("<I", body[:4])
        query = body[skipped:].decode("utf-16-le")
        return DONE if query == "use [shop]" else self.answers.get(query, b"")

    async def _message(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        body, last = b"", 0
        while not last:
            kind, last, size, *_ = struct.unpack(">BBHHBB", await reader.readexactly(8))
            body += await reader.readexactly(size - 8)
        return kind, body


@asynccontextmanager
async def playing(server: Server) -> AsyncIterator[dict[str, str]]:
    async with await asyncio.start_server(server.listen, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        yield {"host": "127.0.0.1", "port": str(port), "username": "ann", "database": "shop", "targetValue": "3"}


AUTH = {"password": "s3cret"}


async def test_the_first_cell_is_the_number_and_no_row_is_0(bench: Bench) -> None:
    server = Server({"SELECT 7": number(7, 8), "SELECT 0": number()})
    async with playing(server) as place:
        first, none = [
            await bench.opened("mssql", {**place, "query": query}, auth=AUTH) for query in ("SELECT 7", "SELECT 0")
        ]
        assert [(await scaler.read()).value for scaler in (first, none)] == [7, 0]
        assert (await none.read()).note == "a query without a row counts as 0"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refused(208, "Invalid object name 'jobs'."), "the query is refused: Invalid object name"),
        (number(None), "the answer is NULL"),
        (said(1, "a" * 30_000) * 40 + number(1), "connection lost: the server sends more than 1048576 bytes"),
        (b"\x99", "connection lost|the query is refused"),
        (b"", r"no answer in 0\.5 s"),
    ],
)
async def test_what_is_no_number_is_an_error(bench: Bench, answer: bytes, message: str) -> None:
    server = Server({"SELECT 1": answer, "SELECT 2": number(2)})
    async with playing(server) as place:
        scaler = await bench.opened("mssql", {**place, "query": "SELECT 1"}, auth=AUTH, timeout=0.5)
        other = await bench.opened("mssql", {**place, "query": "SELECT 2"}, auth=AUTH, timeout=0.5)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()
        assert (await other.read()).value == 2


async def test_wrong_credentials_are_told_without_them(bench: Bench) -> None:
    async with playing(Server({}, log_in=refused(18456, "Login failed for user 'ann'."))) as place:
        with pytest.raises(ScalerError, match="connection failed: Login failed") as wrong:
            await bench.opened("mssql", {**place, "query": "SELECT 1"}, auth={"password": "hunter2"})
    assert "hunter2" not in str(wrong.value)


async def test_encryption_that_the_server_does_not_speak_is_an_error(bench: Bench) -> None:
    async with playing(Server({})) as place:
        connection = f"server=127.0.0.1,{place['port']};user id=ann;password=hunter2;encrypt=true"
        with pytest.raises(ScalerError, match="connection failed: You requested encryption"):
            await bench.opened(
                "mssql", {"query": "SELECT 1", "targetValue": "1"}, auth={"connectionString": connection}
            )


async def test_a_server_that_is_not_there_is_an_error_of_the_poll(bench: Bench) -> None:
    metadata = {"host": "127.0.0.1", "port": "1", "query": "SELECT 1", "targetValue": "1"}
    with pytest.raises(ScalerError, match="connection failed"):
        await bench.opened("mssql", metadata)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("sqlserver://ann:p%40w@db:1434?database=shop&encrypt=true", ("db", 1434, "ann", "p@w", "shop", "all", True)),
        (
            "Server=tcp:db,1434;User Id=ann;Password=p@w;Initial Catalog=shop",
            ("db", 1434, "ann", "p@w", "shop", "login", False),
        ),
        ("server=db;uid=ann;pwd=p@w;encrypt=disable", ("db", 1433, "ann", "p@w", "", "none", True)),
        ("sqlserver://ann:p@db?encrypt=true&TrustServerCertificate=true", ("db", 1433, "ann", "p", "", "all", False)),
    ],
)
def test_connection_strings_are_read(text: str, at: tuple[object, ...]) -> None:
    found: MssqlAddress = parse_connection(text)
    password = found.password.get_secret_value()
    assert (found.host, found.port, found.user, password, found.database, found.encryption, found.verified) == at


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sqlserver://ann:hunter2@db/SQLEXPRESS", "names no host, or an instance"),
        ("server=db;certificate=/etc/ca.pem;password=hunter2", "certificate names a file of the operator"),
        ("server=db;fedauth=ActiveDirectoryMSI", "fedauth is not supported"),
        ("server=db;encrypt=strict", "encrypt is not one of"),
        ("hunter2", "is neither sqlserver://"),
    ],
)
def test_a_connection_string_that_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        parse_connection(text)
    assert message in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


async def test_the_operators_identity_goes_to_no_server_of_a_tenant(bench: Bench) -> None:
    metadata = {"host": "db.hostile.example", "query": "SELECT 1", "targetValue": "1"}
    scaler = bench.scaler("mssql", metadata, pod_identity=PodIdentity(provider="azure-workload"))
    with pytest.raises(ConfigError, match="is not sent to host"):
        await scaler.open()


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(MssqlScaler, trigger_of("mssql", {"host": "h", "query": "q", "targetValue": "1"}), context)


def shake_hands(client: SSL.Connection, server: SSL.Connection) -> None:
    """Raises SSL.Error where one of them refuses the other."""
    waiting = {client, server}
    for one, other in ((client, server), (server, client)) * 4:
        if one in waiting:
            with suppress(SSL.WantReadError):
                one.do_handshake()
                waiting.discard(one)
        with suppress(SSL.WantReadError):
            other.bio_write(one.bio_read(2**16))
    assert not waiting


@pytest.mark.parametrize(
    ("trusts", "host", "refusal"),
    [
        ("ours", "db.shop", None),
        ("ours", "other.shop", "certificate verify failed"),
        ("no authority", "db.shop", "certificate verify failed"),
        ("anything", "other.shop", None),
    ],
)
def test_where_no_authority_is_known_no_certificate_is_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trusts: str, host: str, refusal: str | None
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    ours = Authority()
    pair = ours.leaf("db", hosts=("db.shop",))
    known = {"ours": [ssl.PEM_cert_to_DER_cert(ours.cert)], "no authority": [], "anything": None}
    answering = SSL.Context(SSL.TLS_SERVER_METHOD)
    answering.use_certificate(x509.load_pem_x509_certificate(pair.cert.encode()))
    answering.use_privatekey(serialization.load_pem_private_key(pair.key.encode(), None))
    client, server = SSL.Connection(context_for(host, known[trusts])), SSL.Connection(answering)
    client.set_connect_state()
    server.set_accept_state()
    with pytest.raises(SSL.Error, match=refusal) if refusal else nullcontext():
        shake_hands(client, server)
