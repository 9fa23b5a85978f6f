"""What goes to the wire, and over which connection: exchanges against servers that look at bytes."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import httpx
import pytest
from aiohttp import web
from yarl import URL

from keda_py.net.http import HttpClientSpec, Proxies
from keda_py.net.tls import TlsContexts
from keda_py.sdk.advanced import TlsSettings
from keda_py.testing import shared_context
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOGIN = f"Basic {base64.b64encode(b'ann:s3cret').decode()}"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with shared_context() as lent:
        yield lent.http


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[str]:
    async def closed_at_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(asyncio.IncompleteReadError):  # the client has closed
            await serve(reader, writer)

    async with await asyncio.start_server(closed_at_the_end, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("name", ["Content-Length ", "X Y", "X:Y", "", "X\r\nContent-Length"])
async def test_a_header_whose_name_http_does_not_allow_is_refused(
    client: httpx.AsyncClient, server: HttpServer, name: str
) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="a header or the address has a forbidden character"):
        await client.post(server.url, headers={name: "5"}, content=b"body")
    assert server.asked == []


async def test_a_length_that_a_header_claims_is_not_sent(client: httpx.AsyncClient, server: HttpServer) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    server.answers["/"] = echo
    claims = {"Content-Length": "1", "Transfer-Encoding": "chunked"}
    assert (await client.post(server.url, headers=claims, content=b"body")).text == "body"
    assert (await client.post(server.url, headers=claims)).text == ""
    assert (await client.get(server.url, headers=claims)).text == ""
    assert [request.headers.get("Content-Length") for request in server.asked] == ["4", "0", None]
    assert all("Transfer-Encoding" not in request.headers for request in server.asked)


async def test_bytes_of_a_header_are_sent_as_they_are(client: httpx.AsyncClient) -> None:
    heard = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)
        await writer.drain()

    async with listening(serve) as url:
        assert (await client.get(url, headers=[(b"X-Name", "J\u00fcrgen".encode())])).text == "ok"
    assert "X-Name: J\u00fcrgen\r\n".encode() in heard[0]


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
async def test_a_kept_connection_that_ends_unanswered_is_replaced_for_what_may_be_asked_twice(
    client: httpx.AsyncClient, method: str
) -> None:
    connections = 0

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")

    async with listening(answer_once) as url:
        assert (await client.request(method, url)).text == "ok"
        if method == "POST":
            with pytest.raises(httpx.RemoteProtocolError, match="closed the connection too early"):
                await client.request(method, url)
        else:
            assert (await client.request(method, url)).text == "ok"
    assert connections == (1 if method == "POST" else 2)


async def test_the_answer_to_a_request_that_was_cancelled_is_not_taken_for_that_of_the_next(
    client: httpx.AsyncClient,
) -> None:
    asked, connections = asyncio.Event(), 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while b"/late" not in await reader.readuntil(b"\r\n\r\n"):
            writer.write(OK)
        asked.set()
        await reader.read()

    async with listening(serve) as url:
        assert (await client.get(url)).text == "ok"
        async with asyncio.TaskGroup() as tasks:
            late = tasks.create_task(client.get(f"{url}/late"))
            await asked.wait()
            late.cancel()
        assert connections == 1
        assert (await client.get(url)).text == "ok"
        assert connections == 2


async def test_a_connection_that_nobody_needs_is_closed_after_its_time_and_the_others_at_the_end() -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        writer.write(OK)
        await reader.read()
        ended.put_nowait(path)

    async with asyncio.timeout(10), listening(serve) as url:
        async with shared_context(http=HttpClientSpec(idle_seconds=0.01)) as lent:
            for path in ("/first", "/second"):
                assert (await lent.http.get(f"{url}{path}")).text == "ok"
                assert await ended.get() == path
        async with shared_context() as lent:
            assert (await lent.http.get(f"{url}/last")).text == "ok"
        assert await ended.get() == "/last"


async def test_of_idle_connections_the_last_one_is_used_again(client: httpx.AsyncClient) -> None:
    used, both = [], asyncio.Barrier(3)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split()[1]
            used.append((path, writer))
            if path != b"/third":
                await both.wait()
            if path == b"/second":
                await answered.wait()
            writer.write(OK)

    answered = asyncio.Event()
    async with listening(serve) as url, asyncio.TaskGroup() as tasks:
        first, second = (tasks.create_task(client.get(f"{url}/{path}")) for path in ("first", "second"))
        await both.wait()
        await first
        answered.set()
        await second
        assert (await client.get(f"{url}/third")).text == "ok"
    by_path = dict(used)
    assert by_path[b"/third"] is by_path[b"/second"]


async def test_an_answer_to_head_has_a_length_and_no_body(client: httpx.AsyncClient, server: HttpServer) -> None:
    server.answers["/"] = "long"
    answer = await client.head(server.url)
    assert (answer.status_code, answer.content) == (200, b"")
    assert (await client.get(server.url)).text == "long"


async def test_a_stream_is_read_as_it_comes(client: httpx.AsyncClient) -> None:
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await go_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await writer.drain()

    async with listening(serve) as url, client.stream("GET", url) as answer:
        pieces = answer.aiter_bytes()
        assert await anext(pieces) == b"one"
        go_on.set()
        assert b"".join([piece async for piece in pieces]) == b"two"


async def test_an_answer_says_how_long_it_took_and_is_read_once(client: httpx.AsyncClient, server: HttpServer) -> None:
    server.answers["/"] = "x"
    answer = await client.get(server.url)
    assert answer.elapsed.total_seconds() > 0
    assert (await answer.aread(), answer.is_closed, answer.is_stream_consumed) == (b"x", True, True)


async def test_a_proxy_gets_its_login_with_each_request_over_a_kept_connection(server: HttpServer) -> None:
    server.answers["/x"] = "x"
    proxies = Proxies(http=URL(server.url).with_user("ann").with_password("s3cret"))
    async with shared_context(http=HttpClientSpec(proxies=proxies)) as lent:
        for _ in range(2):
            assert (await lent.http.get("http://somewhere.example/x")).text == "x"
    assert [request.headers["Proxy-Authorization"] for request in server.asked] == [LOGIN, LOGIN]
    assert len({request.transport for request in server.asked}) == 1


async def test_a_proxy_that_tunnels_gets_the_login_and_the_server_does_not(tmp_path: Path) -> None:
    tunnels = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tunnels.append(await reader.readuntil(b"\r\n\r\n"))
        ours, theirs = await asyncio.open_connection("127.0.0.1", behind.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with closing(theirs):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, theirs))
                tasks.create_task(_pump(ours, writer))

    authority = Authority()
    served = authority.server_context(tmp_path, pair=authority.leaf("server", hosts=["somewhere.example"]))
    async with http_server(served) as behind, listening(tunnel) as proxy:
        behind.answers["/x"] = "safe"
        trusting = TlsContexts().get(TlsSettings(ca=authority.cert), "shop")
        proxies = Proxies(https=URL(proxy).with_user("ann").with_password("s3cret"))
        async with shared_context(http=HttpClientSpec(proxies=proxies)) as lent:
            for _ in range(2):
                answer = await lent.http.get("https://somewhere.example/x", extensions={"ssl": trusting})
                assert answer.text == "safe"
    assert len(tunnels) == 1
    assert f"Proxy-Authorization: {LOGIN}".encode() in tunnels[0]
    assert all("Proxy-Authorization" not in request.headers for request in behind.asked)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()
