"""Answers, refusals and silence of an API server, as a caller of the client sees them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from keda_py.answers.work_context import working
from keda_py.clock import SteppedClock, SystemClock
from keda_py.errors import (
    AlreadyExists,
    ConfigError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    NotLeading,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from keda_py.kube.client import Exchange, KubeClient, PatchKind, RequestLimits
from keda_py.kube.resources import DEPLOYMENTS, PODS, Selection
from keda_py.kube.transport import Request, keep_alive
from tests.kube.faulty_server import (
    FaultyServer,
    hangs,
    listing,
    refuses,
    says,
    serving,
    streams,
    thing,
    write_kubeconfig,
)
from tests.waiting import eventually, turns

SLOW_SECONDS = 0.1
"""Real time of an answer, while virtual time must stand still."""

WEB = DEPLOYMENTS.named("ns", "web")
GET = f"GET {WEB.path}"


async def test_a_write_of_a_leader_is_not_sent_once_it_leads_no_more(server: FaultyServer, client: KubeClient) -> None:
    leads = True
    guarded = client.guarded(lambda: leads)
    server.answer(GET, says(thing("web", 7)))
    server.answer(f"PUT {WEB.path}", says(thing("web", 8)))
    await guarded.update(WEB, thing("web", 7))
    leads = False
    with pytest.raises(NotLeading):
        await guarded.update(WEB, thing("web", 8))
    assert (await guarded.get(WEB))["metadata"]["resourceVersion"] == "7"
    await client.update(WEB, thing("web", 8))
    assert [request.method for request in server.seen] == ["PUT", "GET", "PUT"]


async def test_a_write_that_waits_for_its_turn_is_not_sent_after_leadership_was_lost(
    server: FaultyServer, client: KubeClient
) -> None:
    leads = True

    async def throttles(_: web.Request) -> web.StreamResponse:
        nonlocal leads
        leads = False
        return await refuses(429, "TooManyRequests", **{"Retry-After": "0"})(_)

    server.answer(f"PUT {WEB.path}", throttles, says(thing("web", 8)))
    with pytest.raises(NotLeading):
        await client.guarded(lambda: leads).update(WEB, thing("web", 7))
    assert len(server.seen) == 1


async def test_an_object_comes_as_a_plain_dict(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, says(thing("web", 7, spec={"replicas": 2})))
    assert (await client.get(WEB))["spec"] == {"replicas": 2}


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", KubeError),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (500, "InternalError", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
async def test_a_refusal_is_the_error_of_its_code_with_reason_and_message(
    server: FaultyServer, client: KubeClient, code: int, reason: str, expected: type[KubeError]
) -> None:
    server.answer(GET, refuses(code, reason))
    with pytest.raises(expected, match=reason) as caught:
        await client.get(WEB)
    assert type(caught.value) is expected
    assert (caught.value.status, caught.value.reason) == (code, reason)


async def test_credentials_that_are_not_accepted_are_told_with_the_remedy(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(GET, refuses(401, "Unauthorized"), refuses(401, "Unauthorized"))
    with pytest.raises(Unauthorized, match="^Unauthorized: .* may have expired: log in again, or renew it$"):
        await client.get(WEB)


async def test_a_text_from_a_proxy_is_unavailable_and_quoted_in_short(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, says(b"<html>bad\n gateway " + b"x" * 5000, code=502))
    with pytest.raises(Unavailable, match="HTTP 502: <html>bad gateway xxx") as caught:
        await client.get(WEB)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("body", [b"", b"ok", b"[1]", b'{"kind":'])
async def test_a_good_code_without_a_json_object_is_unavailable(
    server: FaultyServer, client: KubeClient, body: bytes
) -> None:
    server.answer(GET, says(body))
    with pytest.raises(Unavailable, match="not"):
        await client.get(WEB)


async def test_nobody_listening_is_unavailable_without_a_status(tmp_path: Path, unused_tcp_port: int) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{unused_tcp_port}")
    async with KubeClient(SystemClock(), kubeconfig) as client:
        with pytest.raises(Unavailable, match="Connect") as caught:
            await client.get(WEB)
    assert caught.value.status == 0


async def test_a_server_that_never_answers_is_unavailable_after_the_time_out(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(GET, hangs)
    with pytest.raises(Unavailable, match=r"no answer in 0.1 s"):
        await client.send(Request(method="GET", path=WEB.path, timeout=0.1))


async def test_a_write_of_a_leader_has_its_own_bound(server: FaultyServer, kubeconfig: str) -> None:
    server.answer(f"PUT {WEB.path}", hangs)
    async with KubeClient(SystemClock(), kubeconfig, limits=RequestLimits(write_seconds=0.1)) as client:
        with pytest.raises(Unavailable, match=r"no answer in 0.1 s"):
            await client.update(WEB, thing("web", 7))


async def test_a_connection_cut_in_the_answer_is_unavailable(server: FaultyServer, client: KubeClient) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"kind":')
        assert request.transport is not None
        request.transport.abort()
        return response

    server.answer(GET, cut)
    with pytest.raises(Unavailable):
        await client.get(WEB)


async def test_a_request_to_slow_down_is_obeyed(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, refuses(429, "TooManyRequests", **{"Retry-After": "1"}), says(thing("web", 7)))
    started = asyncio.get_running_loop().time()
    assert await client.get(WEB)
    assert asyncio.get_running_loop().time() - started >= 1.0


async def test_a_wait_longer_than_the_time_out_is_told_at_once(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, refuses(429, "TooManyRequests", **{"Retry-After": "20"}))
    with pytest.raises(TooManyRequests) as caught:
        await client.send(Request(method="GET", path=WEB.path, timeout=5.0))
    assert caught.value.retry_after == 20.0
    assert len(server.seen) == 1


async def test_a_server_that_only_says_slow_down_is_not_asked_for_ever(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer(GET, refuses(429, "TooManyRequests", **{"Retry-After": "0"}))
    with pytest.raises(TooManyRequests):
        await client.get(WEB)
    assert len(server.seen) == 5


async def test_we_say_who_we_are(server: FaultyServer, client: KubeClient) -> None:
    server.answer(GET, says(thing("web", 7)))
    await client.get(WEB)
    headers = server.seen[0].headers
    assert headers["User-Agent"].startswith("keda-py/")
    assert headers["Authorization"] == "Bearer secret"


async def test_a_long_list_comes_in_pages_and_as_a_whole(server: FaultyServer, client: KubeClient) -> None:
    pages = listing(5, thing("a", 1), thing("b", 2), more="next"), listing(5, thing("c", 3))
    server.answer("GET /api/v1/namespaces/ns/pods", *map(says, pages))
    pods = await client.list(PODS, "ns", Selection(labels="app=web"))
    assert [pod["metadata"]["name"] for pod in pods] == ["a", "b", "c"]
    assert server.queries("GET") == [
        {"limit": "500", "labelSelector": "app=web"},
        {"limit": "500", "labelSelector": "app=web", "continue": "next"},
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
async def test_a_name_that_would_reach_another_path_is_refused_here(client: KubeClient, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name"):
        await client.delete(PODS.named("ns", name))


async def test_a_strange_name_stays_in_its_segment(server: FaultyServer, client: KubeClient) -> None:
    with pytest.raises(NotFound):
        await client.get(PODS.named("ns", "web?watch=true#x"))
    assert server.seen[0].rel_url.raw_path == "/api/v1/namespaces/ns/pods/web%3Fwatch%3Dtrue%23x"


async def test_a_delete_can_insist_on_the_object_that_was_seen(server: FaultyServer, client: KubeClient) -> None:
    bodies = []

    async def deleted(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.json_response({"kind": "Status", "status": "Success"})

    server.answer(f"DELETE {WEB.path}", deleted)
    await client.delete(WEB, uid="u1")
    assert bodies[0]["preconditions"] == {"uid": "u1"}
    assert bodies[0]["propagationPolicy"] == "Background"


async def test_a_patch_says_which_kind_it_is(server: FaultyServer, client: KubeClient) -> None:
    server.answer(f"PATCH {WEB.path}/status", says(thing("web", 8)))
    await client.patch(DEPLOYMENTS.named("ns", "web", "status"), {"status": {}}, PatchKind.STRATEGIC)
    assert server.seen[0].content_type == "application/strategic-merge-patch+json"


async def test_every_exchange_is_counted_with_verb_resource_and_code(server: FaultyServer, kubeconfig: str) -> None:
    exchanges: list[Exchange] = []
    async with KubeClient(SystemClock(), kubeconfig, observe=exchanges.append) as client:
        server.answer(GET, refuses(429, "TooManyRequests", **{"Retry-After": "0"}), says(thing("web", 7)), hangs)
        await client.get(WEB)
        with pytest.raises(Unavailable):
            await client.send(Request(method="GET", path=WEB.path, timeout=0.05, resource="deployments"))
    seen = [(exchange.verb, exchange.resource, exchange.code) for exchange in exchanges]
    assert seen == [("GET", "deployments", code) for code in (429, 200, 0)]


async def test_virtual_time_stands_still_while_a_request_is_open(server: FaultyServer, kubeconfig: str) -> None:
    order: list[str] = []

    async def slow(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(SLOW_SECONDS)
        order.append("answered")
        return web.json_response(thing("web", 7))

    server.answer(GET, slow)
    clock = SteppedClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with KubeClient(clock, kubeconfig) as client, asyncio.TaskGroup() as group:
        group.create_task(client.get(WEB))
        clock.call_later(10.0, lambda: order.append("ten seconds later"))
        await clock.advance(60.0)
    assert order == ["answered", "ten seconds later"]


async def test_a_client_survives_a_restart_of_the_server(tmp_path: Path, unused_tcp_port: int) -> None:
    faulty = FaultyServer()
    faulty.answer(GET, says(thing("web", 7)))
    kubeconfig = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{unused_tcp_port}")
    async with KubeClient(SystemClock(), kubeconfig) as client:
        for _ in range(2):
            async with serving(faulty, port=unused_tcp_port):
                assert await client.get(WEB)
            with pytest.raises(Unavailable):
                await client.get(WEB)


async def test_the_kernel_probes_a_connection_on_which_silence_is_normal(
    server: FaultyServer, client: KubeClient
) -> None:
    server.answer("WATCH /api/v1/pods", streams(then="hang"))
    request = Request(method="GET", path="/api/v1/pods", query={"watch": "true"})
    async with client.stream(request, quiet_seconds=5.0) as response:
        keep_alive(response)
        assert response.connection is not None
        assert response.connection.transport is not None
        sock = response.connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


async def test_a_silent_stream_ends_as_unavailable(server: FaultyServer, client: KubeClient) -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        return await hangs(request)

    server.answer("WATCH /api/v1/pods", silent)
    request = Request(method="GET", path="/api/v1/pods", query={"watch": "true"})
    with pytest.raises(Unavailable, match="no answer in time"):
        async with client.stream(request, quiet_seconds=0.1) as response:
            await response.content.read()
    await eventually(lambda: len(server.seen) == 1)


@asynccontextmanager
async def asking(client: KubeClient, namespace: str, count: int) -> AsyncIterator[None]:
    """Keep this many requests for a namespace under way until the block ends."""

    async def ask() -> None:
        with working(namespace):
            await client.get(WEB)

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask()) for _ in range(count)]
        yield
        for one in asked:
            one.cancel()


async def test_requests_for_a_namespace_that_has_its_share_wait_for_its_own_and_nobody_else(
    server: FaultyServer, tmp_path: Path
) -> None:
    server.answer(GET, hangs)
    free = DEPLOYMENTS.named("ns", "free")
    server.answer(f"GET {free.path}", says(thing("free", 7)))
    kubeconfig = write_kubeconfig(tmp_path / "shared", server.url)

    async with (
        KubeClient(SystemClock(), kubeconfig, limits=RequestLimits(share=2)) as client,
        asking(client, "hostile", 10),
    ):
        await eventually(lambda: len(server.seen) == 2)
        for namespace in ("shop", ""):
            with working(namespace):
                assert (await client.get(free))["metadata"]["name"] == "free"
        with (
            working("hostile"),
            pytest.raises(Unavailable, match="no answer in|too many for this namespace at once"),
        ):
            await client.send(Request(method="GET", path=free.path, timeout=0.05))
        assert len(server.seen) == 2 + 2


async def test_a_namespace_is_crowded_while_as_many_of_its_requests_wait_as_it_may_have_under_way(
    server: FaultyServer, tmp_path: Path
) -> None:
    server.answer(GET, hangs)
    kubeconfig = write_kubeconfig(tmp_path / "shared", server.url)
    async with (
        KubeClient(SystemClock(), kubeconfig, limits=RequestLimits(share=2)) as client,
        asking(client, "shop", 3),
    ):
        await eventually(lambda: len(server.seen) == 2)
        await turns(20)
        assert not client.is_crowded("shop")
        async with asking(client, "shop", 1):
            await eventually(lambda: client.is_crowded("shop"))
            assert client.guarded(lambda: True).is_crowded("shop")
            assert not client.is_crowded("office")
        await eventually(lambda: not client.is_crowded("shop"))


@pytest.mark.parametrize(
    ("message", "helps"),
    [
        (
            'deployments.apps "web" is forbidden: User "keda" cannot get resource "deployments" in API group "apps"',
            True,
        ),
        ('deployments.apps "web" is forbidden: exceeded quota: pods, used: 4, limited: 4', False),
        ('admission webhook "policy.example.com" denied the request: images must be signed', False),
    ],
    ids=["a right is missing", "a quota", "a policy"],
)
async def test_a_missing_right_is_told_with_what_gives_it_and_no_other_refusal_is(
    message: str, helps: bool, server: FaultyServer, tmp_path: Path
) -> None:
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
    server.answer(GET, says(status, 403))
    kubeconfig = write_kubeconfig(tmp_path / "own", server.url)
    async with KubeClient(SystemClock(), kubeconfig, remedy=lambda resource: f"ask for {resource}") as client:
        with pytest.raises(Forbidden) as refused:
            await client.get(WEB)
    assert str(refused.value) == (f"{message}; ask for deployments" if helps else message)
