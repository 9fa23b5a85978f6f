"""`cassandra` against a node that is played: no server of its protocol is to be had."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.testing import EngineContext, check_scaler
from scalers.cassandra import CassandraScaler
from scalers.shared.databases.cql_frames import Body, first_cell
from tests.certificates import Authority
from tests.costs import cpu_of
from tests.scalers.conftest import Bench
from tests.scalers.triggers import trigger_of

BIGINT, DOUBLE, TEXT, MAP = b"\0\x02", b"\0\x07", b"\0\x0d", b"\0\x21\0\x0d\0\x02"


def rows(kind: bytes, *cells: bytes | None) -> tuple[int, int, bytes]:
    """A RESULT with one column, `count`."""
    head = struct.pack(">iii", 2, 1, 1) + _string("shop") + _string("jobs") + _string("count") + kind
    body = b"".join(struct.pack(">i", -1) if one is None else struct.pack(">i", len(one)) + one for one in cells)
    return 0, 8, head + struct.pack(">i", len(cells)) + body


def refused(code: int, text: str) -> tuple[int, int, bytes]:
    return 0, 0, struct.pack(">i", code) + _string(text)


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


@dataclass
class Node:
    """Asks for a password, and answers queries by their text; one without an answer cuts the connection."""

    answers: dict[str, tuple[int, int, bytes]]
    password: str = "s3cret"
    asked: list[str] = field(default_factory=list)
    connections: int = 0

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readexactly(9)
                version, _, stream, operation, length = struct.unpack(">BBhBi", head)
                answer = self._answer(operation, await reader.readexactly(length))
                if answer is None:
                    return
                flags, opcode, body = answer
                writer.write(struct.pack(">BBhBi", version | 0x80, flags, stream, opcode, len(body)) + body)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def _answer(self, operation: int, body: bytes) -> tuple[int, int, bytes] | None:
        if operation == 1:
            return 0, 3, _string("org.apache.cassandra.auth.PasswordAuthenticator")
        if operation == 15:
            good = body[4:] == f"\0ann\0{self.password}".encode()
            return (0, 16, struct.pack(">i", -1)) if good else refused(0x100, "Provided username ann is incorrect")
        (length,) = struct.unpack(">i", body[:4])
        query = body[4 : 4 + length].decode()
        self.asked.append(query)
        return (0, 8, struct.pack(">i", 3) + _string("shop")) if query == 'USE "shop"' else self.answers.get(query)


@asynccontextmanager
async def playing(node: Node, **options: object) -> AsyncIterator[dict[str, str]]:
    async with await asyncio.start_server(node.listen, "127.0.0.1", 0, **options) as server:  # type: ignore[arg-type]
        port = server.sockets[0].getsockname()[1]
        yield {"username": "ann", "clusterIPAddress": "127.0.0.1", "port": str(port), "keyspace": "shop"}


AUTH = {"password": "s3cret"}
CROWDED = (0, 8, struct.pack(">iii", 2, 1, 250_000) + _string("") * 2 + (_string("") + BIGINT) * 250_000)
WARNED = (0x08, 8, struct.pack(">H", 1) + _string("no partition key") + rows(BIGINT, struct.pack(">q", 9))[2])


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (rows(BIGINT, struct.pack(">q", 7)), 7),
        (rows(BIGINT, struct.pack(">q", -2), struct.pack(">q", 1)), -2),
        (rows(DOUBLE, struct.pack(">d", 1.5)), 1.5),
        (rows(BIGINT), 0),
        (WARNED, 9),
    ],
)
async def test_the_first_cell_is_the_number(bench: Bench, answer: tuple[int, int, bytes], value: float) -> None:
    node = Node({"SELECT 1": answer})
    async with playing(node) as place:
        scaler = await bench.opened("cassandra", {**place, "query": "SELECT 1", "targetQueryValue": "3"}, auth=AUTH)
        reading = await scaler.read()
    assert reading.value == value
    assert bool(reading.note) == (answer == rows(BIGINT))
    assert node.asked == ['USE "shop"', "SELECT 1"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refused(0x2200, "unconfigured table jobs"), "the query is refused|error 0x2200: unconfigured table jobs"),
        (rows(BIGINT, None), "the answer is NULL"),
        (rows(TEXT, b"7"), "the answer is text"),
        (rows(MAP, b""), "the answer is text"),
        ((0, 8, b"\0\0\0\2\0"), "the answer cannot be read: the answer ends too early"),
        ((0, 8, b"\0" * 2_000_000), "connection lost: the server announces 2000000 bytes"),
        (None, "connection lost"),
        (CROWDED, "the answer cannot be read: the answer has too many parts: select one column"),
        ((0x08, 8, struct.pack(">H", 65535) + _string("") * 65535), "connection lost: the answer has too many parts"),
    ],
)
async def test_what_is_no_number_is_an_error(bench: Bench, answer: tuple[int, int, bytes] | None, message: str) -> None:
    node = Node({"SELECT 1": answer} if answer else {})
    async with playing(node) as place:
        scaler = await bench.opened("cassandra", {**place, "query": "SELECT 1", "targetQueryValue": "3"}, auth=AUTH)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()


async def test_wrong_credentials_are_told_without_them(bench: Bench) -> None:
    async with playing(Node({})) as place:
        metadata = {**place, "query": "SELECT 1", "targetQueryValue": "3"}
        with pytest.raises(ScalerError, match="log-in is refused: error 0x0100") as wrong:
            await bench.opened("cassandra", metadata, auth={"password": "hunter2"})
    assert "hunter2" not in str(wrong.value)


async def test_queries_of_a_keyspace_share_one_connection_that_is_renewed_where_it_was_cut(bench: Bench) -> None:
    node = Node({f"SELECT {number}": rows(BIGINT, struct.pack(">q", number)) for number in range(9)})
    async with playing(node) as place:
        triggers = [{**place, "query": f"SELECT {number}", "targetQueryValue": "3"} for number in range(10)]
        scalers = [await bench.opened("cassandra", trigger, auth=AUTH) for trigger in triggers]
        assert [(await scaler.read()).value for scaler in scalers[:9]] == list(range(9))
        assert node.connections == 1
        with pytest.raises(ScalerError):
            await scalers[9].read()
        assert (await scalers[3].read()).value == 3


async def test_tls_with_a_client_certificate(bench: Bench, tmp_path: Path) -> None:
    ours = Authority()
    client = ours.leaf("keda")
    tls = ours.server_context(tmp_path, wants_client=True)
    node = Node({"SELECT 1": rows(BIGINT, struct.pack(">q", 7))})
    async with playing(node, ssl=tls) as place:
        metadata = {**place, "query": "SELECT 1", "targetQueryValue": "3"}
        auth = {**AUTH, "tls": "enable", "cert": client.cert, "key": client.key}
        scaler = await bench.opened("cassandra", metadata, auth={**auth, "ca": ours.cert})
        assert (await scaler.read()).value == 7
        with pytest.raises(ScalerError, match="certificate verify failed"):
            await bench.opened("cassandra", metadata, auth=auth)


async def test_a_consistency_that_is_unknown_is_told_and_refused(bench: Bench) -> None:
    metadata = {"username": "a", "clusterIPAddress": "h:1", "keyspace": "k", "query": "q", "targetQueryValue": "1"}
    scaler = bench.scaler("cassandra", {**metadata, "consistency": "most", "protocolVersion": "5"}, auth=AUTH)
    assert [caution.partition(":")[0] for caution in scaler.cautions] == ["consistency", "protocolVersion"]
    with pytest.raises(ConfigError, match='"most" is not one of any, one'):
        await scaler.open()


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    metadata = {"username": "a", "clusterIPAddress": "h:1", "keyspace": "k", "query": "q", "targetQueryValue": "1"}
    await check_scaler(CassandraScaler, trigger_of("cassandra", metadata, auth=AUTH), context)


def test_an_answer_of_a_quarter_of_a_million_columns_takes_little_of_the_loop() -> None:
    def read() -> None:
        first_cell(Body(CROWDED[2]))

    assert cpu_of(read, ValueError) < 0.05
