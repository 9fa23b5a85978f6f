"""NOTIFY of a real PostgreSQL: a trigger that names a channel is read at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

import asyncpg
import pytest

from keda_py.errors import ConfigError
from scalers.shared.protocols import listening
from tests.scalers.conftest import Bench
from tests.scalers.hearing import SECONDS, Heard, hearing, next_of, until_told
from tests.scalers.servers.postgres import PASSWORD, USER
from tests.scalers.servers.restartable import Restartable
from tests.waiting import eventually, turns

AUTH = {"password": PASSWORD}
LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()"


def connect(server: Restartable) -> Any:
    return asyncpg.connect(
        host="127.0.0.1", port=server.port, user=USER, password=PASSWORD, database="postgres", ssl=False
    )


@pytest.fixture
async def admin(postgresql: Restartable) -> AsyncIterator[Any]:
    connection = await connect(postgresql)
    await connection.execute("DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (state text)")
    yield connection
    await connection.close()


def on(server: Restartable, channel: str = "jobs", **metadata: str) -> dict[str, str]:
    place = {"host": "127.0.0.1", "port": str(server.port), "userName": USER, "dbName": "postgres"}
    question = {"query": "SELECT count(*) FROM jobs", "targetQueryValue": "5", "sslmode": "disable"}
    return {**place, **question, "listenChannel": channel, **metadata}


async def listeners(admin: Any, count: int) -> None:
    """So many connections have listened, or left, last of all."""

    async def holds() -> bool:
        return bool(await admin.fetchval(LISTENERS) == count)

    await eventually(holds, SECONDS)


@pytest.mark.parametrize("channel", ["jobs", 'Of the "shop"; DROP TABLE jobs'])
async def test_a_notice_is_told_at_once(bench: Bench, postgresql: Restartable, admin: Any, channel: str) -> None:
    scaler = await bench.opened("postgresql", on(postgresql, channel), auth=AUTH)
    async with hearing(scaler) as heard:
        await listeners(admin, 1)
        await admin.execute("SELECT pg_notify('another', '')")
        await admin.execute("INSERT INTO jobs VALUES ('open')")
        await admin.execute("SELECT pg_notify($1, 'whatever')", channel)
        await heard.next()
        assert (await scaler.read()).value == 1
    await listeners(admin, 0)


async def test_a_thousand_notices_are_two_events(bench: Bench, postgresql: Restartable, admin: Any) -> None:
    scaler = await bench.opened("postgresql", on(postgresql), auth=AUTH)
    async with asyncio.timeout(SECONDS), aclosing(scaler.watch()) as stream, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(next_of(stream))
        await listeners(admin, 1)
        for number in range(1000):
            await admin.execute("SELECT pg_notify('jobs', $1)", str(number))
        assert await first
        assert await anext(stream), "what came before it was asked for again"
        third = tasks.create_task(next_of(stream))
        await turns(50)
        assert not third.done()

        async def notify() -> bool:
            await admin.execute("NOTIFY jobs")
            return third.done()

        assert await eventually(notify, SECONDS)


async def test_triggers_of_a_database_and_user_share_a_connection(
    bench: Bench, postgresql: Restartable, admin: Any
) -> None:
    channels = [f"c{number % 5}" for number in range(20)]
    scalers = [await bench.opened("postgresql", on(postgresql, channel), auth=AUTH) for channel in channels]
    heard = [Heard(scaler.watch()) for scaler in scalers]
    async with asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(one.follow()) for one in heard]
        await until_told(heard[3], partial(admin.execute, "NOTIFY c3"))
        await until_told(heard[18], partial(admin.execute, "NOTIFY c3"))
        assert not heard[4].count
        assert bench.lent.connections.held == 2, "one asks and one listens"
        for task in following:
            task.cancel()
    await listeners(admin, 0)
    assert bench.lent.connections.held == 1


async def test_without_a_channel_it_is_polled_alone(bench: Bench, postgresql: Restartable) -> None:
    scaler = await bench.opened("postgresql", on(postgresql, ""), auth=AUTH)
    assert scaler.watch() is None


@pytest.mark.parametrize("channel", ["c" * 64, "a\x00b", "a\nb"])
async def test_what_is_no_name_of_a_channel_is_refused(bench: Bench, postgresql: Restartable, channel: str) -> None:
    with pytest.raises(ConfigError, match="listenChannel"):
        bench.scaler("postgresql", on(postgresql, channel), auth=AUTH)


async def test_a_server_that_restarts_is_listened_to_again(
    bench: Bench, postgresql: Restartable, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", listening.__name__)
    scaler = await bench.opened("postgresql", on(postgresql), auth=AUTH)
    async with hearing(scaler) as heard:
        admin = await connect(postgresql)
        await until_told(heard, partial(admin.execute, "NOTIFY jobs"))
        admin.terminate()
        postgresql.stop()
        try:
            await eventually(lambda: len(caplog.records) > 1, SECONDS)
        finally:
            postgresql.start()
        admin = await connect(postgresql)
        await until_told(heard, partial(admin.execute, "NOTIFY jobs"))
        await admin.close()
    assert len(caplog.records) < 5
    assert PASSWORD not in caplog.text + str([record.__dict__ for record in caplog.records])
