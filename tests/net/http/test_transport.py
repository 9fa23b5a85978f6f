"""The shared HTTP client against real servers."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest
from aiohttp import web
from yarl import URL

from keda_py.answers.bounds import AnswerBounds
from keda_py.answers.connections import Connections
from keda_py.answers.work_context import working
from keda_py.net.http import HttpClientSpec, Proxies
from keda_py.net.tls import TlsContexts
from keda_py.sdk.advanced import TlsSettings
from keda_py.testing import A_SATURDAY, FakeClock, shared_context
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.waiting import eventually, forever

OVERLAP_SECONDS = 0.01
"""So long each answer takes that requests at once are seen together."""
DRIP_SECONDS = 0.05
"""Between two bytes of an answer that takes longer than it may."""
SLOW_SECONDS = 0.1
"""Real time of an answer, while virtual time must stand still."""


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with shared_context() as lent:
        yield lent.http


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[str]:
    """Send these bytes to each client that has sent a request, and close."""

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_answer_keeps_status_headers_and_body(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def teapot(request: web.Request) -> web.Response:
        return web.Response(status=418, text="short", headers={"X-Kind": "stout"})

    server.answers["/pot"] = teapot
    answer = await client.get(f"{server.url}/pot", headers={"X-Own": "1"})
    assert (answer.status_code, answer.text, answer.headers["x-kind"]) == (418, "short", "stout")
    sent = server.asked[0].headers
    assert (sent["X-Own"], sent["User-Agent"], sent["Accept-Encoding"]) == ("1", "keda-py", "gzip, deflate")


async def test_escaped_slashes_in_a_path_and_a_query_stay_as_they_are(
    client: httpx.AsyncClient, server: HttpServer
) -> None:
    await client.get(f"{server.url}/queues/%2F/jobs?query=a%2Bb%26c")
    assert server.asked[0].raw_path == "/queues/%2F/jobs?query=a%2Bb%26c"


async def test_a_body_is_sent(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    server.answers["/echo"] = echo
    assert (await client.post(f"{server.url}/echo", json={"a": 1})).json() == {"a": 1}


async def test_packed_answers_are_unpacked(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def packed(request: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b"plain"), headers={"Content-Encoding": "gzip"})

    server.answers["/"] = packed
    assert (await client.get(server.url)).text == "plain"


async def test_an_answer_that_unpacks_to_too_much_is_refused(server: HttpServer) -> None:
    async def bomb(request: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(bytes(4_000_000)), headers={"Content-Encoding": "gzip"})

    server.answers["/"] = bomb
    async with shared_context(http=HttpClientSpec(answers=AnswerBounds(100_000))) as lent:
        with pytest.raises(httpx.ReadError, match="over 100000 bytes"):
            await lent.http.get(server.url)


async def test_an_answer_that_says_it_is_too_long_is_not_read_and_the_setting_is_named() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"
    async with raw_server(head) as url, shared_context() as lent:  # the server never sends the body
        with pytest.raises(httpx.ReadError, match="over 1048576 bytes.* set KEDA_HTTP_MAX_RESPONSE_BYTES higher"):
            await lent.http.get(url)


@asynccontextmanager
async def slow_server(head: bytes, body: bytes = b"") -> AsyncIterator[str]:
    """Send the head and a part of the body, then nothing until the client closes."""

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n" + body)
            await reader.read()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 1048576"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("head", "body"),
    [(SIZED, b""), (CHUNKED, b"100000\r\n" + bytes(200_000))],
    ids=["of known length", "of unknown length"],
)
async def test_slow_large_answers_to_one_tenant_leave_room_for_another(
    server: HttpServer, head: bytes, body: bytes
) -> None:
    async def large(request: web.Request) -> web.Response:
        return web.Response(body=bytes(1_048_576))

    server.answers["/"] = large
    spec = HttpClientSpec(connections=Connections(per_host=200))
    async with slow_server(head, body) as url, shared_context(http=spec) as lent, asyncio.TaskGroup() as tasks:

        async def ask(seconds: float) -> str:
            with working("hostile"), pytest.raises(httpx.HTTPError) as refused:
                await lent.http.get(url, timeout=seconds)
            return str(refused.value)

        hostile = [tasks.create_task(ask(60)) for _ in range(60)]
        await eventually(lambda: lent.answers.ledger.held >= 20 * 2**20)
        assert (
            await ask(0.3)
            == "no room for the answer in time, too many large answers are on their way to hostile at once"
        )
        with working("shop"):
            assert len((await lent.http.get(server.url)).content) == 1_048_576
        for one in hostile:
            one.cancel()
    assert lent.answers.ledger.held == 0


async def test_when_too_many_answers_to_a_tenant_wait_for_room_the_next_is_refused_at_once() -> None:
    async with (
        slow_server(SIZED) as url,
        shared_context(http=HttpClientSpec(connections=Connections(per_host=400))) as lent,
    ):
        async with asyncio.TaskGroup() as tasks:
            refused = asyncio.Event()

            async def ask() -> None:
                with pytest.raises(httpx.ReadError, match="^no room for the answer, too many large answers"):
                    await lent.http.get(url, timeout=60)
                refused.set()

            hostile = [tasks.create_task(ask()) for _ in range(300)]
            await refused.wait()
            for one in hostile:
                one.cancel()
        assert lent.answers.ledger.held == 0


async def test_an_endless_redirect_ends(client: httpx.AsyncClient, server: HttpServer) -> None:
    server.answers["/loop"] = lambda request: _redirect("/loop")
    with pytest.raises(httpx.TooManyRedirects):
        await client.get(f"{server.url}/loop")
    assert len(server.asked) == 11


async def _redirect(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


async def test_connections_are_kept_between_requests(client: httpx.AsyncClient, server: HttpServer) -> None:
    server.answers["/"] = "x"
    for _ in range(3):
        await client.get(server.url)
    assert len({request.transport for request in server.asked}) == 1


async def test_keep_alive_can_be_switched_off(server: HttpServer) -> None:
    server.answers["/"] = "x"
    async with shared_context(http=HttpClientSpec(keep_alive=False)) as lent:
        await lent.http.get(server.url)
        await lent.http.get(server.url)
    assert server.asked[0].transport is not server.asked[1].transport


async def test_no_more_connections_to_one_host_than_allowed(server: HttpServer) -> None:
    at_once, most = 0, 0

    async def count(request: web.Request) -> web.Response:
        nonlocal at_once, most
        at_once, most = at_once + 1, max(most, at_once + 1)
        await asyncio.sleep(OVERLAP_SECONDS)
        at_once -= 1
        return web.Response(text="x")

    server.answers["/"] = count
    async with (
        shared_context(http=HttpClientSpec(connections=Connections(per_host=2))) as lent,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(8):
            tasks.create_task(lent.http.get(server.url))
    assert most == 2


async def test_nobody_listens(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ConnectError, match=r"(?i)refused|connect call failed"):
        await client.get("http://127.0.0.1:1/?token=s3cret")


async def test_an_unknown_host_is_a_connect_error(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ConnectError):
        await client.get("http://no-such-host.invalid/")


async def test_a_server_that_does_not_begin_to_answer(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def hang(request: web.Request) -> web.Response:
        await forever()
        return web.Response()

    server.answers["/"] = hang
    with pytest.raises(httpx.ReadTimeout):
        await client.get(server.url, timeout=0.1)


async def test_a_server_that_drips_is_given_up_as_a_whole(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(100):
            await answer.write(b"x")
            await asyncio.sleep(DRIP_SECONDS)
        return answer

    server.answers["/"] = drip
    with pytest.raises(httpx.ReadTimeout):
        await client.get(server.url, timeout=0.3)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx.RemoteProtocolError),
        (b"nonsense\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", httpx.RemoteProtocolError),
    ],
    ids=["hangs up", "is no HTTP", "breaks off"],
)
async def test_a_server_that(client: httpx.AsyncClient, answer: bytes, error: type[httpx.HTTPError]) -> None:
    async with raw_server(answer) as url:
        with pytest.raises(error):
            await client.get(url)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "127.0.0.1:80/x", "http:///x"])
async def test_an_address_that_is_not_http(client: httpx.AsyncClient, url: str) -> None:
    with pytest.raises((httpx.UnsupportedProtocol, httpx.InvalidURL)):
        await client.get(url)


async def test_a_header_with_a_line_break_is_refused(client: httpx.AsyncClient, server: HttpServer) -> None:
    with pytest.raises(httpx.LocalProtocolError) as refused:
        await client.get(server.url, headers={"Authorization": "Bearer s3cret\r\nX: y"})
    assert "s3cret" not in str(refused.value)
    assert server.asked == []


async def test_the_trust_is_chosen_per_request(client: httpx.AsyncClient, tmp_path: Path) -> None:
    ours = Authority()
    tls = TlsContexts()
    async with http_server(ours.server_context(tmp_path)) as server:
        server.answers["/"] = "safe"
        trusting = tls.get(TlsSettings(ca=ours.cert), "shop")
        assert (await client.get(server.url, extensions={"ssl": trusting})).text == "safe"
        careless = tls.get(TlsSettings(unsafe=True), "shop")
        assert (await client.get(server.url, extensions={"ssl": careless})).text == "safe"
        strangers = tls.get(TlsSettings(ca=Authority().cert), "shop")
        for extensions in ({}, {"ssl": strangers}):
            with pytest.raises(httpx.ConnectError, match="TLS"):
                await client.get(server.url, extensions=extensions)


def test_authorities_without_key_identifiers_are_good_enough_whatever_the_python() -> None:
    assert not TlsContexts().get(TlsSettings(), "shop").verify_flags & ssl.VERIFY_X509_STRICT


async def test_a_client_certificate_is_shown(client: httpx.AsyncClient, tmp_path: Path) -> None:
    ours, tls = Authority(), TlsContexts()
    pair = ours.leaf("keda", password="hidden")
    async with http_server(ours.server_context(tmp_path, wants_client=True)) as server:
        server.answers["/"] = "hello keda"
        own = tls.get(TlsSettings(ca=ours.cert, cert=pair.cert, key=pair.key, key_password="hidden"), "shop")
        assert (await client.get(server.url, extensions={"ssl": own})).text == "hello keda"
        with pytest.raises(httpx.HTTPError):
            await client.get(server.url, extensions={"ssl": tls.get(TlsSettings(ca=ours.cert), "shop")})


async def test_a_proxy_is_used(server: HttpServer) -> None:
    async def forward(request: web.Request) -> web.Response:
        return web.Response(text=f"proxied {request.raw_path}")

    server.answers["/x"] = forward
    proxies = Proxies(http=URL(server.url))
    async with shared_context(http=HttpClientSpec(proxies=proxies)) as lent:
        assert (await lent.http.get("http://somewhere.example/x")).text == "proxied http://somewhere.example/x"


async def test_a_proxy_that_is_not_there_is_a_proxy_error() -> None:
    async with shared_context(http=HttpClientSpec(proxies=Proxies(http=URL("http://127.0.0.1:1")))) as lent:
        with pytest.raises(httpx.ProxyError):
            await lent.http.get("http://somewhere.example/x")


async def test_virtual_time_stands_still_while_a_request_is_under_way(server: HttpServer) -> None:
    clock = FakeClock(A_SATURDAY)
    answered_at: list[float] = []

    async def slow(request: web.Request) -> web.Response:
        await asyncio.sleep(SLOW_SECONDS)
        return web.Response(text="x")

    server.answers["/"] = slow
    async with shared_context(clock=clock) as lent, asyncio.TaskGroup() as tasks:

        async def ask() -> None:
            await lent.http.get(server.url)
            answered_at.append(clock.monotonic())

        clock.call_later(60, lambda: None)
        tasks.create_task(ask())
        await asyncio.sleep(0)
        await clock.advance(60)
    assert answered_at == [0.0]


def test_no_server_chooses_the_field_in_which_keys_are_exchanged() -> None:
    """A prime of 10 000 bits takes 0.9 s of the event loop in each handshake; OpenSSL allows it, Go has no such
    ciphers.
    """
    contexts = TlsContexts()
    for context in (contexts.get(TlsSettings(unsafe=True), "shop"), contexts.blind()):
        exchanges = {cipher["kea"] for cipher in context.get_ciphers()}
        assert "kx-dhe" not in exchanges
        assert "kx-ecdhe" in exchanges
        assert context.security_level == ssl.create_default_context().security_level
