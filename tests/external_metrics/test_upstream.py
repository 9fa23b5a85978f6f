"""Upstream adapter over TLS for metrics that are not ours, with every kind of answer."""

import asyncio
import gzip
import logging
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from keda_py.errors import Unavailable
from keda_py.external_metrics.authorised_request import ApiResponse
from keda_py.external_metrics.upstream import AT_ONCE, CONNECTIONS, LARGEST_ANSWER, Peer, Upstream
from keda_py.serving.statuses import StatusError
from tests.certificates import Authority
from tests.http_server import HttpServer, http_server
from tests.waiting import connections_closed, eventually, forever

DRIP_SECONDS = 0.1
"""Between two bytes of an answer that never ends; far less than the adapter may take."""

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/nginx.net.requests"
ITEM = {"metricName": "nginx.net.requests", "metricLabels": {"app": "web"}, "timestamp": "x", "value": "12500m"}
LIST = {
    "kind": "ExternalMetricValueList",
    "apiVersion": "external.metrics.k8s.io/v1beta1",
    "metadata": {},
    "items": [ITEM],
}
STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no", "code": 404}


@dataclass
class Adapter:
    """Upstream adapter, with our server in front of it."""

    server: HttpServer
    trust: ssl.SSLContext
    stack: AsyncExitStack
    token: str = "Bearer one"
    upstream: Upstream = field(init=False)

    async def authorization(self) -> str:
        if not self.token:
            raise Unavailable("credentials could not be refreshed: no such file")
        return self.token

    def connect(self, *, seconds: float, url: str = "") -> None:
        peer = Peer(
            url=url or self.server.url, authorization=self.authorization, trust=lambda: self.trust, seconds=seconds
        )
        self.upstream = Upstream(peer)
        self.stack.push_async_callback(self.upstream.aclose)

    def says(self, body: object, status: int = 200, **headers: str) -> None:
        """Answer all further requests like this."""
        data = body if isinstance(body, bytes) else orjson.dumps(body)

        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=data, status=status, headers=headers, content_type="application/json")

        self.server.answers[PATH] = answer

    async def ask(self, metric: str = "nginx.net.requests", selector: str = "app=web") -> ApiResponse:
        return await self.upstream.ask("shop", metric, selector)

    async def refusal(self) -> StatusError:
        with pytest.raises(StatusError) as caught:
            await self.ask()
        return caught.value


@pytest.fixture
async def adapter(tmp_path: Path) -> AsyncIterator[Adapter]:
    authority = Authority()
    trust = ssl.create_default_context(cadata=authority.cert)
    async with http_server(authority.server_context(tmp_path)) as server:
        async with AsyncExitStack() as stack:
            adapter = Adapter(server, trust, stack)
            adapter.connect(seconds=0.5)
            adapter.says(LIST)
            yield adapter
        await connections_closed()


async def test_the_answer_is_passed_back_byte_for_byte(adapter):
    body = orjson.dumps(LIST, option=orjson.OPT_INDENT_2) + b"\n"
    adapter.says(body)
    answer = await adapter.ask()
    assert (answer.status, answer.content_type, answer.body) == (200, "application/json", body)


async def test_the_upstream_hears_of_metric_and_selector_and_our_token(adapter):
    adapter.server.answers["/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/a b?c#d&e"] = orjson.dumps(
        LIST
    ).decode()
    await adapter.ask("a b?c#d&e", "team in (ä,b),app!=x&y")
    asked = adapter.server.asked[0]
    assert dict(asked.query) == {"labelSelector": "team in (ä,b),app!=x&y"}
    assert asked.headers["Authorization"] == "Bearer one"
    assert {name.lower() for name in asked.headers} == {
        "host",
        "accept",
        "accept-encoding",
        "authorization",
        "user-agent",
        "via",
    }


async def test_a_question_without_a_selector_stays_one(adapter):
    await adapter.ask(selector="")
    assert adapter.server.asked[0].query_string == ""


async def test_a_rotated_token_is_used_at_the_next_question(adapter):
    await adapter.ask()
    adapter.token = "Bearer two"
    await adapter.ask()
    assert [asked.headers["Authorization"] for asked in adapter.server.asked] == ["Bearer one", "Bearer two"]


async def test_an_adapter_without_values_says_so_with_an_empty_list_of_its_own(adapter):
    adapter.says({**LIST, "items": None})
    assert (await adapter.ask()).status == 200


@pytest.mark.parametrize("code", [400, 403, 404, 429, 500, 503])
async def test_the_upstreams_own_refusal_is_passed_back(adapter, code):
    adapter.says({**STATUS, "code": code}, code, **{"Retry-After": "7"})
    answer = await adapter.ask()
    assert (answer.status, orjson.loads(answer.body), answer.headers["Retry-After"]) == (
        code,
        {**STATUS, "code": code},
        "7",
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>", 200),
        (b"", 200),
        (b"[]", 200),
        (b'"ExternalMetricValueList"', 200),
        (STATUS, 200),
        ({**LIST, "apiVersion": "external.metrics.k8s.io/v2"}, 200),
        ({**LIST, "items": {}}, 200),
        ({**LIST, "kind": "MetricValueList"}, 200),
        (LIST, 500),
        (LIST, 404),
        (b"page not found", 404),
        (b"[" * 100_000, 200),
        (gzip.compress(orjson.dumps(LIST)), 200),
        (b" " * LARGEST_ANSWER + orjson.dumps(LIST), 200),
        (STATUS, 302),
        (STATUS, 401),
    ],
)
async def test_what_no_adapter_answers_is_a_503_and_never_an_empty_list(adapter, body, status):
    adapter.says(body, status, Location="http://127.0.0.1:1/")
    refusal = await adapter.refusal()
    assert (refusal.code, refusal.reason) == (503, "ServiceUnavailable")
    assert "nginx.net.requests is not a metric of keda-py, and its upstream " in refusal.message
    assert len(adapter.server.asked) == 1


async def test_a_compressed_answer_is_not_unpacked(adapter):
    adapter.says(gzip.compress(b" " * 2 * LARGEST_ANSWER, 1), **{"Content-Encoding": "gzip"})
    assert (await adapter.refusal()).code == 503


async def test_an_upstream_that_is_slow_or_breaks_off_is_a_503(adapter):
    async def slow(request: web.Request) -> web.Response:
        await forever()
        raise AssertionError

    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(300):
            await response.write(b" ")
            await asyncio.sleep(DRIP_SECONDS)
        return response

    async def broken(request: web.Request) -> web.Response:
        request.transport.abort()
        return web.Response()

    for answer, words in ((slow, "within 0.5 s"), (dripping, "within 0.5 s"), (broken, "cannot be asked")):
        adapter.server.answers[PATH] = answer
        refusal = await adapter.refusal()
        assert (refusal.code, words in refusal.message) == (503, True)


async def test_an_upstream_that_nobody_vouches_for_gets_no_token(tmp_path, adapter):
    async with http_server(Authority().server_context(tmp_path)) as stranger:
        adapter.connect(seconds=2, url=stranger.url)
        assert "CERTIFICATE_VERIFY_FAILED" in (await adapter.refusal()).message
        assert stranger.asked == []


async def test_without_a_readable_token_nobody_is_asked(adapter):
    adapter.token = ""
    assert "could not be refreshed" in (await adapter.refusal()).message
    assert adapter.server.asked == []


@pytest.mark.parametrize("name", [".", "..", "a/b", "../../../../api/v1/secrets", "%2e%2e", "100%"])
@pytest.mark.parametrize("part", ["namespace", "metric"])
async def test_a_name_that_could_be_read_as_another_path_is_refused(adapter, name, part):
    with pytest.raises(StatusError) as caught:
        await adapter.upstream.ask(*((name, "x") if part == "namespace" else ("x", name)), "")
    assert (caught.value.code, adapter.server.asked) == (400, [])


async def test_a_slow_upstream_holds_a_bounded_number_of_questions_and_connections(adapter):
    waiting, most, codes, let_go = 0, 0, Counter[int](), asyncio.Event()

    async def count(request: web.Request) -> web.Response:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await let_go.wait()
        return web.Response(body=orjson.dumps(LIST))

    async def ask() -> None:
        try:
            codes[(await adapter.ask()).status] += 1
        except StatusError as error:
            codes[error.code] += 1

    adapter.server.answers[PATH] = count
    adapter.connect(seconds=8)
    async with asyncio.TaskGroup() as asking:
        for _ in range(AT_ONCE + 50):
            asking.create_task(ask())
        await eventually(lambda: waiting == CONNECTIONS)
        assert (codes, most) == ({503: 50}, CONNECTIONS)
        let_go.set()
    assert codes == {503: 50, 200: AT_ONCE}


async def test_the_log_tells_once_that_the_upstream_fails_and_once_that_it_answers(adapter, caplog):
    caplog.set_level(logging.INFO)
    adapter.says(b"nonsense")
    for _ in range(3):
        await adapter.refusal()
    adapter.says(LIST)
    for _ in range(3):
        await adapter.ask()
    told = [(one.levelname, one.message) for one in caplog.records if one.name == "keda_py.external_metrics.upstream"]
    assert told == [
        ("WARNING", "upstream of external metrics fails"),
        ("INFO", "upstream of external metrics answers"),
    ]
    assert "Bearer" not in caplog.text
