"""Informers of a cluster that has gone back in time, as after etcd was restored from a backup."""

import asyncio

from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.informers.reflector import DOUBT_SECONDS
from keda_py.kube.resources import CONFIG_MAPS
from tests.kube.faulty_server import FaultyServer, event, holds, listing, running, says, streams, thing, versions
from tests.waiting import eventually

PATH = "/api/v1/configmaps"
LIST, WATCH = f"GET {PATH}", f"WATCH {PATH}"
SPEC = InformerSpec(resource=CONFIG_MAPS)


async def test_after_a_watch_that_was_cut_silence_is_asked_about_and_a_restored_cluster_listed(
    server: FaultyServer, client: KubeClient
) -> None:
    newest = listing(3, thing("a", 2))
    server.answer(LIST, says(listing(5, thing("a", 4), thing("late", 5))), says(newest), says(newest))
    server.answer(WATCH, streams(then="cut"), streams(then="hang"))
    informer, restored, began = Informer(client, SPEC), list[dict[str, str]](), asyncio.get_running_loop().time()
    informer.on_restore(lambda: restored.append(versions(informer)))
    async with running(informer.run()):
        await eventually(holds(informer, a=2))
    assert asyncio.get_running_loop().time() < began + 10
    assert restored[0] == {"a": "4", "late": "5"}
    assert server.queries("GET")[1:] == [{"limit": "1"}, {"limit": "500"}]


async def test_after_a_watch_that_was_cut_a_quiet_cluster_is_not_listed_again(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(LIST, says(listing(5, thing("a", 4))))
    server.answer(WATCH, streams(then="cut"), streams(then="hang"))
    informer, restored = Informer(client, SPEC), []
    informer.on_restore(lambda: restored.append(1))
    async with running(informer.run()):
        await eventually(lambda: len(server.queries("GET")) == 2)
        await asyncio.sleep(1.2 * DOUBT_SECONDS)
    assert [query["limit"] for query in server.queries("GET")] == ["500", "1"]
    assert (len(server.queries("WATCH")), restored) == (2, [])


async def test_a_bookmark_from_before_what_was_heard_leads_to_a_list_of_the_newest(
    server: FaultyServer, client: KubeClient
) -> None:
    bookmark = event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "3"}})
    server.answer(LIST, says(listing(5, thing("a", 4))), says(listing(3, thing("a", 2))))
    server.answer(WATCH, streams(bookmark, then="hang"), streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, a=2))
    assert server.queries("GET")[1] == {"limit": "500"}
