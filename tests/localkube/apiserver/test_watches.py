"""Watches that the recordings do not cover."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.cluster import LocalCluster
from tests.builders import config_map, deployment
from tests.localkube.client import CONFIGMAPS, DEPLOYMENTS, Client

BUSY_SECONDS = 0.2
"""Half of the time for which the loop is kept busy."""
INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


async def test_initial_events_end_with_a_marked_bookmark(client: Client) -> None:
    await client.create(CONFIGMAPS, config_map("a"))
    watch = await client.watch(CONFIGMAPS, **INITIAL)
    events = [await watch.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    await client.create(CONFIGMAPS, config_map("b"))
    assert (await watch.next())["object"]["metadata"]["name"] == "b"
    await watch.aclose()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"sendInitialEvents": "true"}, "resourceVersionMatch"),
        ({"resourceVersionMatch": "NotOlderThan"}, "resourceVersionMatch"),
        ({**INITIAL, "allowWatchBookmarks": "false"}, "sendInitialEvents"),
    ],
)
async def test_initial_events_have_conditions(client: Client, query: dict[str, str], field: str) -> None:
    answer = await client.ask("GET", CONFIGMAPS, watch="true", **query)
    assert answer.status == 422
    assert field in [cause["field"] for cause in answer.body["details"]["causes"]]


async def test_a_watch_without_a_version_lists_first(client: Client) -> None:
    watch = await client.watch(CONFIGMAPS)
    event = await watch.next()
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "kube-root-ca.crt")
    await watch.aclose()


async def test_a_boolean_is_read_as_go_reads_it(client: Client) -> None:
    answer = await client.ask("GET", CONFIGMAPS, watch="True")
    assert answer.stream is not None
    await answer.stream.aclose()
    assert (await client.ask("GET", CONFIGMAPS, watch="yes")).status == 400


async def test_a_watched_table_has_ages_of_the_moment(client: Client, clock: FakeClock) -> None:
    await client.create(DEPLOYMENTS, deployment("web", replicas=0))
    await clock.settle()
    version = (await client.get(DEPLOYMENTS))["metadata"]["resourceVersion"]
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    answer = await client.ask("GET", DEPLOYMENTS, headers=table, watch="true", resourceVersion=version)
    await clock.advance(90)
    await client.merge(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})
    assert answer.stream is not None
    lines = [line async for line in _first(answer.stream)]
    assert b'"90s"' in lines[0]
    await answer.stream.aclose()


async def _first(stream: Any) -> Any:
    yield await anext(stream)


def test_no_bookmark_covers_an_event_that_is_queued_at_the_time_out() -> None:
    """A client that resumes from the bookmark would miss the event. Runs on the machine's time."""

    async def scenario(clock: FakeClock) -> tuple[int, list[Any]]:
        async with LocalCluster(clock) as cluster:
            client, loop, made = Client(cluster), asyncio.get_running_loop(), list[Any]()
            resource = cluster.store.resources.find("", "v1", "configmaps")
            assert resource is not None
            version = (await client.get(CONFIGMAPS))["metadata"]["resourceVersion"]
            query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "1", "resourceVersion": version}
            answer = await client.ask("GET", CONFIGMAPS, **query)
            assert answer.stream is not None

            def late() -> None:
                made.append(cluster.store.create(resource, config_map("late", "default")))

            # One turn of the loop finds the time-out and, after it, the write that is due at once.
            loop.call_later(1 - BUSY_SECONDS, time.sleep, 2 * BUSY_SECONDS)
            loop.call_later(1 + BUSY_SECONDS / 2, late)
            lines = [line async for chunk in answer.stream for line in chunk.splitlines()]
            return int(made[0]["metadata"]["resourceVersion"]), [orjson.loads(line) for line in lines]

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        version, events = runner.run(scenario(FakeClock(datetime(2026, 11, 21, 8, tzinfo=UTC))))
    heard = [event["object"]["metadata"] for event in events]
    names = [one.get("name") for one in heard]
    newer = [at for at, one in enumerate(heard) if names[at] is None and int(one["resourceVersion"]) >= version]
    assert all("late" in names[:at] for at in newer)
