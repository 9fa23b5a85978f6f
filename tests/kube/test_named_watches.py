"""Objects followed by name: one watch each, one for all above fifty, and none where RBAC forbids watching."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from keda_py.clock import FakeClock
from keda_py.kube.client import Exchange, KubeClient
from keda_py.kube.informers.named_watches import (
    NAMES_LIMIT,
    READ_AGAIN_SECONDS,
    SINGLE_WATCHES,
    NamedWatches,
    Reference,
)
from keda_py.kube.resources import CONFIG_MAPS, SECRETS
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.localkube.model.calls import User
from keda_py.testing import A_SATURDAY
from tests.builders import config_map, secret
from tests.kube.faulty_server import FaultyServer, refuses
from tests.waiting import eventually

READER = User(name="reader", groups=("system:authenticated",))


class WatchedNames:
    """Running NamedWatches, with its notifications and its requests to the API server."""

    def __init__(self, cluster: LocalCluster, clock: FakeClock) -> None:
        self.cluster, self.clock = cluster, clock
        self.told: list[str] = []
        self.asked: list[Exchange] = []
        self.watches: NamedWatches

    def count(self, verb: str) -> int:
        return sum(exchange.verb == verb for exchange in self.asked)


@asynccontextmanager
async def following(
    folder: Path, *, may: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> AsyncIterator[WatchedNames]:
    """Run NamedWatches as a user with all rights, or with the rights `may` on ConfigMaps of these names alone."""
    clock = FakeClock(A_SATURDAY)
    async with LocalCluster(clock, ClusterOptions(enforce_rbac=bool(may))) as cluster:
        followed = WatchedNames(cluster, clock)
        if may:
            await cluster.apply(permissions(may, names))
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(cluster.kubeconfig(READER) if may else cluster.kubeconfig(), encoding="utf-8")
        async with KubeClient(clock, str(kubeconfig), observe=followed.asked.append) as client:
            followed.watches = NamedWatches(client, clock)
            followed.watches.subscribe(lambda reference: followed.told.append(reference.name))
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(followed.watches.run())
                await asyncio.sleep(0)
                yield followed
                running.cancel()


def permissions(verbs: tuple[str, ...], names: tuple[str, ...]) -> list[dict]:
    meta, group = {"name": "reader", "namespace": "default"}, "rbac.authorization.k8s.io"
    only = {"resourceNames": list(names)} if names else {}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs), **only}]
    subject = {"kind": "User", "name": READER.name, "apiGroup": group}
    role = {"kind": "Role", "name": "reader", "apiGroup": group}
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]},
    ]


def named(name: str) -> Reference:
    return Reference(CONFIG_MAPS, "default", name)


async def value(followed: WatchedNames, name: str) -> str | None:
    found = await followed.watches.read(named(name))
    return found["data"]["value"] if found else None


async def test_a_name_is_read_once_and_its_changes_are_told(tmp_path: Path) -> None:
    async with following(tmp_path) as followed:
        await followed.cluster.apply([config_map("one", value="1"), config_map("two", value="1")])
        followed.watches.hold(named("one"))
        assert [await value(followed, "one") for _ in range(3)] == ["1", "1", "1"]
        assert (followed.count("LIST"), followed.count("GET")) == (1, 0)
        assert followed.told == []
        await eventually(lambda: followed.count("WATCH") == 1)
        await followed.cluster.apply([config_map("one", value="2"), config_map("two", value="2")])
        await eventually(lambda: followed.told == ["one"])
        assert await value(followed, "one") == "2"


async def test_a_name_that_is_not_there_is_followed_all_the_same(tmp_path: Path) -> None:
    async with following(tmp_path) as followed:
        followed.watches.hold(named("late"))
        assert await value(followed, "late") is None
        await followed.cluster.apply([config_map("late", value="1")])
        await eventually(lambda: followed.told == ["late"])
        assert await value(followed, "late") == "1"


async def test_the_watch_ends_with_the_last_holder(tmp_path: Path) -> None:
    async with following(tmp_path) as followed:
        for _ in range(2):
            followed.watches.hold(named("one"))
        await followed.watches.read(named("one"))
        followed.watches.release(named("one"))
        assert followed.watches.open == 1
        followed.watches.release(named("one"))
        assert followed.watches.open == 0


async def test_above_fifty_names_one_watch_follows_them_all_and_keeps_no_others(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(NAMES_LIMIT + 10)]
    async with following(tmp_path) as followed:
        await followed.cluster.apply([config_map(name, value="1") for name in (*names, "late", "stranger")])
        for name in names:
            followed.watches.hold(named(name))
            assert await value(followed, name) == "1"
        await eventually(lambda: followed.watches.open == 1)
        followed.watches.hold(named("late"))
        gets = followed.count("GET")
        assert [await value(followed, "late") for _ in range(2)] == ["1", "1"]
        assert followed.count("GET") == gets + 1, "it was passed by when the namespace was listed"
        changed = ["n1", f"n{NAMES_LIMIT + 5}", "late", "stranger"]
        await followed.cluster.apply([config_map(name, value="2") for name in changed])
        await eventually(lambda: set(followed.told) == {*changed} - {"stranger"})
        assert [await value(followed, name) for name in changed[:3]] == ["2", "2", "2"]
        for name in (*names, "late"):
            followed.watches.release(named(name))
        assert followed.watches.open == 0


async def test_where_watching_is_not_allowed_an_object_is_asked_for_and_again_each_minute(tmp_path: Path) -> None:
    async with following(tmp_path, may=("get",)) as followed:
        await followed.cluster.apply([config_map("one", value="1")])
        followed.watches.hold(named("one"))
        assert await value(followed, "one") == "1"
        await followed.cluster.apply([config_map("one", value="2")])
        assert await value(followed, "one") == "2"
        for wanted in ("3", "4"):
            await followed.cluster.apply([config_map("one", value=wanted)])
            followed.told.clear()
            await followed.clock.advance(READ_AGAIN_SECONDS)
            await eventually(lambda: followed.told == ["one"])
            await followed.clock.advance(READ_AGAIN_SECONDS)
        followed.watches.release(named("one"))
        gets = followed.count("GET")
        await followed.clock.advance(5 * READ_AGAIN_SECONDS)
        assert followed.count("GET") == gets


async def test_other_kinds_and_namespaces_are_not_confused(tmp_path: Path) -> None:
    async with following(tmp_path) as followed:
        await followed.cluster.apply([config_map("same", value="map"), secret("same", value="secret")])
        references = [named("same"), Reference(SECRETS, "default", "same"), Reference(SECRETS, "kube-system", "same")]
        for reference in references:
            followed.watches.hold(reference)
        found = [await followed.watches.read(reference) for reference in references]
        assert [one and one["kind"] for one in found] == ["ConfigMap", "Secret", None]


async def test_where_only_names_may_be_watched_a_hundred_are_and_the_others_are_asked_for(tmp_path: Path) -> None:
    names = tuple(f"n{number}" for number in range(SINGLE_WATCHES + 10))
    async with following(tmp_path, may=("get", "list", "watch"), names=names) as followed:
        await followed.cluster.apply([config_map(name, value="1") for name in names])
        for name in names:
            followed.watches.hold(named(name))
        assert [await value(followed, name) for name in names] == ["1"] * len(names)
        refused_namespace = 1
        assert followed.watches.open == SINGLE_WATCHES + refused_namespace
        assert followed.count("GET") == 10
        await followed.cluster.apply([config_map(name, value="2") for name in names])
        await eventually(lambda: len(set(followed.told)) == SINGLE_WATCHES)
        assert [await value(followed, name) for name in names] == ["2"] * len(names)


async def test_a_name_that_is_released_while_it_is_asked_for_is_not_asked_for_ever_after(
    server: FaultyServer, client: KubeClient
) -> None:
    asked, answering, clock = asyncio.Event(), asyncio.Event(), FakeClock(A_SATURDAY)

    async def answer(_: web.Request) -> web.StreamResponse:
        asked.set()
        await answering.wait()
        return web.json_response({"metadata": {"name": "settings", "resourceVersion": "1"}})

    path = "/api/v1/namespaces/default/configmaps"
    server.answer(f"GET {path}", refuses(403, "Forbidden"))
    server.answer(f"GET {path}/settings", answer)
    watches = NamedWatches(client, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watches.run())
        await asyncio.sleep(0)
        watches.hold(named("settings"))
        reading = tasks.create_task(watches.read(named("settings")))
        await asked.wait()
        watches.release(named("settings"))
        answering.set()
        assert await reading is not None
        before = len(server.seen)
        await clock.advance(3 * READ_AGAIN_SECONDS)
        await eventually(lambda: watches.open == 0)
        assert len(server.seen) == before
        running.cancel()


async def test_no_watch_begins_for_a_name_that_was_released_meanwhile(tmp_path: Path) -> None:
    names = [named(f"n{number}") for number in range(NAMES_LIMIT + 1)]
    async with following(tmp_path, may=("get",)) as followed:
        for one in names:
            followed.watches.hold(one)
        reading = asyncio.get_running_loop().create_task(followed.watches.read(names[0]))
        await asyncio.sleep(0)
        for one in names:
            followed.watches.release(one)
        assert await asyncio.wait_for(reading, 30) is None
        assert followed.watches.open == 0
        await eventually(lambda: len(asyncio.all_tasks()) < len(names))
