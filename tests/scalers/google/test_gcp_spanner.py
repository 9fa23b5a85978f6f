"""`gcp-spanner` against a server of Spanner's REST API, as Google's library calls it: no emulator is to be had."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from keda_py.errors import ConfigError, ScalerError
from keda_py.sdk.advanced import PodIdentity
from scalers.shared.google.spanner import first_cell, session_name
from tests.scalers.recorded.http_cases import HttpCase
from tests.scalers.recorded.stage import Stage

PATH = "/v1/projects/shop-1/instances/main/databases/orders"
KEYS = {"projectId": "shop-1", "instanceId": "main", "databaseId": "orders", "query": "SELECT COUNT(*) FROM jobs"}


def table(*rows: Any, kind: str = "INT64") -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": {"rowType": {"fields": [{"name": "", "type": {"code": kind}}]}}}
    return {**found, "rows": list(rows)} if rows else found


@dataclass
class Spanner:
    """Answers queries of its sessions; `forget` ends them."""

    answer: dict[str, Any] = field(default_factory=lambda: table(["7"]))
    status: int = 200
    sessions: list[str] = field(default_factory=list)
    made: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)

    def forget(self) -> None:
        self.sessions.clear()

    async def listen(self, request: web.BaseRequest) -> web.Response:
        if request.path == f"{PATH}/sessions":
            assert await request.json() == {"session": {"multiplexed": True}}
            self.made += 1
            self.sessions.append(f"{PATH[4:]}/sessions/s{self.made}")
            return web.json_response({"name": self.sessions[-1], "multiplexed": True})
        session, _, method = request.path[4:].partition(":")
        if method != "executeSql" or session not in self.sessions:
            return self._refused(404, f"Session not found: {session}")
        self.asked.append(await request.json())
        if self.status != 200:
            return self._refused(self.status, "Table not found: jobs")
        return web.json_response(self.answer)

    def _refused(self, status: int, message: str) -> web.Response:
        return web.json_response({"error": {"code": status, "message": message, "status": "NOT_FOUND"}}, status=status)


@asynccontextmanager
async def serving(spanner: Spanner, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Spanner]:
    runner = web.ServerRunner(web.Server(spanner.listen), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", f"127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield spanner
    finally:
        await runner.cleanup()


@pytest.fixture
async def spanner(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Spanner]:
    async with serving(Spanner(), monkeypatch) as spanner:
        yield spanner


async def test_the_first_cell_is_the_number_and_the_read_is_a_strong_one(bench: Any, spanner: Spanner) -> None:
    scaler = await bench.opened("gcp-spanner", KEYS)
    assert (await scaler.read()).value == 7
    read_only = {"singleUse": {"readOnly": {"strong": True}}}
    assert spanner.asked == [{"sql": "SELECT COUNT(*) FROM jobs", "transaction": read_only}]
    assert (scaler.metric_name, scaler.target, scaler.activation) == ("gcp-spanner-main-orders-shop-1", 5, 0)


async def test_triggers_of_a_database_share_a_session_and_take_a_new_one_when_it_is_gone(
    bench: Any, spanner: Spanner
) -> None:
    one, other = [await bench.opened("gcp-spanner", KEYS) for _ in range(2)]
    assert [(await scaler.read()).value for scaler in (one, other, one)] == [7, 7, 7]
    assert spanner.made == 1
    spanner.forget()
    assert [(await scaler.read()).value for scaler in (one, other)] == [7, 7]
    assert spanner.made == 2


async def test_no_row_counts_as_0_with_a_note(bench: Any, spanner: Spanner) -> None:
    spanner.answer = table()
    reading = await (await bench.opened("gcp-spanner", KEYS)).read()
    assert (reading.value, reading.note, reading.empty) == (0, "a query without a row counts as 0", True)


async def test_a_refused_query_is_an_error_and_no_reason_for_another_session(bench: Any, spanner: Spanner) -> None:
    spanner.status = 400
    scaler = await bench.opened("gcp-spanner", KEYS)
    with pytest.raises(ScalerError, match="database orders: Spanner: status 400: Table not found: jobs"):
        await scaler.read()
    assert (spanner.made, len(spanner.asked)) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (table(["9007199254740993"]), 9007199254740993.0),
        (table([2.5], kind="FLOAT64"), 2.5),
        (table(["2.25"], kind="NUMERIC"), 2.25),
        (table(["-3", "x"], ["4", "y"]), -3),
    ],
)
async def test_numbers_of_each_type_are_read(bench: Any, spanner: Spanner, answer: Any, value: float) -> None:
    spanner.answer = answer
    assert (await (await bench.opened("gcp-spanner", KEYS)).read()).value == value


async def test_what_is_not_finite_counts_as_0(bench: Any, spanner: Spanner) -> None:
    spanner.answer = table(["NaN"], kind="FLOAT64")
    reading = await (await bench.opened("gcp-spanner", KEYS)).read()
    assert (reading.value, reading.note) == (0, "nan counts as 0")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "not JSON"),
        (b'{"rows": [["7"]]}', "rows without a column"),
        (b'{"rows": 7}', "rows without a column"),
        (b'{"rows": [[]], "metadata": {"rowType": {"fields": []}}}', "rows without a column"),
        (b'{"rows": [[null]], "metadata": {"rowType": {"fields": [{"type": {"code": "INT64"}}]}}}', "holds NULL"),
        (b'{"rows": [["x"]], "metadata": {"rowType": {"fields": [{"type": {"code": "INT64"}}]}}}', "something else"),
        (b'{"rows": [[true]], "metadata": {"rowType": {"fields": [{"type": {"code": "INT64"}}]}}}', "something else"),
        (b'{"rows": [["7"]], "metadata": {"rowType": {"fields": [{"type": {"code": "STRING"}}]}}}', "of type STRING"),
        (b'{"rows": [["7"]], "metadata": {"rowType": {"fields": [{"type": 7}]}}}', "is not an object"),
    ],
)
def test_an_answer_that_tells_no_number_is_an_error(answer: bytes, message: str) -> None:
    with pytest.raises(ScalerError, match=message):
        first_cell(answer)


@pytest.mark.parametrize("name", ["", "s", "projects/a/instances/b/databases/c/sessions/", "a/b/../c/d/e/f/g"])
def test_a_session_without_a_name_is_an_error(name: str) -> None:
    with pytest.raises(ScalerError, match="names no session"):
        session_name(f'{{"name": "{name}"}}'.encode())


async def test_a_name_is_no_step_in_the_path(bench: Any, spanner: Spanner) -> None:
    with pytest.raises(ConfigError, match="databaseId"):
        bench.scaler("gcp-spanner", {**KEYS, "databaseId": ".."})


async def test_without_credentials_the_trigger_is_refused(bench: Any) -> None:
    with pytest.raises(ConfigError, match="google application credentials not found"):
        bench.scaler("gcp-spanner", KEYS)
    assert bench.scaler("gcp-spanner", KEYS, pod_identity=PodIdentity(provider="gcp")).target == 5


async def test_a_token_of_the_service_account_goes_to_google_alone(stage: Stage) -> None:
    session = f"{PATH[4:]}/sessions/s1"
    to = {"host": "spanner.googleapis.com", "tls": True, "headers": {"authorization": "Bearer gtok"}}
    create = {**to, "m": "POST", "path": f"{PATH}/sessions", "json": {"session": {"multiplexed": True}}}
    read_only = {"singleUse": {"readOnly": {"strong": True}}}
    execute = {**to, "m": "POST", "path": f"/v1/{session}:executeSql"}
    execute["json"] = {"sql": KEYS["query"], "transaction": read_only}
    metric = "s0-gcp-spanner-main-orders-shop-1"
    played = HttpCase(
        "gcp-spanner",
        {
            "name": "gcp-spanner",
            "metadata": {**KEYS, "activationValue": "7"},
            "auth": {"GoogleApplicationCredentials": "{{GCPKEY}}"},
            "proxy": True,
            "answers": [
                {"match": "POST /token", "body": {"access_token": "gtok", "expires_in": 3600}},
                {"match": f"POST /v1/{session}:executeSql", "body": table(["7"]), "host": "spanner"},
                {"match": f"POST {PATH}/sessions", "body": {"name": session}, "host": "spanner"},
            ],
            "specs": [{"metric": metric, "targetType": "AverageValue", "targetMilli": 5000}],
            "results": [{"metric": metric, "value": 7000, "active": False, "requests": [ASKS_TOKEN, create, execute]}],
        },
    )
    assert await played.difference(stage) == ""


ASKS_TOKEN = {
    "m": "POST",
    "host": "oauth2.googleapis.com",
    "tls": True,
    "path": "/token",
    "form": {
        "assertion": '<jwt {"alg": "RS256", "kid": "kid1", "typ": "JWT"} {"aud": "https://oauth2.googleapis.com/token", '
        '"exp": <iat+3600>, "iat": "<now|unix>", "iss": "sa@proj-1.example", '
        '"scope": "https://www.googleapis.com/auth/spanner.data"}>',
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    },
}
