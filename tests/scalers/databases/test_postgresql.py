"""`postgresql` against a real PostgreSQL."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from typing import Any, cast

import asyncpg
import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.context import SharedContext
from keda_py.testing import EngineContext, check_scaler
from scalers.postgresql import PostgresqlScaler
from scalers.shared.databases import bounded_loop
from scalers.shared.databases.postgres_address import parse_connection
from tests.busy_threads import no_thread_left
from tests.costs import cpu_of, within
from tests.scalers.conftest import Bench
from tests.scalers.servers.postgres import PASSWORD, USER
from tests.scalers.servers.restartable import Restartable
from tests.scalers.triggers import trigger_of
from tests.waiting import eventually

AUTH = {"password": PASSWORD}


@pytest.fixture
async def admin(postgresql: Restartable) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(
        host="127.0.0.1", port=postgresql.port, user=USER, password=PASSWORD, database="postgres", ssl=False
    )
    await connection.execute("DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (state text)")
    yield connection
    await connection.close()


def on(server: Restartable, query: str = "SELECT count(*) FROM jobs", **metadata: str) -> dict[str, str]:
    place = {"host": "127.0.0.1", "port": str(server.port), "userName": USER, "dbName": "postgres"}
    return {**place, "sslmode": "disable", "query": query, "targetQueryValue": "5", **metadata}


async def sessions(admin: Any) -> int:
    """Count all sessions but this one."""
    counted = "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"
    return int(await admin.fetchval(counted))


async def test_a_transport_of_the_images_loop_is_one_though_not_by_inheritance() -> None:
    made: list[object] = []

    class Inner(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    transport = cast(asyncio.BaseTransport, object())
    bounded_loop._BoundedProtocol(Inner(), bounded_loop.BoundedLoop()).connection_made(transport)
    assert made == [transport]


async def test_a_count_and_other_numbers(bench: Bench, postgresql: Restartable, admin: Any) -> None:
    await admin.execute("INSERT INTO jobs SELECT 'open' FROM generate_series(1, 7)")
    read = {}
    for query in (
        "SELECT count(*) FROM jobs",
        "SELECT 1.25::numeric",
        "SELECT '3.5'",
        "SELECT -2",
        "SELECT 1 UNION ALL SELECT 2 ORDER BY 1",
    ):
        scaler = await bench.opened("postgresql", on(postgresql, query), auth=AUTH)
        read[query] = (await scaler.read()).value
    assert list(read.values()) == [7, 1.25, 3.5, -2, 1]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT count(*) FROM nowhere", 'the query is refused: relation "nowhere" does not exist'),
        ("SELEC 1", "the query is refused: syntax error"),
        ("SELECT NULL", "the answer is NULL, which is not a number"),
        ("SELECT 'many'", "the answer is text, which is not a number"),
        ("SELECT true", "the answer is a bool, which is not a number"),
        ("SELECT 1 WHERE false", "the query answers no row"),
        ("SET application_name = 'x'", "the query answers no row"),
        ("SELECT 4, 5", "the query answers 2 columns: select one"),
        ("SELECT", "the query answers 0 columns"),
        ("SELECT 1; SELECT 2", "the query is refused: cannot insert multiple commands"),
        ("SELECT $1", "the query is refused: the server expects 1 argument"),
        ("SELECT repeat('a', 3000000)", "connection lost"),
    ],
)
async def test_what_is_no_number_is_an_error(
    bench: Bench, postgresql: Restartable, admin: Any, query: str, message: str
) -> None:
    scaler = await bench.opened("postgresql", on(postgresql, query), auth=AUTH)
    with pytest.raises(ScalerError) as refused:
        await scaler.read()
    assert message in str(refused.value)
    assert f"postgresql 127.0.0.1:{postgresql.port}" in str(refused.value)


@pytest.mark.parametrize(
    "written", ["'NaN'::float8", "'Infinity'::float8", "'NaN'::numeric", "'Infinity'::numeric", "'inf'"]
)
async def test_what_is_not_finite_counts_as_0_with_a_note_and_is_inactive(
    bench: Bench, postgresql: Restartable, written: str
) -> None:
    reading = await (await bench.opened("postgresql", on(postgresql, f"SELECT {written}"), auth=AUTH)).read()
    assert (reading.value, "counts as 0" in reading.note) == (0, True)


async def test_a_number_beyond_64_bits_is_an_error_and_no_infinity(bench: Bench, postgresql: Restartable) -> None:
    for written in ("1e400::numeric", "-1e400::numeric", "'1e400'"):
        scaler = await bench.opened("postgresql", on(postgresql, f"SELECT {written}"), auth=AUTH)
        with pytest.raises(ScalerError, match="out of range|not a number"):
            await scaler.read()


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://{user}:{password}@127.0.0.1:{port}/postgres",
        "host=127.0.0.1 port={port} user={user} password='{password}' dbname=postgres",
    ],
)
async def test_a_connection_string_of_either_form(bench: Bench, postgresql: Restartable, form: str) -> None:
    connection = form.format(user=USER, password=PASSWORD, port=postgresql.port)
    metadata = {"query": "SELECT 4", "targetQueryValue": "1"}
    scaler = await bench.opened("postgresql", metadata, auth={"connection": connection})
    assert (await scaler.read()).value == 4


async def test_wrong_credentials_are_told_without_them(bench: Bench, postgresql: Restartable) -> None:
    with pytest.raises(ScalerError) as wrong:
        await bench.opened("postgresql", on(postgresql), auth={"password": "hunter2"})
    assert "password authentication failed" in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


async def test_quick_queries_of_a_database_share_one_connection(
    bench: Bench, postgresql: Restartable, admin: Any
) -> None:
    queries = [f"SELECT {number}" for number in range(50)]
    scalers = [await bench.opened("postgresql", on(postgresql, query), auth=AUTH) for query in queries]
    assert [(await scaler.read()).value for scaler in scalers] == list(range(50))
    assert await sessions(admin) == 1
    await bench.opened("postgresql", on(postgresql, dbName="template1"), auth=AUTH)
    assert await sessions(admin) == 2


async def test_a_slow_query_is_given_up_and_the_next_one_is_answered(bench: Bench, postgresql: Restartable) -> None:
    slow = await bench.opened("postgresql", on(postgresql, "SELECT 1 FROM pg_sleep(60)"), auth=AUTH, timeout=0.3)
    quick = await bench.opened("postgresql", on(postgresql, "SELECT 1"), auth=AUTH, timeout=0.3)
    with pytest.raises(ScalerError, match=r"no answer in 0\.3 s"):
        await slow.read()
    assert (await quick.read()).value == 1


async def test_a_reading_that_is_cancelled_leaves_no_answer_for_the_next(bench: Bench, postgresql: Restartable) -> None:
    slow = await bench.opened("postgresql", on(postgresql, "SELECT 1 FROM pg_sleep(60)"), auth=AUTH)
    quick = await bench.opened("postgresql", on(postgresql, "SELECT 2"), auth=AUTH)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await slow.read()
    assert (await quick.read()).value == 2


@pytest.mark.parametrize(
    "spoiling",
    [
        "BEGIN",
        "SET search_path = pg_catalog",
        "SELECT set_config('search_path', 'pg_catalog', false)",
        "SET statement_timeout = 1",
        "CREATE TEMPORARY TABLE jobs (state text)",
        "SELECT 1 AS state INTO TEMPORARY jobs",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SELECT nothing FROM jobs",
        "SELECT $1",
    ],
)
async def test_what_one_query_does_to_its_session_is_not_seen_by_the_next(
    bench: Bench, postgresql: Restartable, admin: Any, spoiling: str
) -> None:
    await admin.execute("INSERT INTO jobs SELECT 'open' FROM generate_series(1, 7)")
    counting = "SELECT count(*) FROM jobs, pg_sleep(0.01)"
    first, broken, count = [
        await bench.opened("postgresql", on(postgresql, query), auth=AUTH)
        for query in (spoiling, "SELECT 1/0", counting)
    ]
    for scaler in (first, broken):
        with suppress(ScalerError):
            await scaler.read()
        assert (await count.read()).value == 7


async def test_a_lock_of_a_query_is_held_no_longer_than_the_query(
    bench: Bench, postgresql: Restartable, admin: Any
) -> None:
    locking = await bench.opened("postgresql", on(postgresql, "SELECT 1 FROM pg_advisory_lock(42)"), auth=AUTH)
    assert (await locking.read()).value == 1
    assert await admin.fetchval("SELECT pg_try_advisory_lock(42)")


async def test_a_query_that_calls_a_function_keeps_its_connection(
    bench: Bench, postgresql: Restartable, admin: Any
) -> None:
    pid = await bench.opened("postgresql", on(postgresql, "SELECT pg_backend_pid()"), auth=AUTH)
    assert len({(await pid.read()).value for _ in range(3)}) == 1


async def test_the_settings_of_the_connection_string_outlive_a_reset(bench: Bench, postgresql: Restartable) -> None:
    text = f"host=127.0.0.1 port={postgresql.port} user={USER} password={PASSWORD} dbname=postgres sslmode=disable"
    query = "SELECT count(*) FROM pg_settings WHERE name = 'work_mem' AND setting = '64'"
    metadata = {"targetQueryValue": "1", "query": query}
    auth = {"connection": f"{text} work_mem=64"}
    spoiling = await bench.opened("postgresql", {**metadata, "query": "SET work_mem = '1MB'"}, auth=auth)
    with pytest.raises(ScalerError, match="no row"):
        await spoiling.read()
    assert (await (await bench.opened("postgresql", metadata, auth=auth)).read()).value == 1


async def test_a_query_that_was_given_up_is_stopped_on_the_server(
    bench: Bench, postgresql: Restartable, admin: Any
) -> None:
    slow = await bench.opened("postgresql", on(postgresql, "SELECT 1 FROM pg_sleep(61)"), auth=AUTH, timeout=0.3)
    with pytest.raises(ScalerError, match="no answer"):
        await slow.read()

    async def stopped() -> bool:
        running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(61)' AND state = 'active'"
        return await admin.fetchval(running) == 0

    await eventually(stopped)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ("channel_binding=disable", 7),
        ("channel_binding=prefer min_protocol_version=3.0 max_protocol_version=latest", 7),
        ("sslmode=require channel_binding=require", 7),
        ("target_session_attrs=read-write", 7),
        ("target_session_attrs=primary", 7),
        ("target_session_attrs=prefer-standby", 7),
        ("target_session_attrs=read-only dbname=archive", 7),
    ],
)
async def test_what_a_connection_string_tells_the_client_is_not_told_to_the_server(
    bench: Bench, postgresql: Restartable, admin: Any, more: str, value: float
) -> None:
    if not await admin.fetchval("SELECT count(*) FROM pg_database WHERE datname = 'archive'"):
        await admin.execute("CREATE DATABASE archive")
    await admin.execute("ALTER DATABASE archive SET default_transaction_read_only = on")
    text = f"host=127.0.0.1 port={postgresql.port} user={USER} password={PASSWORD} dbname=postgres sslmode=disable"
    metadata = {"targetQueryValue": "1", "query": "SELECT 7"}
    scaler = await bench.opened("postgresql", metadata, auth={"connection": f"{text} {more}"})
    assert (await scaler.read()).value == value


@pytest.mark.parametrize("wanted", ["standby", "read-only"])
async def test_a_server_of_another_kind_than_target_session_attrs_wants_is_not_asked(
    bench: Bench, postgresql: Restartable, wanted: str
) -> None:
    text = f"host=127.0.0.1 port={postgresql.port} user={USER} password={PASSWORD} dbname=postgres sslmode=disable"
    metadata = {"targetQueryValue": "1", "query": "SELECT 7"}
    with pytest.raises(ScalerError, match=f"is not {wanted}, which target_session_attrs asks for"):
        await bench.opened("postgresql", metadata, auth={"connection": f"{text} target_session_attrs={wanted}"})


async def test_a_restarted_server_is_read_at_once(bench: Bench, postgresql: Restartable) -> None:
    scaler = await bench.opened("postgresql", on(postgresql, "SELECT 3"), auth=AUTH)
    assert (await scaler.read()).value == 3
    postgresql.stop()
    try:
        with pytest.raises(ScalerError, match="connection failed"):
            await scaler.read()
    finally:
        postgresql.start()
    assert (await scaler.read()).value == 3


async def test_tls_is_verified_or_not_as_sslmode_says(
    bench: Bench, trusting: SharedContext, postgresql: Restartable
) -> None:
    encrypted = "SELECT ssl::int FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    used = {}
    for mode in ("disable", "allow", "prefer", "require"):
        scaler = await bench.opened("postgresql", on(postgresql, encrypted, sslmode=mode), auth=AUTH)
        used[mode] = (await scaler.read()).value
    assert used == {"disable": 0, "allow": 0, "prefer": 1, "require": 1}
    with pytest.raises(ScalerError, match="certificate verify failed"):
        await bench.opened("postgresql", on(postgresql, encrypted, sslmode="verify-full"), auth=AUTH)
    trusted = Bench(trusting)
    try:
        for host in ("127.0.0.1", "localhost"):
            scaler = await trusted.opened(
                "postgresql", on(postgresql, encrypted, sslmode="verify-full", host=host), auth=AUTH
            )
            assert (await scaler.read()).value == 1
    finally:
        await trusted.aclose()


async def test_a_name_is_looked_up_while_every_thread_is_taken(bench: Bench, postgresql: Restartable) -> None:
    async with no_thread_left():
        scaler = await bench.opened("postgresql", on(postgresql, "SELECT 1", host="localhost"), auth=AUTH)
        assert (await scaler.read()).value == 1


async def test_a_server_that_never_answers_is_given_up(bench: Bench, silent_port: int) -> None:
    silent = Restartable(silent_port, [], None, {})  # type: ignore[arg-type]
    with pytest.raises(ScalerError, match=r"cannot be reached in 0\.2 s"):
        await bench.opened("postgresql", on(silent), auth=AUTH, timeout=0.2)


@pytest.mark.parametrize(
    "said",
    [bytes(100_000), b"R\x00\x00\x00\x03", b"\x00\x00\x00\x00\x08" * 2, b"R\x80\x00\x00\x00", b"R\x7f\xff\xff\xff"],
)
async def test_what_is_no_message_of_postgresql_ends_the_connection(bench: Bench, said: bytes) -> None:
    """asyncpg's own parser would take a message that is shorter than its length for ever."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            writer.write(said)
            await reader.read()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        place = {"host": "127.0.0.1", "port": str(port), "userName": USER, "dbName": "shop", "sslmode": "disable"}
        metadata = {**place, "query": "SELECT 1", "targetQueryValue": "5"}
        with pytest.raises(ScalerError, match=f"127.0.0.1:{port}: connection failed: .* no message of PostgreSQL"):
            await bench.opened("postgresql", metadata, auth=AUTH)


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


async def opened_and_read(scaler: Any) -> None:
    await scaler.open()
    await scaler.read()


LOGGED_IN, READY = message(b"R", bytes(4)), message(b"Z", b"I")
VERSION = message(b"S", b"server_version\x0016.1\x00")
BROKEN = {
    "a log-in without its kind": message(b"R", b""),
    "no version": LOGGED_IN + READY,
    "a version that is a word": LOGGED_IN + message(b"S", b"server_version\x00x\x00") + READY,
    "an encoding that Python lacks": LOGGED_IN + message(b"S", b"client_encoding\x00nonsense\x00") + READY,
    "ready without a state": LOGGED_IN + message(b"Z", b""),
    "a notice that is not UTF-8": LOGGED_IN + message(b"N", b"M\xff\xfe\x00\x00") + READY,
    "a row that was not asked for": LOGGED_IN + VERSION + READY + message(b"T", b"\x00\x05") + READY,
}


@pytest.mark.parametrize("said", list(BROKEN.values()), ids=list(BROKEN))
async def test_a_server_that_breaks_the_protocol_is_an_error_of_its_trigger_and_not_a_stack_trace(
    bench: Bench, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the object's name a log line is no use; an exception that a destructor raises fails the test, too."""
    hung_up: list[bytes] = []

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read(1)
            writer.write(said)
            hung_up.append(await reader.read())

    async with await asyncio.start_server(say, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        place = {"host": "127.0.0.1", "port": str(port), "userName": USER, "dbName": "shop", "sslmode": "disable"}
        metadata = {**place, "query": "SELECT 1", "targetQueryValue": "5"}
        scaler = bench.scaler("postgresql", metadata, auth=AUTH)
        with pytest.raises(ScalerError, match=f"127.0.0.1:{port}: .*(the server breaks PostgreSQL's protocol|lost)"):
            await opened_and_read(scaler)
        await bench.aclose()
        await eventually(lambda: hung_up)
    gc.collect()
    assert caplog.records == []


async def test_nothing_of_the_operators_fills_a_gap(
    bench: Bench, postgresql: Restartable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(ScalerError, match="password authentication failed|empty password"):
        await bench.opened("postgresql", on(postgresql))


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        ("host=/var/run/postgresql user=a", "names no host"),
        ("host=h passfile=/root/.pgpass", "passfile names a file of the operator"),
        ("postgresql://u:hunter2@h/db?sslrootcert=/etc/ca.pem", "sslrootcert names a file of the operator"),
        ("host=h port=x password=hunter2", "the port is not a number"),
        ("host=h sslmode=perhaps", "sslmode is not one of disable"),
        ("host=h target_session_attrs=leader", "target_session_attrs is not one of any, read-write"),
        ("host=h channel_binding=yes", "channel_binding is not one of disable"),
        ("host=h sslmode=disable channel_binding=require", "channel_binding=require needs TLS"),
        ("hunter2", "is neither postgresql://"),
    ],
)
async def test_a_connection_that_cannot_be_used_is_refused(bench: Bench, connection: str, message: str) -> None:
    metadata = {"query": "SELECT 1", "targetQueryValue": "1"}
    with pytest.raises(ConfigError) as refused:
        await bench.opened("postgresql", metadata, auth={"connection": connection})
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_binding_that_is_not_made_is_told(bench: Bench) -> None:
    def told(more: str) -> str:
        auth = {"connection": f"host=h user=u sslmode=require {more}"}
        return " ".join(bench.scaler("postgresql", {"query": "SELECT 1", "targetQueryValue": "1"}, auth=auth).cautions)

    assert told("") == ""
    assert "channel_binding=require asks for TLS here, and binds nothing" in told("channel_binding=require")


async def test_the_contract_is_kept(bench: Bench) -> None:
    context = EngineContext(shared_context=bench.lent, namespace="default", scaled_object="app", trigger_index=0)
    metadata = {"query": "SELECT 1", "targetQueryValue": "1", "connectionFromEnv": "PG"}
    await check_scaler(PostgresqlScaler, trigger_of("postgresql", metadata, env={"PG": "host=h"}), context)


def test_a_connection_string_of_any_length_is_refused_or_read_in_little_time() -> None:
    pairs = "host=db user=ann password='it\\'s' " + "a=b " * 450
    assert parse_connection(pairs).settings == {"a": "b"}
    assert cpu_of(lambda: parse_connection(pairs), ConfigError) < 0.05
    with within(0.5), pytest.raises(ConfigError, match="connection: has more than 2048 characters"):
        parse_connection("host=db " + "a=b " * 16_000)
