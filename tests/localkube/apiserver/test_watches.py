"""Watches, beyond what the recordings show."""

from typing import Any

import pytest

from keda_py.clock import FakeClock
from tests.builders import config_map, deployment
from tests.localkube.client import CONFIGMAPS, DEPLOYMENTS, Client

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
