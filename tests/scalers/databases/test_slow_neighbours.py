"""Queries of one database side by side, asked by the real engine: slow ones make others late, and fail none."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from keda_py.answers.connections import Connections
from keda_py.apis.scaled_object import ScaledObject
from keda_py.auth.resolver import Resolved
from keda_py.core.reading import Outcome, Reading
from keda_py.core.spec import TriggersSpec, build_spec
from keda_py.errors import ScalerError
from keda_py.net.http import HttpClientSpec
from keda_py.net.secret_texts import as_secrets
from keda_py.readings.readings import Readings
from keda_py.readings.scaler_set import ScalerSource
from keda_py.sdk import registry
from keda_py.sdk.context import SharedContext
from keda_py.testing import shared_context
from tests.scalers.servers.postgres import PASSWORD, USER
from tests.scalers.servers.restartable import Restartable

TIMEOUT = 1.0
MOST = 8


class Password:
    """A resolver of one parameter."""

    async def resolve(self, spec: TriggersSpec, trigger_index: int) -> Resolved:
        return Resolved(auth=as_secrets({"password": PASSWORD}))


@dataclass
class Database:
    """A server, and how its dialect says things."""

    type: str
    metadata: dict[str, str]
    slow: str
    sessions: str

    def spec(self, number: int, query: str, **metadata: str) -> TriggersSpec:
        trigger = {"type": self.type, "metadata": {**self.metadata, "query": query, **metadata}}
        body = {"scaleTargetRef": {"name": "app"}, "triggers": [trigger], "pollingInterval": 5}
        meta = {"name": f"app{number}", "namespace": "shop", "uid": f"app{number}", "generation": 1}
        return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


@pytest.fixture(params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest) -> Database:
    server: Restartable = request.getfixturevalue(request.param)
    place = {"host": "127.0.0.1", "port": str(server.port)}
    if request.param == "mysql":
        sessions = f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}'"
        place |= {"username": USER, "dbName": "shop", "queryValue": "5"}
        return Database("mysql", place, "SELECT {0} + SLEEP({1})", sessions)
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    place |= {"userName": USER, "dbName": "postgres", "sslmode": "disable", "targetQueryValue": "5"}
    return Database("postgresql", place, "SELECT {0} + count(*) - 1 FROM pg_sleep({1})", sessions)


@asynccontextmanager
async def engine(lent: SharedContext) -> AsyncIterator[Readings]:
    source = ScalerSource(shared_context=replace(lent, http_timeout=TIMEOUT), build=registry.build, resolver=Password())
    async with asyncio.TaskGroup() as tasks:
        readings = Readings(scalers=source, tasks=tasks, on_reading=lambda key: None)
        yield readings
        await readings.aclose()


async def read(readings: Readings, specs: Sequence[TriggersSpec]) -> list[Outcome]:
    await asyncio.gather(*(readings.build(spec) for spec in specs))
    rounds = await asyncio.gather(*(readings.poll(spec.key) for spec in specs))
    return [seen.readings[0].outcome for seen in rounds if seen]


def values(outcomes: Sequence[Outcome]) -> list[float | str]:
    return [one.value if isinstance(one, Reading) else str(one) for one in outcomes]


async def test_thirty_slow_queries_fail_neither_each_other_nor_quick_ones(
    lent: SharedContext, database: Database
) -> None:
    """6 s of queries, where each may take one."""
    slow = [database.spec(number, database.slow.format(number, 0.2)) for number in range(30)]
    quick = [database.spec(30 + number, f"SELECT {30 + number}") for number in range(3)]
    async with engine(lent) as readings:
        assert values(await read(readings, [*slow, *quick])) == list(range(33))
        assert lent.connections.held <= MOST
        (sessions,) = values(await read(readings, [database.spec(40, database.sessions)]))
        assert isinstance(sessions, float)
        assert sessions <= MOST
    assert lent.connections.held == 0


async def test_a_query_that_takes_too_long_fails_alone_and_others_do_not_wait_for_it(
    lent: SharedContext, database: Database
) -> None:
    hanging = database.spec(0, database.slow.format(0, 60))
    quick = [database.spec(number, f"SELECT {number}") for number in range(1, 4)]
    async with engine(lent) as readings, asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(read(readings, [hanging]))
        async with asyncio.timeout(TIMEOUT - 0.2):
            assert values(await read(readings, quick)) == [1, 2, 3]
        assert not asking.done()
        (late,) = await asking
    assert "the query has no answer in 1 s: a longer `timeout` may be set" in str(late)


async def test_a_trigger_says_how_long_its_query_may_take(lent: SharedContext, database: Database) -> None:
    patient = database.spec(0, database.slow.format(7, TIMEOUT + 0.5), timeout="20s")
    async with engine(lent) as readings:
        assert values(await read(readings, [patient])) == [7]


async def test_where_the_namespace_has_two_places_left_queries_take_turns(database: Database) -> None:
    spec = HttpClientSpec(timeout=TIMEOUT, connections=Connections(share=2))
    async with shared_context(http=spec) as lent, engine(lent) as readings:
        slow = [database.spec(number, database.slow.format(number, 0.1)) for number in range(12)]
        assert values(await read(readings, slow)) == list(range(12))


async def test_a_server_that_does_not_answer_fails_all_that_wait_for_it_at_once(
    lent: SharedContext, silent_port: int
) -> None:
    """One time-out for all of them, not one for each."""
    place = {"host": "127.0.0.1", "port": str(silent_port), "userName": USER, "dbName": "shop", "sslmode": "disable"}
    silent = Database("postgresql", {**place, "targetQueryValue": "5"}, "", "")
    async with engine(lent) as readings:
        async with asyncio.timeout(2 * TIMEOUT):
            building = (readings.build(silent.spec(number, "SELECT 1")) for number in range(20))
            failures = await asyncio.gather(*building, return_exceptions=True)
    assert all(isinstance(error, ScalerError) and "cannot be reached in 1 s" in str(error) for error in failures)
    assert lent.connections.held == 0
