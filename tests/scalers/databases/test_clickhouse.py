"""`clickhouse` against a real ClickHouse, by both protocols, and against a played one of types that it does not have."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pytest

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import Trigger
from keda_py.sdk.context import EngineContext, SharedContext
from keda_py.sdk.registry import AnyScaler, build
from keda_py.testing import as_secrets
from scalers.shared.databases.clickhouse.address import parse_dsn
from tests.certificates import Authority
from tests.scalers.conftest import Bench
from tests.scalers.servers.clickhouse import PASSWORD, USER, ClickHouse
from tests.waiting import eventually

KEYS = {"username": USER, "targetQueryValue": "5"}
AUTH = {"password": PASSWORD}
FORMS = ("native", "http")


def on(server: ClickHouse, query: str, **more: str) -> dict[str, str]:
    return {"host": "127.0.0.1", "port": str(server.native), "query": query, **KEYS, **more}


def dsn(server: ClickHouse, form: str = "native", **parameters: str) -> str:
    scheme, port = ("http", server.http) if form == "http" else ("clickhouse", server.native)
    listed = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
    return f"{scheme}://{USER}:{quote(PASSWORD)}@127.0.0.1:{port}/default?{listed}"


async def opened(bench: Bench, server: ClickHouse, form: str, query: str, **options: Any) -> Any:
    metadata = {"query": query, "targetQueryValue": "5", **options.pop("metadata", {})}
    return await bench.opened("clickhouse", metadata, auth={"connectionString": dsn(server, form)}, **options)


@pytest.mark.parametrize("form", FORMS)
async def test_a_count_and_other_numbers(bench: Bench, click_house: ClickHouse, form: str) -> None:
    click_house.run("DROP TABLE IF EXISTS jobs")
    click_house.run("CREATE TABLE jobs (state String) ENGINE = Memory")
    click_house.run("INSERT INTO jobs SELECT 'open' FROM numbers(7)")
    read = {}
    for query in (
        "SELECT count() FROM jobs WHERE state = 'open'",
        "SELECT toDecimal64('-1.25', 4)",
        "SELECT '3.5'",
        "SELECT toFloat32(0.5)",
        "SELECT toNullable(toInt16(-2))",
        "SELECT toLowCardinality('8')",
        "SELECT number + 1 FROM numbers(70000) ORDER BY number",
        "SELECT toString(number + 2) FROM numbers(100)",
    ):
        read[query] = (await (await opened(bench, click_house, form, query)).read()).value
    assert list(read.values()) == [7, -1.25, 3.5, 0.5, -2, 8, 1, 2]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT count() FROM nowhere", "Table default.nowhere doesn't exist"),
        ("SELEC 1", "Syntax error"),
        ("SELECT NULL", "the answer is NULL"),
        ("SELECT 'many'", "the answer is text"),
        ("SELECT now()", "the answer is text"),
        ("SELECT 4, 5", "the query answers 2 columns: select one"),
        ("SELECT throwIf(number = 3) FROM numbers(10)", "Value passed to 'throwIf' function is non zero"),
        ("SELECT [7]", "the answer is of type Array|the answer is text"),
    ],
)
async def test_what_is_no_number_is_an_error_and_the_next_question_is_answered(
    bench: Bench, click_house: ClickHouse, form: str, query: str, message: str
) -> None:
    scaler = await opened(bench, click_house, form, query)
    with pytest.raises(ScalerError, match=message) as refused:
        await scaler.read()
    assert "clickhouse 127.0.0.1:" in str(refused.value)
    assert (await (await opened(bench, click_house, form, "SELECT 9")).read()).value == 9


@pytest.mark.parametrize("form", FORMS)
async def test_no_row_counts_as_0_with_a_note(bench: Bench, click_house: ClickHouse, form: str) -> None:
    reading = await (await opened(bench, click_house, form, "SELECT 1 WHERE 0")).read()
    assert (reading.value, reading.note, reading.empty) == (0, "a query without a row counts as 0", True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", ["nan", "inf"])
async def test_what_is_not_finite_counts_as_0_with_a_note(
    bench: Bench, click_house: ClickHouse, form: str, written: str
) -> None:
    reading = await (await opened(bench, click_house, form, f"SELECT {written}")).read()
    assert (reading.value, reading.note) == (0, f"{written} counts as 0")


async def test_rows_beyond_a_megabyte_are_given_up_with_a_remedy(bench: Bench, click_house: ClickHouse) -> None:
    scaler = await opened(bench, click_house, "native", "SELECT number FROM numbers(10000000)")
    with pytest.raises(ScalerError, match="select one row with one number"):
        await scaler.read()


@pytest.mark.parametrize("form", FORMS)
async def test_a_query_that_takes_too_long_is_given_up(bench: Bench, click_house: ClickHouse, form: str) -> None:
    slow = "SELECT sum(sleepEachRow(1)) FROM numbers(3) SETTINGS max_block_size = 1"
    scaler = await opened(bench, click_house, form, slow, metadata={"timeout": "500ms"})
    with pytest.raises(ScalerError, match=r"the query has no answer in 0\.5 s"):
        await scaler.read()
    assert (await (await opened(bench, click_house, form, "SELECT 9")).read()).value == 9


@pytest.mark.parametrize("form", FORMS)
async def test_wrong_credentials_are_told_without_them(bench: Bench, click_house: ClickHouse, form: str) -> None:
    wrong = dsn(click_house, form).replace(quote(PASSWORD), "hunter2")
    with pytest.raises(ScalerError, match="the log-in is refused: .*[Ww]rong password") as refused:
        await bench.opened(
            "clickhouse", {"query": "SELECT 1", "targetQueryValue": "5"}, auth={"connectionString": wrong}
        )
    assert "hunter2" not in str(refused.value)


async def test_host_port_user_and_database_make_an_address(bench: Bench, click_house: ClickHouse) -> None:
    scaler = await bench.opened("clickhouse", on(click_house, "SELECT 3", database="system"), auth=AUTH)
    assert (await scaler.read()).value == 3
    assert (scaler.metric_name, scaler.target, scaler.activation) == ("clickhouse", 5, 0)
    named = await bench.opened(
        "clickhouse", on(click_house, "SELECT currentDatabase() = 'system'", database="system"), auth=AUTH
    )
    assert (await named.read()).value == 1


@pytest.mark.parametrize("form", FORMS)
async def test_settings_of_the_connection_string_hold(bench: Bench, click_house: ClickHouse, form: str) -> None:
    query = "SELECT toUInt64(value) FROM system.settings WHERE name = 'max_threads'"
    for _ in range(2):
        auth = {"connectionString": dsn(click_house, form, max_threads="3", dial_timeout="1s", compress="lz4")}
        scaler = await bench.opened("clickhouse", {"query": query, "targetQueryValue": "5"}, auth=auth)
        assert (await scaler.read()).value == 3


async def test_what_a_query_does_to_its_session_does_not_reach_the_next_trigger(
    bench: Bench, click_house: ClickHouse
) -> None:
    query = "SELECT toUInt64(value) FROM system.settings WHERE name = 'max_threads'"
    before = (await (await opened(bench, click_house, "native", query)).read()).value
    changing = await opened(bench, click_house, "native", "SET max_threads = 77")
    assert (await changing.read()).value == 0
    assert (await (await opened(bench, click_house, "native", query)).read()).value == before != 77


async def test_queries_of_a_user_share_connections(bench: Bench, click_house: ClickHouse) -> None:
    scalers = [await opened(bench, click_house, "native", f"SELECT {number}") for number in range(6)]
    assert [(await scaler.read()).value for scaler in scalers] == list(range(6))
    connections = "SELECT value FROM system.metrics WHERE metric = 'TCPConnection'"
    await eventually(lambda: float(click_house.run(connections)) == 1)  # those of other tests end soon


@asynccontextmanager
async def secured(lent: SharedContext, connection: str, **auth: str) -> AsyncIterator[AnyScaler]:
    context = EngineContext(shared_context=lent, namespace="shop", scaled_object="app", trigger_index=0)
    given = as_secrets({"connectionString": connection, **auth})
    metadata = {"query": "SELECT 6", "targetQueryValue": "5"}
    scaler = build(Trigger(type="clickhouse", metadata=metadata, auth=given), context)
    try:
        await scaler.open()
        yield scaler
    finally:
        await scaler.aclose()
        await context.aclose()


@pytest.mark.parametrize("form", FORMS)
async def test_tls_is_verified_unless_it_is_switched_off(
    lent: SharedContext, trusting: SharedContext, click_house: ClickHouse, authority: Authority, form: str
) -> None:
    port, scheme = (click_house.https, "https") if form == "http" else (click_house.native_tls, "clickhouse")
    place = f"{scheme}://{USER}:{quote(PASSWORD)}@127.0.0.1:{port}/default"
    secure, unverified = f"{place}?secure=true", f"{place}?secure=true&skip_verify=true"
    for shared, connection, auth in (
        (trusting, secure, {}),
        (lent, unverified, {}),
        (lent, place, {"tls": "true", "unsafeSsl": "true"}),
        (lent, place, {"tls": "true", "ca": authority.cert}),
    ):
        async with secured(shared, connection, **auth) as scaler:
            assert (await scaler.read()).value == 6
    for connection, auth in ((secure, {}), (secure, {"tls": "true", "ca": Authority().cert})):
        with pytest.raises(ScalerError, match="certificate"):
            async with secured(lent, connection, **auth):
                pass


async def test_the_next_server_is_asked_where_the_first_does_not_listen(bench: Bench, click_house: ClickHouse) -> None:
    text = dsn(click_house).replace("@127.0.0.1:", "@127.0.0.1:1,127.0.0.1:")
    scaler = await bench.opened(
        "clickhouse", {"query": "SELECT 2", "targetQueryValue": "5"}, auth={"connectionString": text}
    )
    assert (await scaler.read()).value == 2


async def test_the_port_of_the_other_protocol_is_an_error(bench: Bench, click_house: ClickHouse) -> None:
    metadata = on(click_house, "SELECT 1", port=str(click_house.http))
    with pytest.raises(ScalerError, match="cannot be reached|connection failed"):
        await bench.opened("clickhouse", metadata, auth=AUTH, timeout=0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clickhouse://", "is not clickhouse://"),
        ("clickhouse://ann:s3cret@host:port/db", "is not clickhouse://"),
        ("clickhouse://ann:s3cret@host:99999/db", "has a port that is not one"),
        ("http://ann:s3cret@host/?secure=true", "write https"),
        ("clickhouse://ann:s3cret@host/?dial_timeout=x", "duration"),
        ("clickhouse://ann:s3cret@host/?a%20b=1", "no setting of ClickHouse"),
        ("clickhouse://ann:s3cret@host/?http_proxy=x", "http_proxy is not known"),
        ("clickhouse://ann:s3cret@host/?secure=maybe", "connectionString: "),
        ("clickhouse://[::1/db", "connectionString: "),
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        parse_dsn(text)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "hosts", "user", "password"),
    [
        ("clickhouse://a,b:1,[::1]:2,[::2]", [("a", 9000), ("b", 1), ("::1", 2), ("::2", 9000)], "default", ""),
        ("tcp://a/?secure=1", [("a", 9440)], "default", ""),
        ("http://a", [("a", 8123)], "default", ""),
        ("https://u%40:p%3A@a/x", [("a", 8443)], "u@", "p:"),
        ("clickhouse://a?username=me&password=mine", [("a", 9000)], "me", "mine"),
    ],
)
def test_ports_and_credentials_are_those_of_the_driver(text: str, hosts: Any, user: str, password: str) -> None:
    at = parse_dsn(text)
    assert (at.hosts, at.username, at.password.get_secret_value()) == (hosts, user, password)


HELLO = b"\x00\x05house\x01\x01\xaa\xa6\x03\x03UTC"
END = b"\x05"


def varint(number: int) -> bytes:
    head = b""
    while number >= 0x80:
        head, number = head + bytes([number & 0x7F | 0x80]), number >> 7
    return head + bytes([number])


def text(value: str) -> bytes:
    return varint(len(value.encode())) + value.encode()


def block(kind: str, data: bytes, rows: int = 1) -> bytes:
    """A packet of data with one column."""
    info = b"\x01\x00\x02\xff\xff\xff\xff\x00"
    return b"\x01\x00" + info + varint(1) + varint(rows) + text("n") + text(kind) + data


@asynccontextmanager
async def playing(answer: bytes) -> AsyncIterator[dict[str, str]]:
    """A server that greets whoever comes, and answers each query so."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting = HELLO
        while await reader.read(65536):
            writer.write(greeting)
            greeting = answer
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield {"host": "127.0.0.1", "port": str(server.sockets[0].getsockname()[1]), "query": "SELECT 1", **KEYS}


PROGRESS = b"\x03\x01\x02\x03"
PROFILE = b"\x06\x01\x01\x08\x00\x01\x00"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (block("UInt128", (2**70).to_bytes(16, "little")), 2**70),
        (block("Int256", (-5).to_bytes(32, "little", signed=True)), -5),
        (block("Decimal(76, 2)", (725).to_bytes(32, "little")), 7.25),
        (block("Decimal256(2)", (725).to_bytes(32, "little")), 7.25),
        (block("Decimal(5, 1)", (-15).to_bytes(4, "little", signed=True)), -1.5),
        (block("SimpleAggregateFunction(sum, UInt16)", b"\x07\x00"), 7),
        (block("Nullable(Float64)", b"\x00" + struct.pack("<d", 2.5)), 2.5),
        (block("FixedString(2)", b"42"), 42),
        (b"\x01\x00\x00\x00\x00" + PROGRESS + b"\x04" + block("UInt8", b"\x09\x08", rows=2) + PROFILE, 9),
        (block("UInt8", b"\x03") + block("UInt8", b"\x04") + b"\x07" + block("UInt8", b"\x05")[1:], 3),
    ],
)
async def test_values_of_newer_servers_are_read(bench: Bench, answer: bytes, value: float) -> None:
    async with playing(answer + END) as place:
        scaler = await bench.opened("clickhouse", place, auth=AUTH)
        assert [(await scaler.read()).value for _ in range(2)] == [value] * 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (block("Bool", b"\x01") + END, "the answer is a bool"),
        (block("Enum8('a' = 1)", b"\x01") + END, "the answer is text"),
        (block("DateTime64(3, 'UTC')", b"\x00" * 8) + END, "the answer is text"),
        (block("Nullable(Nothing)", b"\x01\x00") + END, "the answer is NULL"),
        (block("Variant(String, UInt8)", b""), "the answer is of type Variant"),
        (block("Nullable(" * 20 + "UInt8" + ")" * 20, b"\x00" * 21), "the answer is of type Nullable"),
        (block("FixedString(2000000)", b""), "more than 1048576 bytes"),
        (block("String", b"\xff" * 20), "a number that does not end"),
        (block("UInt8", b"\x00" * 10, rows=2**40), "more than 1048576 bytes"),
        (b"\x0b", "packet 11"),
        (
            b"\x02" + struct.pack("<i", 241) + text("DB::Exception") + text("Memory  limit\n") + b"\x00\x00",
            "error 241: Memory limit",
        ),
    ],
)
async def test_what_a_played_server_sends_is_an_error(bench: Bench, answer: bytes, message: str) -> None:
    async with playing(answer) as place:
        scaler = await bench.opened("clickhouse", place, auth=AUTH)
        with pytest.raises(ScalerError, match=message):
            await scaler.read()


async def test_many_tiny_parts_leave_the_loop_to_others(bench: Bench) -> None:
    async with playing(PROGRESS * 20_000) as place:
        scaler = await bench.opened("clickhouse", place, auth=AUTH, timeout=20)
        turns = 0

        async def watch() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch())
            with pytest.raises(ScalerError, match="50000 parts"):
                await scaler.read()
            watching.cancel()
    assert turns > 200
