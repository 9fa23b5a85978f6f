"""Watchers see the events of their selection, and virtual time waits for them."""

import asyncio
from datetime import UTC, datetime

import pytest

from keda_py.clock import FakeClock
from keda_py.localkube.builtin.builtins import builtin_registry
from keda_py.localkube.model.selectors import FieldSelector, parse_labels
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import BACKLOG
from keda_py.schema.resources import Obj, Resource
from tests.waiting import turns


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def store(clock: FakeClock) -> Store:
    return Store(clock, builtin_registry())


@pytest.fixture
def configmaps(store: Store) -> Resource:
    return store.resources.get("v1", "ConfigMap")


def labelled(name: str, team: str) -> Obj:
    return {"metadata": {"name": name, "namespace": "default", "labels": {"team": team}}}


def relabelled(obj: Obj, team: str) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "labels": {"team": team}}}


async def test_an_object_that_enters_or_leaves_the_selection_is_added_or_deleted(
    store: Store, configmaps: Resource
) -> None:
    watch = store.watch(configmaps, since=0, labels=parse_labels("team=core"))
    obj = store.create(configmaps, labelled("a", "infra"))
    obj = store.update(configmaps, relabelled(obj, "core"))
    obj = store.update(configmaps, relabelled(obj, "infra"))
    store.delete(configmaps, "default", "a")
    added, deleted = await watch.take()
    assert (added.type, deleted.type) == ("ADDED", "DELETED")
    # The last selected state, with the version of the write that ended the selection.
    assert deleted.shown["metadata"]["labels"] == {"team": "core"}
    assert deleted.shown["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]
    await watch.aclose()


async def test_a_watch_by_name_sees_one_object(store: Store, configmaps: Resource) -> None:
    watch = store.watch(configmaps, "default", since=0, fields=FieldSelector.parse("metadata.name=b"))
    for name in ("a", "b", "c"):
        store.create(configmaps, labelled(name, "core"))
    assert [event.name for event in await watch.take()] == ["b"]
    await watch.aclose()


async def test_a_watch_resumes_after_the_version_it_has_seen(store: Store, configmaps: Resource) -> None:
    for name in ("a", "b", "c"):
        store.create(configmaps, labelled(name, "core"))
    watch = store.watch(configmaps, since=1)
    assert [event.name for event in await watch.take()] == ["b", "c"]
    await watch.aclose()


async def test_time_stands_still_until_the_watcher_asks_for_more(
    clock: FakeClock, store: Store, configmaps: Resource
) -> None:
    watch = store.watch(configmaps, since=0)
    store.create(configmaps, labelled("a", "core"))
    clock.call_later(5, lambda: None)
    async with asyncio.TaskGroup() as tasks:
        passing = tasks.create_task(clock.advance(10))
        event = await anext(watch)
        await turns(clock.QUIET_TURNS * 2)
        assert (event.name, clock.monotonic()) == ("a", 0.0)
        await watch.aclose()
        await passing
    assert clock.monotonic() == 10.0


async def test_a_watcher_that_never_reads_is_cut_off(clock: FakeClock, store: Store, configmaps: Resource) -> None:
    watch = store.watch(configmaps, since=0)
    for at in range(BACKLOG + 1):
        store.create(configmaps, labelled(f"c{at}", "core"))
    assert len(await watch.take()) == BACKLOG
    assert await watch.take() == []
    await clock.advance(1)
    assert clock.monotonic() == 1.0
