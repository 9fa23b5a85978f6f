"""Redirects that a request may follow, and credentials that must never go with it."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from keda_py.net.redirect_rule import NO_REDIRECTS, RedirectRule
from keda_py.net.tls import TlsContexts
from keda_py.sdk.advanced import TlsSettings
from keda_py.testing import shared_context
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server


@pytest.fixture
async def server() -> AsyncIterator[HttpServer]:
    async with http_server() as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[HttpServer]:
    """Return another origin: the same host on another port."""
    async with http_server() as other:
        other.answers["/there"] = "arrived"
        yield other


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with shared_context() as lent:
        yield lent.http


def send_away(server: HttpServer, location: str, status: int = 302) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": location, "Set-Cookie": "session=s3cret; Path=/"})

    server.answers["/here"] = answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_that_may_be_a_credential_reaches_another_origin(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer, status: int
) -> None:
    send_away(server, f"{other.url}/there", status)
    for headers in ({"Authorization": "Bearer s3cret"}, {"X-API-KEY": "s3cret"}, {"X-Vault-Token": "s3cret"}):
        with pytest.raises(httpx.HTTPError, match=f"redirected to {other.url}, another origin") as refused:
            await client.get(f"{server.url}/here", headers=headers)
        assert "s3cret" not in str(refused.value)
    with pytest.raises(httpx.HTTPError, match="the query"):
        await client.get(f"{server.url}/here", params={"api_key": "s3cret"})
    with pytest.raises(httpx.HTTPError, match="the header Authorization"):
        await client.get(f"{server.url.replace('://', '://me:s3cret@')}/here")
    assert not other.asked


@pytest.mark.parametrize("status", [307, 308])
async def test_a_body_is_not_posted_again_to_another_origin(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer, status: int
) -> None:
    send_away(server, f"{other.url}/there", status)
    with pytest.raises(httpx.HTTPError, match="the body"):
        await client.post(f"{server.url}/here", data={"jwt": "s3cret"})
    assert not other.asked


async def test_a_client_certificate_is_not_shown_to_another_origin(tmp_path: Path, other: HttpServer) -> None:
    ours, contexts = Authority(), TlsContexts()
    pair = ours.leaf("keda")
    shows = contexts.get(TlsSettings(ca=ours.cert, cert=pair.cert, key=pair.key), "shop")
    trusts = contexts.get(TlsSettings(ca=ours.cert), "shop")
    async with (
        shared_context() as lent,
        http_server(ours.server_context(tmp_path)) as server,
        http_server(ours.server_context(tmp_path)) as there,
    ):
        there.answers["/there"] = "arrived"
        send_away(server, f"{there.url}/there")
        with pytest.raises(httpx.HTTPError, match="the client certificate"):
            await lent.http.get(f"{server.url}/here", extensions={"ssl": shows})
        assert not there.asked
        answer = await lent.http.get(f"{server.url}/here", extensions={"ssl": trusts})
        assert answer.text == "arrived", "an authority that is trusted is no credential"


async def test_a_context_of_unknown_making_counts_as_one_with_a_certificate(
    tmp_path: Path, other: HttpServer, server: HttpServer, client: httpx.AsyncClient
) -> None:
    send_away(server, f"{other.url}/there")
    stranger = Authority().server_context(tmp_path)
    with pytest.raises(httpx.HTTPError, match="the client certificate"):
        await client.get(f"{server.url}/here", extensions={"ssl": stranger})
    assert not other.asked


@pytest.mark.parametrize("headers", [{}, {"Accept": "text/plain", "User-Agent": "another"}], ids=["none", "usual"])
async def test_a_question_without_credentials_is_followed_to_another_origin(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer, headers: Mapping[str, str]
) -> None:
    send_away(server, f"{other.url}/there")
    answer = await client.get(f"{server.url}/here", headers=headers)
    assert answer.text == "arrived"
    assert [one.status_code for one in answer.history] == [302]


@pytest.mark.parametrize(
    ("public", "request_of"),
    [
        ("query", {"method": "GET", "params": {"query": "up"}}),
        ("headers", {"method": "GET", "headers": {"ce-id": "1"}}),
        ("body", {"method": "POST", "content": b"event"}),
    ],
)
async def test_who_asks_may_say_that_a_part_holds_no_credential(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer, public: Any, request_of: Any
) -> None:
    send_away(server, f"{other.url}/there", 307)
    extensions = {"redirects": RedirectRule(public=frozenset({public}))}
    assert (await client.request(url=f"{server.url}/here", extensions=extensions, **request_of)).text == "arrived"


async def test_authorization_counts_whatever_is_said(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer
) -> None:
    send_away(server, f"{other.url}/there")
    extensions = {"redirects": RedirectRule(public=frozenset({"headers"}))}
    with pytest.raises(httpx.HTTPError, match="the header Authorization"):
        await client.get(f"{server.url}/here", headers={"Authorization": "Bearer s3cret"}, extensions=extensions)
    assert not other.asked


async def test_credentials_stay_with_a_redirect_within_the_origin(
    client: httpx.AsyncClient, server: HttpServer
) -> None:
    for location in ("/there", f"{server.url}/there", f"{server.url.upper().replace('HTTP', 'http')}/there"):
        send_away(server, location)
        server.answers["/there"] = "arrived"
        answer = await client.get(f"{server.url}/here", headers={"Authorization": "Bearer x", "X-API-KEY": "y"})
        assert answer.text == "arrived"
        sent = server.asked[-1].headers
        assert (sent["Authorization"], sent["X-API-KEY"]) == ("Bearer x", "y")


async def test_a_redirect_from_https_to_http_is_never_followed(tmp_path: Path, other: HttpServer) -> None:
    ours = Authority()
    async with shared_context() as lent, http_server(ours.server_context(tmp_path)) as server:
        send_away(server, f"{other.url}/there")
        trusts = lent.tls.get(TlsSettings(ca=ours.cert), "shop")
        with pytest.raises(httpx.HTTPError, match=f"redirected from https to {other.url}"):
            await lent.http.get(f"{server.url}/here", extensions={"ssl": trusts})
    assert not other.asked


async def test_a_question_for_a_secret_follows_no_redirect_at_all(
    client: httpx.AsyncClient, server: HttpServer, other: HttpServer
) -> None:
    for location, origin in (("/there", server.url), (f"{other.url}/there?code=s3cret", other.url)):
        send_away(server, location)
        with pytest.raises(httpx.HTTPError, match=f"redirected to {origin}") as refused:
            await client.get(f"{server.url}/here", extensions={"redirects": NO_REDIRECTS})
        assert "s3cret" not in str(refused.value)
    assert [request.path for request in server.asked] == ["/here", "/here"]
    assert not other.asked


@pytest.mark.parametrize("location", ["http://[", "//me:s3cret@127.0.0.1:1/x", "http:there", "ftp://x/y", "http://:1"])
async def test_a_strange_location_is_an_error_and_gets_no_credential(
    client: httpx.AsyncClient, server: HttpServer, location: str
) -> None:
    send_away(server, location)
    with pytest.raises(httpx.HTTPError) as refused:
        await client.get(f"{server.url}/here", headers={"X-API-KEY": "k3y"})
    assert "s3cret" not in str(refused.value)


async def test_user_and_password_of_an_address_are_sent_as_authorization_and_shown_nowhere(
    client: httpx.AsyncClient, server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.answers["/"] = "arrived"
    answer = await client.get(server.url.replace("://", "://me:p%40ss@"))
    assert answer.text == "arrived"
    assert server.asked[0].headers["Authorization"] == "Basic bWU6cEBzcw=="  # me:p@ss
    assert server.asked[0].headers["Host"] == server.url.removeprefix("http://")
    assert "p%40ss" not in f"{answer.url} {caplog.text}"


async def test_a_header_goes_before_the_users_of_an_address(client: httpx.AsyncClient, server: HttpServer) -> None:
    server.answers["/"] = "arrived"
    await client.get(server.url.replace("://", "://me:s3cret@"), headers={"Authorization": "Bearer t0ken"})
    assert server.asked[0].headers["Authorization"] == "Bearer t0ken"


async def test_cookies_are_kept_for_nobody(client: httpx.AsyncClient, server: HttpServer) -> None:
    send_away(server, "/there")
    server.answers["/there"] = "arrived"
    await client.get(f"{server.url}/here")
    await client.get(f"{server.url}/there")
    assert not [request for request in server.asked if "Cookie" in request.headers]
