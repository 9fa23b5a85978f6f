"""Requests that are built without httpx's merging are those that httpx would build."""

from typing import Any

import httpx
import pytest

from keda_py.net.http.requests import PlainRequest, wire_headers
from keda_py.testing import shared_context
from tests.http_server import http_server

URL = httpx.URL("http://ann.shop:8080/jobs?state=open")
USUAL = {"Accept": "text/plain", "X-Api-Key": "s3cret"}

PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("GET", {}),
    "headers": ("GET", {"headers": USUAL}),
    "a body": ("post", {"content": b"{}", "headers": {"Content-Type": "application/json"}}),
    "a POST without a body": ("POST", {}),
    "a time-out": ("GET", {"timeout": 2.5}),
    "the client's time-out": ("GET", {"timeout": httpx.USE_CLIENT_DEFAULT, "params": None}),
    "a header that the client sets, too": ("GET", {"headers": {"user-agent": "ours"}}),
    "what goes along": ("PUT", {"content": b"x", "extensions": {"redirects": "none"}, "timeout": 1}),
}
MERGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a form": ("POST", {"data": {"a": "b"}}),
    "JSON": ("POST", {"json": {}}),
    "parameters": ("GET", {"params": {"a": "b"}}),
    "text": ("POST", {"content": "text"}),
    "pairs": ("GET", {"headers": [("a", "b"), ("a", "c")]}),
    "one name twice": ("GET", {"headers": {"A": "b", "a": "c"}}),
    "a host of its own": ("GET", {"headers": {"Host": "other"}}),
    "a length of its own": ("POST", {"content": b"x", "headers": {"content-length": "1"}}),
    "no time-out": ("GET", {"timeout": None}),
    "four time-outs": ("GET", {"timeout": httpx.Timeout(1, read=2)}),
}


def _said(request: httpx.Request) -> tuple[object, ...]:
    headers = sorted((name.lower(), value) for name, value in wire_headers(request))
    return request.method, str(request.url), headers, request.content, request.extensions


@pytest.mark.parametrize("case", [*PLAIN, *MERGED])
async def test_a_request_is_the_one_that_httpx_builds(case: str) -> None:
    method, given = {**PLAIN, **MERGED}[case]
    async with shared_context() as lent:
        ours = lent.http.build_request(method, URL, **given)
        theirs = httpx.AsyncClient.__bases__[0].build_request(lent.http, method, URL, **given)  # type: ignore[attr-defined]
    assert _said(ours) == _said(theirs)
    assert dict(ours.headers) == dict(theirs.headers)
    assert isinstance(ours, PlainRequest) is (case in PLAIN)


async def test_a_header_that_is_changed_afterwards_goes_to_the_server() -> None:
    async with http_server() as server, shared_context() as lent:
        server.answers["/"] = "fine"
        request = lent.http.build_request("GET", httpx.URL(f"{server.url}/"), headers=USUAL)
        request.headers["X-Api-Key"] = "another"
        await lent.http.send(request)
    assert server.asked[0].headers["X-Api-Key"] == "another"


async def test_a_request_that_is_sent_again_says_what_it_says_now() -> None:
    async with http_server() as server, shared_context() as lent:
        server.answers["/"] = "fine"
        request = lent.http.build_request("POST", httpx.URL(f"{server.url}/"), headers=USUAL, content=b"x")
        await lent.http.send(request)
        await lent.http.send(request)
        request.headers["X-Api-Key"] = "another"
        await lent.http.send(request)
        request.headers = httpx.Headers({**request.headers, "x-api-key": "third"})
        await lent.http.send(request)
    keys = [asked.headers["X-Api-Key"] for asked in server.asked]
    assert keys == ["s3cret", "s3cret", "another", "third"]
    assert server.asked[0].raw_headers == server.asked[1].raw_headers


async def test_an_answer_has_all_that_one_of_httpx_has() -> None:
    async with http_server() as server, shared_context() as lent:
        server.answers["/"] = "fine"
        answer = await lent.http.get(f"{server.url}/")
    usual = httpx.Response(200, stream=httpx.ByteStream(b""))
    missing = [name for name in vars(usual) if not hasattr(answer, name)]
    assert (missing, answer.history, answer.next_request, answer.is_closed) == ([], [], None, True)
    assert (answer.text, answer.reason_phrase, answer.http_version) == ("fine", "OK", "HTTP/1.1")
    assert answer.elapsed.total_seconds() > 0
