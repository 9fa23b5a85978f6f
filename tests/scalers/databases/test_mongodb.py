"""`mongodb` against a server of its protocol, which knows no users and no TLS."""

import asyncio
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import Int64
from bson.regex import Regex
from pymongo import AsyncMongoClient

from keda_py.answers.connections import Connections
from keda_py.answers.work_context import working
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.sdk.registry import build
from keda_py.testing import EngineContext, check_scaler, shared_context
from scalers.mongodb import MongodbScaler
from scalers.shared.databases.mongodb_filter import filter_problem, read_filter
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.servers.restartable import Restartable
from tests.scalers.triggers import trigger_of
from tests.servers import free_port

SHARE = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""As the library reads it."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restartable]:
    command = Path(sys.executable).with_name("nx-27017")
    if not command.exists():
        pytest.skip("needs nx-27017: pip install 'keda-py[servers]'")
    port, folder = free_port(), tmp_path_factory.mktemp("mongodb")
    files = ["--log-file", str(folder / "server.log"), "--pid-file", str(folder / "pid")]
    with Restartable(port, [str(command), "--db", "memory", "-p", str(port), *files], folder / "log", {}) as server:
        yield server


@pytest.fixture
async def admin(server: Restartable) -> AsyncIterator[Any]:
    async with AsyncMongoClient(f"mongodb://127.0.0.1:{server.port}/?directConnection=true") as client:
        await client.shop.jobs.delete_many({})
        yield client.shop.jobs


def on(query: str = '{"state": "open"}', **metadata: str) -> dict[str, str]:
    return {"dbName": "shop", "collection": "jobs", "query": query, "queryValue": "5", **metadata}


def at(server: Restartable, options: str = "directConnection=true") -> dict[str, str]:
    return {"connectionString": f"mongodb://127.0.0.1:{server.port}/?{options}"}


async def test_the_documents_that_match_are_counted(bench: Bench, server: Restartable, admin: Any) -> None:
    await admin.insert_many([{"state": "open" if number % 3 else "done", "n": number} for number in range(9)])
    counts = {}
    for query in ('{"state": "open"}', '{"n": {"$gt": 6}}', '{"n": {"$numberLong": "4"}}', '{"state": "lost"}'):
        scaler = await bench.opened("mongodb", on(query), auth=at(server))
        counts[query] = (await scaler.read()).value
    assert list(counts.values()) == [6, 2, 1, 0]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ('{"name": {"$regex": "^a"}}', 3),
        ('{"name": {"$regex": "^A", "$options": "i"}}', 3),
        ('{"name": {"$regex": "^a", "$ne": "ab"}}', 2),
        ('{"name": {"$ne": "ab", "$regex": "^a", "$nin": ["ac"]}}', 1),
    ],
)
async def test_operators_beside_a_regular_expression_count(
    bench: Bench, server: Restartable, admin: Any, query: str, count: int
) -> None:
    await admin.insert_many([{"name": name} for name in ("ab", "ac", "ad", "bc", "bd")])
    scaler = await bench.opened("mongodb", on(query), auth=at(server))
    assert (await scaler.read()).value == count


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ('{"a": {"$regularExpression": {"pattern": "x", "options": "i"}}}', {"a": Regex("x", "i")}),
        ('{"a": {"$date": {"$numberLong": "0"}}}', {"a": EPOCH}),
        ('{"a": {"$in": [{"$numberLong": "9223372036854775807"}, 1.5]}}', {"a": {"$in": [2**63 - 1, 1.5]}}),
        ('{"a": {"$exists": true, "$type": "string"}}', {"a": {"$exists": True, "$type": "string"}}),
    ],
)
def test_values_of_extended_json_are_those_of_bson(query: str, read: dict[str, object]) -> None:
    assert filter_problem(query) == ""
    assert read_filter(query) == read


async def test_forty_counts_at_once_wait_for_their_turn_and_not_for_their_time_out(
    bench: Bench, server: Restartable, admin: Any
) -> None:
    scalers = [await bench.opened("mongodb", on(), auth=at(server), timeout=1) for _ in range(40)]
    assert [one.value for one in await asyncio.gather(*(scaler.read() for scaler in scalers))] == [0] * 40
    assert bench.lent.connections.held <= 8 + 1


async def test_a_trigger_says_how_long_its_count_may_take(bench: Bench, server: Restartable) -> None:
    scaler = await bench.opened("mongodb", on(timeout="20s"), auth=at(server))
    assert scaler.timeout == 20
    assert (await scaler.read()).value == 0


async def test_a_collection_that_is_not_there_has_no_documents(bench: Bench, server: Restartable) -> None:
    scaler = await bench.opened("mongodb", on(collection="nowhere"), auth=at(server))
    assert (await scaler.read()).value == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{state:", "query: is not JSON"),
        ("{}", "query: is no filter"),
        ('{"$or": [' + "{}," * 2_000 + "{}]}", "query: has more than"),
        ('{"n": 99999999999999999999}', "query: has a whole number beyond 64 bits"),
        ('{"n": {"$numberLong": "99999999999999999999"}}', "mongodb cannot count shop.jobs"),
        ('{"n": {"$gt": 1}, "n": {"$lt": 5}}', 'query: has "n" twice'),
        ('{"n": {"$undefined": true, "$ne": 1}}', r"\$undefined has something beside it"),
        ('{"n": NaN}', "query: is not JSON"),
        ('{"$or": ' + "[" * 300 + "]" * 300 + "}", "query: has more than 200 lists and mappings in each other"),
        ('{"$or": 1}', "mongodb cannot count shop.jobs"),
        ('{"n": {"$numberLong": "many"}}', "mongodb cannot count shop.jobs"),
    ],
)
async def test_a_filter_that_cannot_be_used_is_an_error(
    bench: Bench, server: Restartable, admin: Any, query: str, message: str
) -> None:
    await admin.insert_one({"n": 3})
    scaler = await bench.opened("mongodb", on(query), auth=at(server))
    with pytest.raises(ScalerError, match=message):
        await scaler.read()


async def test_a_restarted_server_is_read_again(bench: Bench, server: Restartable, admin: Any) -> None:
    scaler = await bench.opened("mongodb", on(), auth=at(server), timeout=2)
    assert (await scaler.read()).value == 0
    server.stop()
    try:
        with pytest.raises(ScalerError, match="mongodb cannot count shop.jobs"):
            await scaler.read()
    finally:
        server.start()
    assert (await scaler.read()).value == 0


async def test_a_server_that_is_not_there_is_an_error_of_the_poll(bench: Bench) -> None:
    auth = {"connectionString": "mongodb://ann:hunter2@127.0.0.1:1/?directConnection=true"}
    with pytest.raises(ScalerError, match=r"mongodb cannot be reached: 127\.0\.0\.1:1") as refused:
        await bench.opened("mongodb", on(), auth=auth, timeout=0.3)
    assert "hunter2" not in str(refused.value)


async def test_tls_shows_the_certificate_of_the_trigger(bench: Bench, tmp_path: Path) -> None:
    ours = Authority()
    client, leaf = ours.leaf("keda", password="hidden"), ours.leaf("mongodb")
    tls = ours.server_context(tmp_path, wants_client=True, pair=leaf)
    shown = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subject"])
        writer.close()

    auth = {"tls": "enable", "ca": ours.cert, "cert": client.cert, "key": client.key}
    async with await asyncio.start_server(listen, "127.0.0.1", 0, ssl=tls) as server:
        place = f"mongodb://127.0.0.1:{server.sockets[0].getsockname()[1]}/?directConnection=true"
        auth["connectionString"] = place
        with pytest.raises(ScalerError, match="mongodb cannot be reached"):
            await bench.opened("mongodb", on(), auth={**auth, "keyPassword": "hidden"}, timeout=1)
    assert ((("commonName", "keda"),),) in shown
    with pytest.raises(ConfigError, match="key"):
        await bench.opened("mongodb", on(), auth={**auth, "keyPassword": "wrong"}, timeout=1)


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        ("mongodb://ann:hunter2@h/?tlsCAFile=/etc/ssl/ca.pem", "tlscafile names a file of the operator"),
        ("mongodb://h/?tls=true&tlsCertificateKeyFile=/run/key", "tlscertificatekeyfile names a file"),
        ("mongodb://h/?authMechanism=MONGODB-AWS&authSource=$external", "authMechanism is not one of"),
        ("mongodb://h/?authMechanism=MONGODB-OIDC", "authMechanism is not one of"),
        ("mongodb://%2Ftmp%2Fmongodb-27017.sock", "names a socket of the operator"),
        ("http://ann:hunter2@h", "cannot be used"),
    ],
)
async def test_a_connection_string_that_would_use_what_is_the_operators_is_refused(
    bench: Bench, connection: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        await bench.opened("mongodb", on(), auth={"connectionString": connection})
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


def _replies(hello: dict[str, Any], counted: dict[str, Any] | None = None) -> Callable[..., Awaitable[None]]:
    """A server that answers each question with `hello`, but one for a count."""
    cursor = {"id": 0, "ns": "shop.jobs", "firstBatch": [counted]}

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(asyncio.IncompleteReadError):
            while True:
                length, request, _, operation = struct.unpack("<iiii", await reader.readexactly(16))
                question = await reader.readexactly(length - 16)
                said = bson.encode({"ok": 1.0, **({"cursor": cursor} if b"aggregate" in question else hello)})
                if operation == 2004:
                    answer, code = struct.pack("<iqii", 8, 0, 0, 1) + said, 1
                else:
                    answer, code = struct.pack("<i", 0) + b"\0" + said, 2013
                writer.write(struct.pack("<iiii", 16 + len(answer), 1, request, code) + answer)

    return listen


PRIMARY = {"ismaster": True, "maxWireVersion": 25, "maxMessageSizeBytes": 2**31 - 1, "readOnly": False}


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        (PRIMARY | {"more": "x" * 1_000_000}, "Message length .* is larger than server max message size .65536."),
        (
            PRIMARY | {"setName": "rs", "hosts": [f"127.0.0.{number}:1" for number in range(1, 101)]},
            "the server tells of 100 members of its replica set",
        ),
    ],
)
async def test_a_server_that_says_too_much_is_refused(bench: Bench, hello: dict[str, Any], message: str) -> None:
    async with await asyncio.start_server(_replies(hello), "127.0.0.1", 0) as server:
        options = "?replicaSet=rs" if "hosts" in hello else ""
        place = f"mongodb://127.0.0.1:{server.sockets[0].getsockname()[1]}/{options}"
        with pytest.raises(ScalerError, match=message):
            await bench.opened("mongodb", on(), auth={"connectionString": place}, timeout=0.3)


async def test_a_count_of_64_bits_is_one(bench: Bench) -> None:
    async with await asyncio.start_server(_replies(PRIMARY, {"n": Int64(2**40)}), "127.0.0.1", 0) as server:
        place = f"mongodb://127.0.0.1:{server.sockets[0].getsockname()[1]}/?directConnection=true"
        scaler = await bench.opened("mongodb", on(), auth={"connectionString": place}, timeout=2)
        assert (await scaler.read()).value == 2**40


@pytest.mark.parametrize("count", [{"n": "7"}, {"n": None}, {"m": 7}, {"n": 7.5}])
async def test_a_count_that_is_none_is_an_error(bench: Bench, count: dict[str, Any]) -> None:
    async with await asyncio.start_server(_replies(PRIMARY, count), "127.0.0.1", 0) as server:
        place = f"mongodb://127.0.0.1:{server.sockets[0].getsockname()[1]}/?directConnection=true"
        scaler = await bench.opened("mongodb", on(), auth={"connectionString": place}, timeout=2)
        with pytest.raises(ScalerError, match="mongodb cannot count shop.jobs"):
            await scaler.read()


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    await check_scaler(MongodbScaler, trigger_of("mongodb", on(connectionString="mongodb://h")), context)


def a_message(document: dict[str, Any], answering: bytes, flags: int = 0) -> bytes:
    """OP_MSG, as a server answers it."""
    body = struct.pack("<iB", flags, 0) + bson.encode(document)
    return struct.pack("<iiii", 16 + len(body), 7, struct.unpack_from("<i", answering, 4)[0], 2013) + body


def a_large_message(of: int, answering: bytes) -> bytes:
    """Its head, and the rest as fast as it is taken."""
    return struct.pack("<iiii", of, 7, struct.unpack_from("<i", answering, 4)[0], 2013)


@dataclass
class Hostile:
    """A server of its own truth: it greets, and then answers `after` the question's head to all else."""

    greeting: dict[str, Any]
    after: Callable[[bytes], bytes] = lambda _: b""
    sent: int = 0
    asked: int = 0

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            for number in count():
                head = await reader.readexactly(16)
                question = await reader.readexactly(struct.unpack_from("<i", head)[0] - 16)
                self.asked += 1
                if not number or b"ismaster" in question or b"hello" in question:
                    writer.write(
                        a_message({"ok": 1.0, "minWireVersion": 0, "maxWireVersion": 21, **self.greeting}, head)
                    )
                    continue
                writer.write(self.after(head))
                while True:
                    writer.write(bytes(2**16))
                    await writer.drain()
                    self.sent += 2**16
        writer.transport.abort()


@asynccontextmanager
async def served(hostile: Hostile) -> AsyncIterator[int]:
    async with await asyncio.start_server(hostile.listen, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_server_may_not_say_how_much_of_it_is_read(bench: Bench) -> None:
    hostile = Hostile(
        {"isWritablePrimary": True, "maxMessageSizeBytes": 2**31 - 1},
        lambda head: a_large_message(2**30, head),
    )
    async with served(hostile) as port:
        auth = {"connectionString": f"mongodb://127.0.0.1:{port}/?directConnection=true"}
        with pytest.raises(ScalerError, match="is larger than server max message size"):
            await bench.opened("mongodb", on(), auth=auth, timeout=5)
    assert hostile.sent < 32 * 2**20


async def test_a_greeting_may_not_be_longer_than_greetings_are(bench: Bench) -> None:
    async with served(Hostile({"isWritablePrimary": True, "padding": "x" * 2**17})) as port:
        auth = {"connectionString": f"mongodb://127.0.0.1:{port}/?directConnection=true"}
        with pytest.raises(ScalerError, match="is larger than server max message size"):
            await bench.opened("mongodb", on(), auth=auth, timeout=1)


async def test_a_member_of_a_replica_set_is_no_socket_of_the_operators_machine(bench: Bench, tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(16))
        writer.close()

    place = str(tmp_path / "own.sock")
    greeting = {"setName": "rs", "secondary": True, "hosts": [f"{place}:27017"], "me": f"{place}:27017"}
    async with served(Hostile(greeting)) as port, await asyncio.start_unix_server(listen, place):
        auth = {"connectionString": f"mongodb://127.0.0.1:{port}/?replicaSet=rs"}
        with pytest.raises(ScalerError, match="mongodb cannot be reached"):
            await bench.opened("mongodb", on(), auth=auth, timeout=1)
    assert heard == []


async def test_members_that_a_server_names_are_connections_of_the_namespaces_share(server: Restartable) -> None:
    here = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        most.append(len(open_now))
        if len(open_now) == SHARE and not here.done():
            here.set_result(None)
        await reader.read()
        open_now.discard(writer)
        writer.close()

    open_now, most = set[asyncio.StreamWriter](), [0]
    spec = HttpClientSpec(timeout=2.0, connections=Connections(share=SHARE))
    async with await asyncio.start_server(listen, "0.0.0.0", 0) as silent, shared_context(http=spec) as lent:
        port = silent.sockets[0].getsockname()[1]
        members = ",".join(f"127.0.0.{number}:{port}" for number in range(2, 30))
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        trigger = trigger_of("mongodb", on(), auth={"connectionString": f"mongodb://{members}/?replicaSet=rs"})
        scaler = build(trigger, context)
        with working("shop"), pytest.raises(ScalerError, match="mongodb cannot be reached"):
            await scaler.open()
        await context.aclose()
        assert here.done()
        assert max(most) == SHARE
        assert lent.connections.held == 0


async def test_a_client_gives_back_its_places_when_it_is_closed(server: Restartable) -> None:
    async with shared_context() as lent:
        context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
        scaler = build(trigger_of("mongodb", on(), auth=at(server)), context)
        await scaler.open()
        assert lent.connections.held == 2
        await context.aclose()
        assert lent.connections.held == 0
