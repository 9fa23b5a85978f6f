"""Informers against a server that closes, cuts, refuses, forgets and stalls."""

import asyncio
import logging
from typing import Any

import pytest

from keda_py.clock import SystemClock
from keda_py.errors import Forbidden, Unavailable
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec, only
from keda_py.kube.informers.reflector import Reflector
from keda_py.kube.resources import CONFIG_MAPS, NODES, Obj, Selection
from tests.kube.faulty_server import (
    FaultyServer,
    event,
    holds,
    listing,
    refuses,
    running,
    says,
    serving,
    streams,
    thing,
    versions,
    write_kubeconfig,
)
from tests.waiting import eventually

PATH = "/api/v1/configmaps"
LIST, WATCH = f"GET {PATH}", f"WATCH {PATH}"
SPEC = InformerSpec(resource=CONFIG_MAPS)
EXPIRED = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


async def test_it_lists_what_is_in_memory_and_watches_from_there(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1))))
    server.answer(
        WATCH,
        streams(
            event("ADDED", thing("b", 6)),
            event("MODIFIED", thing("a", 7)),
            event("DELETED", thing("b", 8)),
            event("ADDED", thing("c", 9)),
            then="hang",
        ),
    )
    informer = Informer(client, SPEC)
    assert not informer.synced
    async with running(informer.run()):
        await informer.wait_synced()
        await eventually(holds(informer, a=7, c=9))
    assert server.queries("GET") == [{"limit": "500", "resourceVersion": "0"}]
    watch = server.queries("WATCH")[0]
    assert (watch["resourceVersion"], watch["allowWatchBookmarks"]) == ("5", "true")
    assert 270 <= int(watch["timeoutSeconds"]) <= 310


async def test_subscribers_hear_old_and_new_and_latecomers_hear_what_is_there(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1))))
    server.answer(WATCH, streams(event("MODIFIED", thing("a", 6)), event("DELETED", thing("a", 7)), then="hang"))
    heard: list[tuple[str | None, str | None]] = []

    def version(obj: Obj | None) -> str | None:
        return obj and obj["metadata"]["resourceVersion"]

    informer = Informer(client, SPEC)
    informer.subscribe(lambda old, new: heard.append((version(old), version(new))))
    async with running(informer.run()):
        await eventually(lambda: len(heard) == 3)
    assert heard == [(None, "1"), ("1", "6"), ("6", None)]


async def test_a_latecomer_hears_what_is_there_already(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1))))
    server.answer(WATCH, streams(then="hang"))
    informer, heard = Informer(client, SPEC), []
    async with running(informer.run()):
        await informer.wait_synced()
        informer.subscribe(lambda old, new: heard.append((old, new)))
    assert [(old, new["metadata"]["name"]) for old, new in heard] == [(None, "a")]


async def test_pages_are_joined_and_only_the_first_asks_for_a_version(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1), more="x")), says(listing(5, thing("b", 2))))
    server.answer(WATCH, streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, a=1, b=2))
    assert server.queries("GET")[1] == {"limit": "500", "continue": "x"}


@pytest.mark.parametrize("expired", [refuses(410, "Expired"), streams(EXPIRED)], ids=["HTTP status", "ERROR event"])
async def test_an_expired_version_leads_to_a_list_not_older_than_it(
    server: FaultyServer, client: KubeClient, expired: Any
) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1), thing("gone", 2))), says(listing(9, thing("a", 8))))
    server.answer(WATCH, streams(event("MODIFIED", thing("a", 6))), expired, streams(then="hang"))
    heard: list[tuple[Obj | None, Obj | None]] = []
    informer = Informer(client, SPEC)
    informer.subscribe(lambda old, new: heard.append((old, new)))
    async with running(informer.run()):
        await eventually(holds(informer, a=8))
        await eventually(lambda: len(server.queries("WATCH")) == 3)
    assert server.queries("GET")[1] == {"limit": "500", "resourceVersion": "6", "resourceVersionMatch": "NotOlderThan"}
    assert server.queries("WATCH")[2]["resourceVersion"] == "9"
    assert [old["metadata"]["name"] for old, new in heard if old and new is None] == ["gone"]


@pytest.mark.parametrize(("code", "reason"), [(410, "Expired"), (504, "Timeout")])
async def test_a_list_that_cannot_be_that_new_asks_for_the_newest(
    server: FaultyServer, client: KubeClient, code: int, reason: str
) -> None:
    server.answer(LIST, says(listing(5)), refuses(code, reason), says(listing(3, thing("restored", 2))))
    server.answer(WATCH, streams(EXPIRED), streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, restored=2))
    assert server.queries("GET")[2] == {"limit": "500"}


async def test_pages_that_expire_half_way_are_listed_anew(server: FaultyServer, client: KubeClient) -> None:
    server.answer(
        LIST,
        says(listing(5, thing("a", 1), more="x")),
        refuses(410, "Expired"),
        says(listing(9, thing("b", 8))),
    )
    server.answer(WATCH, streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, b=8))


@pytest.mark.parametrize(
    "broken",
    [
        streams(),
        says(b"bad gateway", code=502),
        says(b"<html>sign in</html>"),
        streams(b'{"type":"ADDED","obj', then="cut"),
        streams(b'{"type":"ADDED","obj'),
        streams(b'"text"\n'),
        streams(EXPIRED | {"object": {"kind": "Status", "code": 500, "message": "etcd"}}),
        refuses(403, "Forbidden"),
        refuses(429, "TooManyRequests", **{"Retry-After": "0"}),
    ],
    ids=["closed", "502", "HTML", "cut", "half a line", "no event", "ERROR 500", "403", "429"],
)
async def test_a_watch_that_ends_at_once_is_tried_again_with_pauses(
    server: FaultyServer, client: KubeClient, broken: Any
) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1))))
    server.answer(WATCH, broken)
    informer, started = Informer(client, SPEC), asyncio.get_running_loop().time()
    async with running(informer.run()):
        await eventually(lambda: len(server.queries("WATCH")) >= 4)
        # At least half of 0.2 + 0.4 + 0.8 s of pauses between four attempts.
        assert asyncio.get_running_loop().time() - started >= 0.7
    assert versions(informer) == {"a": "1"}


async def test_a_cut_stream_goes_on_after_the_last_event_applied(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5)))
    server.answer(
        WATCH,
        streams(event("ADDED", thing("a", 6)), b'{"type":"ADDED","object', then="cut"),
        streams(event("ADDED", thing("b", 7)), then="hang"),
    )
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, a=6, b=7))
    assert [query["resourceVersion"] for query in server.queries("WATCH")] == ["5", "6"]
    assert len(server.queries("GET")) == 1


async def test_a_bookmark_moves_the_version_and_changes_nothing(server: FaultyServer, client: KubeClient) -> None:
    bookmark = event("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "50"}})
    server.answer(LIST, says(listing(5, thing("a", 1))))
    server.answer(WATCH, streams(bookmark), streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(lambda: len(server.queries("WATCH")) == 2)
    assert server.queries("WATCH")[1]["resourceVersion"] == "50"
    assert versions(informer) == {"a": "1"}


async def test_a_line_of_five_megabytes_is_an_event_like_any_other(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5)))
    server.answer(WATCH, streams(event("ADDED", thing("big", 6, data={"x": "x" * 5_000_000})), then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, big=6))


async def test_a_line_without_end_is_given_up_and_the_watch_goes_on(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5)))
    server.answer(
        WATCH,
        streams(b"x" * (33 * 2**20), then="hang"),
        streams(event("ADDED", thing("a", 6)), then="hang"),
    )
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(holds(informer, a=6))


async def test_a_refused_list_is_an_unknown_not_an_empty_cluster(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, refuses(403, "Forbidden"), says(listing(5, thing("a", 1))))
    server.answer(WATCH, streams(then="hang"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await eventually(lambda: isinstance(informer.error, Forbidden))
        assert not informer.synced
        await informer.wait_synced()
    assert versions(informer) == {"a": "1"}


async def test_a_server_that_goes_away_is_noticed_and_told_once_each_time(
    tmp_path: Any, unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    faulty = FaultyServer()
    faulty.answer(LIST, says(listing(5, thing("a", 1))))
    faulty.answer(WATCH, streams(event("MODIFIED", thing("a", 6)), then="hang"))
    kubeconfig = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{unused_tcp_port}")
    async with KubeClient(SystemClock(), kubeconfig) as client:
        informer = Informer(client, SPEC)
        async with running(informer.run()):
            async with serving(faulty, port=unused_tcp_port):
                await eventually(lambda: informer.synced and informer.down_for() == 0.0)
            await eventually(lambda: isinstance(informer.error, Unavailable))
            await eventually(lambda: informer.down_for() > 0.3)
            assert versions(informer) == {"a": "6"}
            async with serving(faulty, port=unused_tcp_port):
                await eventually(lambda: informer.down_for() == 0.0 and informer.error is None)
    assert [record.message for record in caplog.records] == ["watch failing", "watch works again"] * 2


async def test_a_watch_that_opens_and_breaks_again_and_again_counts_as_down(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(LIST, says(listing(5)))
    server.answer(WATCH, streams(then="cut"))
    informer = Informer(client, SPEC)
    async with running(informer.run()):
        await informer.wait_synced()
        await eventually(lambda: informer.down_for() > 1.0)
        assert len(server.queries("WATCH")) > 2


async def test_bookmarks_that_stay_away_make_an_open_watch_count_as_down(client: KubeClient) -> None:
    now = asyncio.get_running_loop().time()

    def down_for(silent: float, bookmarked: bool) -> float:
        reflector = Reflector(
            client=client,
            spec=SPEC,
            namespace="",
            cache=Cache({}),
            last_contact=now - silent,
            down_since=None,
            bookmarked=bookmarked,
        )
        return reflector.down_for()

    assert down_for(silent=100.0, bookmarked=True) >= 100.0
    assert down_for(silent=80.0, bookmarked=True) == 0.0
    assert down_for(silent=100.0, bookmarked=False) == 0.0


async def test_namespaces_are_followed_each_by_itself(server: FaultyServer, client: KubeClient) -> None:
    for namespace in ("one", "two"):
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        server.answer(f"GET {path}", says(listing(5, thing("a", 1, namespace), thing("b", 2, namespace))))
        server.answer(f"WATCH {path}", streams(event("DELETED", thing("b", 6, namespace)), then="hang"))
    informer = Informer(client, InformerSpec(resource=CONFIG_MAPS, namespaces=("one", "two")))
    async with running(informer.run()):
        await informer.wait_synced()
        await eventually(lambda: len(informer) == 2)
    assert informer.get("one", "a")
    assert informer.get("two", "a")
    assert informer.get("one", "b") is None
    assert [obj["metadata"]["namespace"] for obj in informer.objects("two")] == ["two"]


async def test_one_object_is_followed_by_its_name(server: FaultyServer, client: KubeClient) -> None:
    path = "/api/v1/namespaces/ns/configmaps"
    server.answer(f"GET {path}", says(listing(5, thing("a", 1))))
    server.answer(f"WATCH {path}", streams(then="hang"))
    selection = Selection(fields="metadata.name=a")
    informer = Informer(client, InformerSpec(resource=CONFIG_MAPS, namespaces=("ns",), selection=selection))
    async with running(informer.run()):
        await informer.wait_synced()
        await eventually(lambda: bool(server.queries("WATCH")))
    assert {query["fieldSelector"] for query in server.queries("GET") + server.queries("WATCH")} == {"metadata.name=a"}


async def test_cluster_scoped_objects_have_no_namespace(server: FaultyServer, client: KubeClient) -> None:
    node = thing("n1", 1)
    del node["metadata"]["namespace"]
    server.answer("GET /api/v1/nodes", says(listing(5, node)))
    server.answer("WATCH /api/v1/nodes", streams(then="hang"))
    informer = Informer(client, InformerSpec(resource=NODES))
    async with running(informer.run()):
        await informer.wait_synced()
    assert informer.get("", "n1")


async def test_only_chosen_fields_are_kept_and_kind_is_put_back(server: FaultyServer, client: KubeClient) -> None:
    full = thing("a", 1, spec={"replicas": 2, "template": {"x": 1}}, status={"phase": "Running"})
    full["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    server.answer(LIST, says(listing(5, full)))
    server.answer(WATCH, streams(then="hang"))
    spec = InformerSpec(resource=CONFIG_MAPS, transform=only("spec.replicas", "status", "spec.absent", "data.x"))
    informer = Informer(client, spec)
    async with running(informer.run()):
        await informer.wait_synced()
    assert informer.get("ns", "a") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        **thing("a", 1, spec={"replicas": 2}, status={"phase": "Running"}),
    }


async def test_an_object_that_is_no_longer_worth_keeping_is_gone(server: FaultyServer, client: KubeClient) -> None:
    server.answer(LIST, says(listing(5, thing("a", 1, keep=True), thing("b", 2, keep=False))))
    server.answer(
        WATCH,
        streams(event("MODIFIED", thing("a", 6, keep=False)), event("ADDED", thing("c", 7, keep=True)), then="hang"),
    )
    spec = InformerSpec(resource=CONFIG_MAPS, transform=lambda obj: obj if obj["keep"] else None)
    informer = Informer(client, spec)
    async with running(informer.run()):
        await eventually(holds(informer, c=7))


async def test_an_index_finds_objects_and_forgets_what_no_longer_fits(server: FaultyServer, client: KubeClient) -> None:
    def labelled(name: str, version: int, *apps: str) -> dict[str, Any]:
        return thing(name, version, apps=list(apps))

    server.answer(LIST, says(listing(5, labelled("a", 1, "x", "y"), labelled("b", 2, "x"))))
    server.answer(
        WATCH,
        streams(event("MODIFIED", labelled("a", 6, "y")), event("DELETED", labelled("b", 7, "x")), then="hang"),
    )
    spec = InformerSpec(resource=CONFIG_MAPS, indexes={"app": lambda obj: obj["apps"]})
    informer = Informer(client, spec)
    found: list[list[str]] = []

    def names(value: str) -> list[str]:
        return [obj["metadata"]["name"] for obj in informer.by_index("app", value)]

    informer.subscribe(lambda old, new: found.append(names("x")))
    async with running(informer.run()):
        await eventually(holds(informer, a=6))
    assert found == [["a"], ["a", "b"], ["b"], []]
    assert names("y") == ["a"]
