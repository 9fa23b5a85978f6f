"""`mysql` against a real MariaDB."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiomysql
import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.context import SharedContext
from keda_py.testing import EngineContext, check_scaler
from scalers.mysql import MysqlScaler
from tests.busy_threads import no_thread_left
from tests.scalers.conftest import Bench
from tests.scalers.servers.mariadb import PASSWORD, USER
from tests.scalers.servers.restartable import Restartable
from tests.scalers.triggers import trigger_of

AUTH = {"password": PASSWORD}


@pytest.fixture
async def admin(mysql: Restartable) -> AsyncIterator[Any]:
    connection = await aiomysql.connect(
        host="127.0.0.1", port=mysql.port, user=USER, password=PASSWORD, db="shop", autocommit=True
    )
    async with connection.cursor() as cursor:
        await cursor.execute("CREATE OR REPLACE TABLE jobs (state varchar(10))")
        yield cursor
    connection.close()


def on(server: Restartable, query: str = "SELECT COUNT(*) FROM jobs", **metadata: str) -> dict[str, str]:
    place = {"host": "127.0.0.1", "port": str(server.port), "username": USER, "dbName": "shop"}
    return {**place, "query": query, "queryValue": "5", **metadata}


async def test_a_count_and_other_numbers(bench: Bench, mysql: Restartable, admin: Any) -> None:
    await admin.execute("INSERT INTO jobs VALUES ('open'), ('open'), ('done')")
    read = {}
    for query in ("SELECT COUNT(*) FROM jobs", "SELECT 1.25", "SELECT '3.5'", "SELECT -2", "SELECT 1 UNION SELECT 2"):
        scaler = await bench.opened("mysql", on(mysql, query), auth=AUTH)
        read[query] = (await scaler.read()).value
    assert list(read.values()) == [3, 1.25, 3.5, -2, 1]


async def test_what_changes_is_seen_by_the_next_reading(bench: Bench, mysql: Restartable, admin: Any) -> None:
    scaler = await bench.opened("mysql", on(mysql), auth=AUTH)
    assert (await scaler.read()).value == 0
    await admin.execute("INSERT INTO jobs VALUES ('open')")
    assert (await scaler.read()).value == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT COUNT(*) FROM nowhere", "the query is refused: error 1146"),
        ("SELEC 1", "the query is refused: error 1064"),
        ("SELECT NULL", "the answer is NULL, which is not a number"),
        ("SELECT 'many'", "the answer is text, which is not a number"),
        ("SELECT 1 FROM jobs WHERE false", "the query answers no row"),
        ("DO 1", "the query answers no row"),
        ("SELECT 4, 5", "the query answers 2 columns: select one"),
        ("SELECT 1; SELECT 2", "the query is refused: error 1064"),
        ("SELECT REPEAT('a', 3000000)", "connection lost: error 2020"),
    ],
)
async def test_what_is_no_number_is_an_error(
    bench: Bench, mysql: Restartable, admin: Any, query: str, message: str
) -> None:
    scaler = await bench.opened("mysql", on(mysql, query), auth=AUTH)
    with pytest.raises(ScalerError) as refused:
        await scaler.read()
    assert message in str(refused.value)


async def test_a_dsn_is_read(bench: Bench, mysql: Restartable) -> None:
    dsn = f"{USER}:{PASSWORD}@tcp(127.0.0.1:{mysql.port})/shop?timeout=5s"
    scaler = await bench.opened("mysql", {"query": "SELECT 4", "queryValue": "1"}, auth={"connectionString": dsn})
    assert (await scaler.read()).value == 4


async def test_wrong_credentials_are_told_without_them(bench: Bench, mysql: Restartable) -> None:
    with pytest.raises(ScalerError) as wrong:
        await bench.opened("mysql", on(mysql), auth={"password": "hunter2"})
    assert "error 1045: Access denied" in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


async def test_quick_queries_of_a_database_share_one_connection(bench: Bench, mysql: Restartable, admin: Any) -> None:
    scalers = [await bench.opened("mysql", on(mysql, f"SELECT {number}"), auth=AUTH) for number in range(50)]
    assert [(await scaler.read()).value for scaler in scalers] == list(range(50))
    await admin.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE user = %s", (USER,))
    assert await admin.fetchone() == (2,)


async def test_a_slow_query_is_given_up_and_the_next_one_is_answered(bench: Bench, mysql: Restartable) -> None:
    slow = await bench.opened("mysql", on(mysql, "SELECT SLEEP(60)"), auth=AUTH, timeout=0.3)
    quick = await bench.opened("mysql", on(mysql, "SELECT 1"), auth=AUTH, timeout=0.3)
    with pytest.raises(ScalerError, match=r"no answer in 0\.3 s"):
        await slow.read()
    assert (await quick.read()).value == 1


async def test_a_reading_that_is_cancelled_leaves_no_answer_for_the_next(bench: Bench, mysql: Restartable) -> None:
    slow = await bench.opened("mysql", on(mysql, "SELECT SLEEP(60)"), auth=AUTH)
    quick = await bench.opened("mysql", on(mysql, "SELECT 2"), auth=AUTH)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await slow.read()
    assert (await quick.read()).value == 2


@pytest.mark.parametrize(
    "spoiling",
    [
        "SET autocommit = 0",
        "SET SESSION sql_select_limit = 0",
        "SET SESSION max_statement_time = 0.001",
        "CREATE TEMPORARY TABLE jobs (state varchar(10))",
        "USE information_schema",
        "BEGIN",
        "SELECT COUNT(*) FROM jobs; DROP TABLE jobs",
    ],
)
async def test_what_one_query_does_to_its_session_is_not_seen_by_the_next(
    bench: Bench, mysql: Restartable, admin: Any, spoiling: str
) -> None:
    await admin.execute("INSERT INTO jobs VALUES ('open'), ('open'), ('done')")
    counting = "SELECT COUNT(*) FROM jobs WHERE SLEEP(0.01) = 0"
    first, broken, count = [
        await bench.opened("mysql", on(mysql, query), auth=AUTH) for query in (spoiling, "SELECT broken", counting)
    ]
    for seen, scaler in enumerate((first, broken), start=3):
        with suppress(ScalerError):
            await scaler.read()
        assert (await count.read()).value == seen
        await admin.execute("INSERT INTO jobs VALUES ('open')")


async def test_a_lock_of_a_query_is_held_no_longer_than_the_query(bench: Bench, mysql: Restartable, admin: Any) -> None:
    locking = await bench.opened("mysql", on(mysql, "SELECT GET_LOCK('jobs', 1)"), auth=AUTH)
    assert (await locking.read()).value == 1
    await admin.execute("SELECT GET_LOCK('jobs', 5)")
    assert await admin.fetchone() == (1,)


@pytest.mark.parametrize(
    ("parameters", "query"),
    [
        ("sql_mode=%27%27", "SELECT @@sql_mode = ''"),
        ("time_zone=%27%2B02%3A00%27", "SELECT @@time_zone = '+02:00'"),
        (
            "sort_buffer_size=65536&max_statement_time=9",
            "SELECT @@sort_buffer_size = 65536 AND @@max_statement_time = 9",
        ),
        ("charset=unheard,latin1", "SELECT @@character_set_client = 'latin1'"),
        ("collation=utf8mb4_bin", "SELECT @@collation_connection = 'utf8mb4_bin'"),
        ("parseTime=true&timeout=5s&loc=Europe%2FBerlin&tls=0", "SELECT 1"),
    ],
)
async def test_parameters_of_a_dsn_that_are_not_the_drivers_are_variables_of_the_session(
    bench: Bench, mysql: Restartable, parameters: str, query: str
) -> None:
    auth = {"connectionString": f"{USER}:{PASSWORD}@tcp(127.0.0.1:{mysql.port})/shop?{parameters}"}
    scaler = await bench.opened("mysql", {"query": query, "queryValue": "1"}, auth=auth)
    assert [(await scaler.read()).value for _ in range(2)] == [1, 1]


async def test_a_parameter_that_is_written_wrong_is_told_with_the_one_that_was_meant(
    bench: Bench, mysql: Restartable
) -> None:
    auth = {"connectionString": f"{USER}:{PASSWORD}@tcp(127.0.0.1:{mysql.port})/shop?parseTme=true"}
    message = "a parameter of connectionString: error 1193: Unknown system variable 'parseTme': did you mean parseTime"
    with pytest.raises(ScalerError, match=message):
        await bench.opened("mysql", {"query": "SELECT 1", "queryValue": "1"}, auth=auth)


async def test_a_restarted_server_is_read_at_once(bench: Bench, mysql: Restartable) -> None:
    scaler = await bench.opened("mysql", on(mysql, "SELECT 3"), auth=AUTH)
    assert (await scaler.read()).value == 3
    mysql.stop()
    try:
        with pytest.raises(ScalerError, match="connection failed"):
            await scaler.read()
    finally:
        mysql.start()
    assert (await scaler.read()).value == 3


async def test_tls_is_verified_or_not_as_the_dsn_says(
    bench: Bench, trusting: SharedContext, mysql: Restartable
) -> None:
    query = {
        "query": "SELECT LENGTH(variable_value) > 0 FROM information_schema.session_status "
        "WHERE variable_name = 'Ssl_cipher'",
        "queryValue": "1",
    }

    def auth(tls: str, host: str = "127.0.0.1") -> dict[str, str]:
        return {"connectionString": f"{USER}:{PASSWORD}@tcp({host}:{mysql.port})/shop?tls={tls}"}

    used = {}
    for tls in ("false", "preferred", "skip-verify"):
        used[tls] = (await (await bench.opened("mysql", query, auth=auth(tls))).read()).value
    assert used == {"false": 0, "preferred": 1, "skip-verify": 1}
    with pytest.raises(ScalerError, match="certificate verify failed"):
        await bench.opened("mysql", query, auth=auth("true"))
    trusted = Bench(trusting)
    try:
        for host in ("127.0.0.1", "localhost"):
            scaler = await trusted.opened("mysql", query, auth=auth("true", host))
            assert (await scaler.read()).value == 1
    finally:
        await trusted.aclose()


@asynccontextmanager
async def front_without_tls(port: int) -> AsyncIterator[int]:
    """The port of a front whose greeting says that the server speaks no TLS."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()  # so that the other side ends, too

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        greeting = bytearray(await from_server.readexactly(4))
        greeting += await from_server.readexactly(int.from_bytes(greeting[:3], "little"))
        capabilities = greeting.index(0, 5) + 1 + 4 + 8 + 1  # behind version, thread, salt and a filler
        greeting[capabilities + 1] &= ~0x08
        writer.write(bytes(greeting))
        try:
            with suppress(ConnectionError):
                await asyncio.gather(pump(reader, to_server), pump(from_server, writer))
        finally:
            to_server.transport.abort()
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("tls", ["true", "skip-verify"])
async def test_a_server_without_tls_is_asked_where_the_dsn_allows_plain_text(
    bench: Bench, mysql: Restartable, tls: str
) -> None:
    async with front_without_tls(mysql.port) as port:
        dsn = f"{USER}:{PASSWORD}@tcp(127.0.0.1:{port})/shop?tls={tls}"
        query = {"query": "SELECT 3", "queryValue": "1"}
        for allowed in (f"{dsn}&allowFallbackToPlaintext=true", dsn.replace(f"tls={tls}", "tls=preferred")):
            scaler = await bench.opened("mysql", query, auth={"connectionString": allowed})
            assert (await scaler.read()).value == 3
        for more in ("", "&allowFallbackToPlaintext=false"):
            with pytest.raises(ScalerError, match="the server does not speak TLS, which is asked for"):
                await bench.opened("mysql", query, auth={"connectionString": dsn + more})


async def test_a_name_is_looked_up_while_every_thread_is_taken(bench: Bench, mysql: Restartable) -> None:
    async with no_thread_left():
        scaler = await bench.opened("mysql", on(mysql, "SELECT 1", host="localhost"), auth=AUTH)
        assert (await scaler.read()).value == 1


async def test_a_server_that_never_answers_is_given_up(bench: Bench, silent_port: int) -> None:
    metadata = {"host": "127.0.0.1", "port": str(silent_port), "username": "a", "query": "SELECT 1", "queryValue": "1"}
    with pytest.raises(ScalerError, match=r"cannot be reached in 0\.2 s|connection failed"):
        await bench.opened("mysql", metadata, timeout=0.2)


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("root:hunter2@unix(/run/mysqld.sock)/shop", "asks over TCP only"),
        ("root:hunter2@tcp(h:x)/shop", "the port is not a number"),
        ("root:hunter2@tcp(h)/shop?tls=mine", "tls is not one of false"),
        ("root:hunter2@tcp(h)/shop?loc=Europe%2FBerlim", "loc is not a time zone; did you mean Europe/Berlin?"),
        ("root:hunter2@tcp(h)/shop?timeout=5", "timeout is no duration, such as 5s"),
        ("root:hunter2@tcp(h)/shop?parseTime=maybe", "parseTime is neither true nor false"),
        ("root:hunter2@tcp(h)/shop?serverPubKey=hunter2", "serverPubKey is of a program's own"),
        ("root:hunter2@tcp(h)/shop?a%20b=hunter2", "has a parameter that cannot be a variable"),
        ("root:hunter2@tcp(h)/shop?charset=a%27b", "charset names no character set or collation"),
        ("hunter2", "is not user:password@tcp(host:3306)/db"),
    ],
)
async def test_a_dsn_that_cannot_be_used_is_refused(bench: Bench, dsn: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        await bench.opened("mysql", {"query": "SELECT 1", "queryValue": "1"}, auth={"connectionString": dsn})
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_a_trigger_that_names_no_server_is_told_of_it(bench: Bench) -> None:
    scaler = bench.scaler("mysql", {"query": "SELECT 1", "queryValue": "1"})
    assert "no server can be asked" in scaler.cautions[0]
    with pytest.raises(ConfigError, match="no host given"):
        await scaler.open()


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    metadata = {"query": "SELECT 1", "queryValue": "1", "host": "h", "dbName": "shop"}
    await check_scaler(MysqlScaler, trigger_of("mysql", metadata), context)
