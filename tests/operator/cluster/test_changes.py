"""What the cluster's watch tells of: a signal for many changes, no request for one, and nothing left behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from keda_py.clock import FakeClock
from keda_py.kube.client import Exchange, KubeClient
from keda_py.kube.discovery import Discovery
from keda_py.kube.resources import CONFIG_MAPS, PODS
from keda_py.localkube.cluster import LocalCluster
from keda_py.operator.cluster.reader import IDLE_SECONDS, PAUSE, ClusterReader
from keda_py.testing import A_SATURDAY
from tests.builders import config_map, metadata
from tests.waiting import eventually

MANY = 500
SILENCE = 0.1
"""Seconds in which a signal that is due would have come."""


@dataclass(kw_only=True)
class Desk:
    """A reader at work, an administrator's client, and what the reader has asked."""

    reader: ClusterReader
    client: KubeClient
    clock: FakeClock
    asked: list[Exchange] = field(default_factory=list)

    async def pod(self, name: str, **labels: str) -> None:
        spec = {"nodeSelector": {"no": "such-node"}, "containers": [{"name": "app", "image": "app"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name, "default", labels=labels), "spec": spec}
        await self.client.create(PODS, body)


@asynccontextmanager
async def open_desk(folder: Path) -> AsyncIterator[Desk]:
    clock, kubeconfig, asked = FakeClock(A_SATURDAY), folder / "kubeconfig", list[Exchange]()
    async with LocalCluster(clock) as cluster:
        kubeconfig.write_text(cluster.kubeconfig(), encoding="utf-8")
        async with (
            KubeClient(clock, str(kubeconfig)) as client,
            KubeClient(clock, str(kubeconfig), observe=asked.append) as watcher,
            asyncio.TaskGroup() as tasks,
        ):
            reader = ClusterReader(watcher, Discovery(watcher), clock)
            running = tasks.create_task(reader.run())
            await asyncio.sleep(0)
            yield Desk(reader=reader, client=client, clock=clock, asked=asked)
            running.cancel()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as desk:
        yield desk


async def told(changes: AsyncIterator[None]) -> None:
    """Return with the next signal."""
    async with asyncio.timeout(5):
        await anext(changes)


async def test_hundreds_of_pods_that_come_at_once_are_few_signals_and_no_request(desk: Desk) -> None:
    heard = 0

    async def listen() -> None:
        nonlocal heard
        async with aclosing(desk.reader.changes("pods", "default", label_selector="app=web")) as changes:
            async for _ in changes:
                heard += 1

    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listen())
        await eventually(lambda: heard == 1)
        desk.asked.clear()
        began = asyncio.get_running_loop().time()
        for number in range(MANY):
            await desk.pod(f"web-{number}", app="web")
        await eventually(lambda: heard >= 2)
        seconds = asyncio.get_running_loop().time() - began
        assert heard <= 2 + seconds / PAUSE
        listening.cancel()
    assert desk.asked == []
    assert len(await desk.reader.pods("default", "app=web")) == MANY


async def test_a_pod_that_does_not_match_is_no_signal_and_one_that_begins_to_is(desk: Desk) -> None:
    async with aclosing(desk.reader.changes("pods", "default", label_selector="app=web")) as changes:
        await anext(changes)
        await desk.pod("db", app="db")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(PAUSE + SILENCE):
                await anext(changes)
    async with aclosing(desk.reader.changes("pods", "default", label_selector="app=web")) as changes:
        await anext(changes)
        await desk.client.patch(PODS.named("default", "db"), {"metadata": {"labels": {"app": "web"}}})
        await told(changes)


async def test_an_object_is_followed_by_name_and_let_go_of(desk: Desk) -> None:
    async with aclosing(desk.reader.changes("configmaps", "default", name="depth")) as changes:
        await anext(changes)
        assert desk.reader.watches.open == 1
        desk.asked.clear()
        await desk.client.create(CONFIG_MAPS, config_map("depth", "default", jobs="1"))
        await told(changes)
        await desk.client.patch(CONFIG_MAPS.named("default", "depth"), {"data": {"jobs": "2"}})
        await told(changes)
        assert [one.verb for one in desk.asked] in ([], ["WATCH"])  # the one that begins with the first read
    assert desk.reader.watches.open == 0


async def test_the_watch_of_pods_lives_as_long_as_it_is_followed(desk: Desk) -> None:
    async with aclosing(desk.reader.changes("pods", "default", label_selector="app=web")) as changes:
        await anext(changes)
        await desk.clock.advance(2 * IDLE_SECONDS)
        desk.reader.end_idle()
        await desk.pod("web", app="web")
        await told(changes)
    desk.asked.clear()
    await desk.clock.advance(2 * IDLE_SECONDS)
    desk.reader.end_idle()
    await desk.reader.pods("default", "app=web")
    assert desk.asked != []


async def test_what_is_no_selector_and_what_has_no_name_is_refused(desk: Desk) -> None:
    for resource, selector in (("pods", "app in web"), ("configmaps", "")):
        with pytest.raises(ValueError, match="unable to parse requirement|by name only"):
            await anext(desk.reader.changes(resource, "default", label_selector=selector))
