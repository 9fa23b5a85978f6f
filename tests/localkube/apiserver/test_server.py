"""The HTTPS server: connections, bodies, watchers that do not read."""

import asyncio
import gc
import io
import socket
from contextlib import ExitStack
from typing import Any

import aiohttp
import orjson

from keda_py.clock import FakeClock
from keda_py.localkube.apiserver.server import STALLED_SECONDS
from keda_py.localkube.cluster import LocalCluster
from tests.builders import config_map
from tests.localkube.client import CONFIGMAPS, Client
from tests.waiting import eventually


def session(cluster: LocalCluster) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cluster.url, connector=aiohttp.TCPConnector(ssl=cluster.client_context()))


async def test_a_body_beyond_the_limit_is_refused(cluster: LocalCluster) -> None:
    large = io.BytesIO(orjson.dumps(config_map("a", x="x" * 4_000_000)))
    async with session(cluster) as client, client.post(CONFIGMAPS, data=large) as response:
        assert (response.status, (await response.json())["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_watch_arrives_line_by_line_and_ends_in_time(cluster: LocalCluster, client: Client) -> None:
    query = {"watch": "1", "timeoutSeconds": "1", "allowWatchBookmarks": "1"}
    async with session(cluster) as watcher, watcher.get(CONFIGMAPS, params=query) as response:
        first = orjson.loads(await response.content.readline())
        await client.create(CONFIGMAPS, config_map("a"))
        second = orjson.loads(await response.content.readline())
        rest = [orjson.loads(line)["type"] for line in (await response.read()).splitlines()]
    assert [first["object"]["metadata"]["name"], second["object"]["metadata"]["name"]] == ["kube-root-ca.crt", "a"]
    assert rest == ["BOOKMARK"]


async def test_an_error_event_ends_a_watch_from_a_forgotten_version(cluster: LocalCluster, client: Client) -> None:
    await client.create(CONFIGMAPS, config_map("a"))
    cluster.store.forget(cluster.store.revision)
    events = [event async for event in _events(cluster, resourceVersion="1")]
    assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 410)]


async def _events(cluster: LocalCluster, **query: str) -> Any:
    params = {"watch": "1", "timeoutSeconds": "30", **query}
    async with session(cluster) as watcher, watcher.get(CONFIGMAPS, params=params) as response:
        async for line in response.content:
            yield orjson.loads(line)


async def test_a_watcher_that_stops_reading_holds_time_for_seconds_only(
    cluster: LocalCluster, client: Client, clock: FakeClock
) -> None:
    async with session(cluster) as watcher, watcher.get(CONFIGMAPS, params={"watch": "1"}):
        # The first batch fills all buffers of the connection, so the second one has to wait.
        for names in ("abcdefghijklmnopqrst", "uvwxyz"):
            for name in names:
                await client.create(CONFIGMAPS, config_map(name, x="x" * 1_000_000))
            async with asyncio.timeout(STALLED_SECONDS + 5):
                await clock.advance(60)
        await eventually(lambda: cluster.store.watchers == 0)


def test_connections_of_clients_that_have_gone_silent_are_closed_with_the_server() -> None:
    """A connection left open would raise a ResourceWarning, which fails this test."""
    with ExitStack() as held:
        asyncio.run(serve_the_silent(held))
        gc.collect()


async def serve_the_silent(held: ExitStack) -> None:
    async with LocalCluster() as cluster:
        for said in (b"", b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            await asyncio.to_thread(say, cluster, said, held)


def say(cluster: LocalCluster, said: bytes, held: ExitStack) -> None:
    """Send bytes and read the answer, without waiting for the connection's end."""
    address = cluster.url.rpartition("/")[2].split(":")
    plain = socket.create_connection((address[0], int(address[1])), timeout=30)
    wire = held.enter_context(cluster.client_context().wrap_socket(plain, server_hostname=address[0]))
    wire.sendall(said)
    assert not said or wire.recv(1000).startswith(b"HTTP/1.1 200")
