"""The embedded cluster answers as a real kube-apiserver 1.36 did, exchange by exchange.

All exchanges are replayed once, in order, against a server and controllers on a clock that moves only where a recording
waited. Watches run on real time; their recorded seconds are shortened to one.
"""

import copy
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import orjson
import pytest
import pytest_asyncio

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from tests.definitions import DEFINITIONS
from tests.localkube import recordings

EXCHANGES = recordings.exchanges()
WATCH_SECONDS = "1"
ApiAnswer = dict[str, Any]


async def send(session: aiohttp.ClientSession, request: dict[str, Any]) -> ApiAnswer:
    """Send a request; a watch is read to its end."""
    body = request.get("body")
    data = None if body is None else body.encode() if isinstance(body, str) else orjson.dumps(body)
    query = {**request.get("query", {})}
    if "timeoutSeconds" in query:
        query["timeoutSeconds"] = WATCH_SECONDS
    async with session.request(
        request["method"], request["path"], params=query, data=data, headers=request.get("headers")
    ) as response:
        text = await response.read()
        answer: ApiAnswer = {"status": response.status, "content-type": response.headers["Content-Type"]}
    if query.get("watch"):
        answer["events"] = [orjson.loads(line) for line in text.splitlines()]
    else:
        answer["body"] = orjson.loads(text) if text[:1] in b"{[" else text.decode()
    return answer


async def replay(session: aiohttp.ClientSession, exchange: dict[str, Any], answers: dict[str, Any]) -> ApiAnswer:
    """Replay an exchange, together with the requests that were sent beside it."""
    request = recordings.resolved(exchange["request"], answers)
    if "meanwhile" not in exchange:
        return await send(session, request)
    query = {**request["query"], "timeoutSeconds": WATCH_SECONDS}
    async with session.get(request["path"], params=query, headers=request["headers"]) as response:
        for beside in exchange["meanwhile"]:
            await send(session, beside)
        lines = (await response.read()).splitlines()
        content_type = response.headers["Content-Type"]
    events = [orjson.loads(line) for line in lines]
    return {"status": response.status, "content-type": content_type, "events": events}


def as_kedas_own(crd: dict[str, Any]) -> dict[str, Any]:
    """Remove our own columns and rules: the recorded cluster had KEDA's definitions, which have no rules."""
    own = copy.deepcopy(crd)
    for version in own["spec"]["versions"]:
        columns = version.get("additionalPrinterColumns", [])
        columns[:] = [column for column in columns if not column["jsonPath"].startswith(".status.kedaPy")]
        version["schema"]["openAPIV3Schema"]["properties"]["spec"].pop("x-kubernetes-validations", None)
    return own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answers() -> AsyncIterator[dict[str, ApiAnswer]]:
    """Replay all exchanges; returns the answers by note."""
    clock = FakeClock(datetime(2026, 11, 21, 5, 58, 7, tzinfo=UTC))
    async with LocalCluster(clock, ClusterOptions(hpa_sync_seconds=5)) as cluster:
        await cluster.apply(as_kedas_own(crd) for crd in DEFINITIONS if crd["spec"]["group"] == "keda.sh")
        connector = aiohttp.TCPConnector(ssl=cluster.client_context())
        async with aiohttp.ClientSession(cluster.url, connector=connector) as session:
            found: dict[str, ApiAnswer] = {}
            bodies: dict[str, Any] = {}
            for exchange in EXCHANGES:
                for request in exchange.get("before", ()):
                    await send(session, request)
                await clock.advance(exchange.get("wait", 0))
                if exchange.get("detached"):
                    cluster.store.forget(cluster.store.revision)
                answer = await replay(session, exchange, bodies)
                await clock.settle()
                found[exchange["note"]] = answer
                bodies[exchange["note"]] = answer.get("body")
            yield found


@pytest.mark.parametrize("exchange", EXCHANGES, ids=[exchange["note"] for exchange in EXCHANGES])
def test_the_answer_is_the_recorded_one(exchange: dict[str, Any], answers: dict[str, ApiAnswer]) -> None:
    answer, recorded = answers[exchange["note"]], exchange["response"]
    assert answer["status"] == recorded["status"], answer
    assert answer["content-type"] == recorded["content-type"]
    if "events" in recorded:
        expected, actual = ([e for e in side["events"] if e["type"] != "BOOKMARK"] for side in (recorded, answer))
        assert list(recordings.differences(expected, actual)) == []
        return
    expected, actual = recorded["body"], answer["body"]
    if exchange["note"] in DISCOVERY:
        expected, actual = recordings.served(expected, actual)
    if exchange["note"] in SHORTENED:
        actual = {key: value for key, value in actual.items() if key in expected}
    assert list(recordings.differences(expected, actual)) == []


DISCOVERY = {"groups", "aggregated discovery, core", "aggregated discovery, groups", "openapi v3 index"} | {
    exchange["note"] for exchange in EXCHANGES if exchange["note"].startswith("resources of")
}
# Recorded without addresses and build data, which would name a machine.
SHORTENED = {"version", "core versions"}


def test_every_required_group_is_served(answers: dict[str, ApiAnswer]) -> None:
    names = [group["name"] for group in answers["groups"]["body"]["groups"]]
    assert set(names) >= recordings.REQUIRED_GROUPS
    assert [item["metadata"]["name"] for item in answers["aggregated discovery, groups"]["body"]["items"]] == names
