"""The webhook's port under callers that are many, slow, rude or strange."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from keda_py.core.admission.findings import Neighbourhood
from keda_py.core.spec import ScalingSpec
from keda_py.errors import Unavailable
from keda_py.operator.admission.paths import KINDS_BY_PATH
from keda_py.operator.admission.webhook.judges import Judges
from keda_py.operator.admission.webhook.reviews import Reviewer
from keda_py.operator.admission.webhook.server import AT_ONCE, WAITING, WebhookServer
from keda_py.testing import shared_context
from tests.operator.admission.webhook.reviews import PATH, UID, Alone, review, written
from tests.waiting import eventually

JSON = {"Content-Type": "application/json"}


@dataclass
class Served(Alone):
    """A port without TLS, what it reports, and how its neighbours are found."""

    client: httpx.AsyncClient
    number: int
    finds: Any = None
    reports: list[dict[str, Any]] = field(default_factory=list)

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        return await self.finds(spec) if self.finds is not None else Neighbourhood()

    async def post(self, body: bytes, path: str = PATH, **headers: str) -> httpx.Response:
        return await self.client.post(f"http://127.0.0.1:{self.number}{path}", content=body, headers=JSON | headers)


@asynccontextmanager
async def a_server(admits: Any = lambda certificate: True) -> AsyncIterator[Served]:
    async with shared_context() as lent, httpx.AsyncClient(timeout=30) as client:
        served = Served(client, 0)
        reviewer = Reviewer(Judges(lent, served), KINDS_BY_PATH)
        server = WebhookServer(reviewer, lambda told: served.reports.append(told["reviewed"]), admits)
        served.number = await server.port.start("127.0.0.1", 0, None)
        try:
            yield served
        finally:
            await server.port.aclose()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with a_server() as running:
        yield running


async def test_a_review_is_answered_and_reported(served: Served) -> None:
    answer = await served.post(review(written()))
    assert answer.json()["response"] == {"uid": UID, "allowed": True}
    assert "server" not in answer.headers
    (report,) = served.reports
    assert (report["path"], report["code"], report["judged"], report["denied"]) == (PATH, 200, True, "")


@pytest.mark.parametrize(
    ("make", "headers", "code"),
    [
        (lambda: b"{", {}, 400),
        (lambda: b"[" * 100_000, {}, 400),
        (lambda: review(written()), {"Content-Type": "text/plain"}, 400),
        (lambda: review(written()), {"Content-Type": "application/yaml"}, 400),
        (lambda: gzip.compress(review(written())), {"Content-Encoding": "gzip"}, 400),
        (lambda: b" " * 8_000_000, {}, 413),
        (lambda: review(written(), uid="u" * 1000), {}, 400),
    ],
    ids=["half an object", "deep", "as text", "as YAML", "compressed", "long", "a long uid"],
)
async def test_what_is_malformed_is_refused_without_a_traceback(
    served: Served, make: Callable[[], bytes], headers: dict[str, str], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "keda_py")
    answer = await served.post(make(), **headers)
    assert answer.status_code == code
    assert "server" not in answer.headers
    assert len(answer.text) < 500
    assert [report["code"] for report in served.reports] == [code]
    assert "Traceback" not in caplog.text


async def test_two_hundred_malformed_reviews_are_one_line_of_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(200):
        assert (await served.post(b"{")).status_code == 400
    (record,) = [one for one in caplog.records if one.levelno >= logging.INFO and one.name.startswith("keda_py")]
    assert record.getMessage() == "malformed admission review refused"
    assert record.exc_info is None


async def test_a_body_that_ends_early_or_is_no_chunks_is_malformed_and_not_an_error(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for rest in (
        "Content-Length: 100\r\n\r\n{",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Content-Length: 1\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write((head + rest).encode())
        writer.write_eof()
        async with asyncio.timeout(10):
            assert b"200 OK" not in await reader.read()
        writer.close()
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


async def test_where_neighbours_are_not_known_the_failure_policy_decides(served: Served) -> None:
    async def unknown(_: ScalingSpec) -> Neighbourhood:
        raise Unavailable("caches of 10.0.0.7 have not synced")

    served.finds = unknown
    answer = await served.post(review(written()))
    assert answer.status_code == 503
    assert "10.0.0.7" not in answer.text


async def test_a_bug_in_a_check_is_told_once_and_is_500(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_: ScalingSpec) -> Neighbourhood:
        raise LookupError("a bug")

    served.finds = fails
    for _ in range(20):
        answer = await served.post(review(written()))
        assert (answer.status_code, "a bug" in answer.text) == (500, False)
    assert caplog.text.count("LookupError: a bug") == 1


async def test_more_than_may_wait_are_told_to_come_again_and_the_others_are_answered(served: Served) -> None:
    go, inside = asyncio.Event(), 0

    async def slow(_: ScalingSpec) -> Neighbourhood:
        nonlocal inside
        inside += 1
        await go.wait()
        return Neighbourhood()

    served.finds = slow
    body = review(written())
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    callers = []
    for _ in range(AT_ONCE + WAITING + 10):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.number)
        writer.write(head.encode() + body)
        callers.append((reader, writer))
    await eventually(lambda: len(served.reports) == 10)
    assert inside == AT_ONCE
    assert {report["code"] for report in served.reports} == {503}
    go.set()
    codes = [(await reader.readline()).split()[1] for reader, _ in callers]
    assert (codes.count(b"503"), codes.count(b"200")) == (10, AT_ONCE + WAITING)
    for _, writer in callers:
        writer.close()


async def test_slow_bodies_of_one_address_keep_another_waiting_for_a_moment_only(served: Served) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{{"
    writers = []
    for _ in range(5 * AT_ONCE):
        _, writer = await asyncio.open_connection("127.0.0.1", served.number, local_addr=("127.0.0.2", 0))
        writer.write(head.encode())
        writers.append(writer)
    async with asyncio.timeout(7):  # of the API server's ten seconds; one body may take three
        assert (await served.post(review(written()))).status_code == 200
    for writer in writers:
        writer.close()


async def test_who_may_not_call_is_refused_before_the_body_is_read() -> None:
    async with a_server(lambda certificate: certificate is not None) as served:
        answer = await served.post(b"{")
    assert answer.status_code == 403
