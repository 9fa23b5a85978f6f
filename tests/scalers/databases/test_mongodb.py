"""`mongodb` against a server of its protocol, which knows no users and no TLS."""

import asyncio
import gc
import struct
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from bson import Int64, encode
from pymongo import AsyncMongoClient

from keda_py.errors import ConfigError, ScalerError
from keda_py.testing import EngineContext, check_scaler
from scalers.mongodb import MongodbScaler
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.servers.restartable import Restartable
from tests.scalers.triggers import trigger_of
from tests.servers import free_port


@pytest.fixture(autouse=True)
def sockets_of_the_library() -> Iterator[None]:
    """The library leaves a socket whose connection was refused to the garbage collector."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


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


async def test_a_collection_that_is_not_there_has_no_documents(bench: Bench, server: Restartable) -> None:
    scaler = await bench.opened("mongodb", on(collection="nowhere"), auth=at(server))
    assert (await scaler.read()).value == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{state:", "query: is not JSON"),
        ("{}", "query: is no filter"),
        ('{"$or": [' + "{}," * 2_000 + "{}]}", "query: has more than"),
        ('{"$or": 1}', "mongodb cannot count shop.jobs"),
        ('{"n": {"$numberLong": "many"}}', "mongodb cannot count shop.jobs"),
    ],
)
async def test_a_filter_that_cannot_be_used_is_an_error(
    bench: Bench, server: Restartable, query: str, message: str
) -> None:
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
                said = encode({"ok": 1.0, **({"cursor": cursor} if b"aggregate" in question else hello)})
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
