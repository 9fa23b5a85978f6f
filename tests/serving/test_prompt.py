"""Connections that answer at once: as aiohttp would, and only what is usual."""

import asyncio
import contextlib
import re  # noqa: TID251 - the patterns are constant
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from multidict import CIMultiDict

from keda_py.external_metrics.routing import Route
from keda_py.external_metrics.server import CachedStages
from keda_py.serving.api_request import ApiRequest, RequestAttributes
from keda_py.serving.caller import REPLICA, Caller
from keda_py.serving.https import LimitedServer
from keda_py.serving.ports.connection import BareResponse
from keda_py.serving.ports.table import PortLimits
from keda_py.serving.prompt import LONGEST_HEAD, REMEMBERED_LINES, KnownHeads, PromptConnection, PromptPaths
from keda_py.serving.statuses import not_found
from tests.waiting import PAUSE, connections_closed, eventually

TENTH = 0.1
"""Seconds between two requests, of a connection that may be idle for ten times as long."""
PREFIX = "/apis/external.metrics.k8s.io/v1beta1"
LINE = f"GET {PREFIX}/namespaces/shop/s0-x?labelSelector=scaledobject.keda.sh%2Fname%3Dapp HTTP/1.1"
USUAL = f"{LINE}\r\nHost: metrics\r\nAccept: application/json\r\n\r\n".encode()
BODY = b'{"items": []}'


@dataclass
class Prompts:
    """A server, how often each of its two ways was taken, and a client."""

    server: LimitedServer = field(init=False)
    ready: list[bytes | None] = field(default_factory=lambda: [BODY])
    """What is at hand for an answer."""
    prompt: list[ApiRequest] = field(default_factory=list)
    waited: int = 0
    number: int = 0

    def at_once(self, asked: ApiRequest) -> bytes | None:
        self.prompt.append(asked)
        return self.ready[-1]

    @contextlib.asynccontextmanager
    async def warm(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection whose first request was answered: the first one always takes the long way."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        try:
            writer.write(USUAL)
            await answer(reader)
            assert (self.waited, self.prompt) == (1, [])
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """One answer, its date aside."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    return re.sub(rb"Date: [^\r]+ GMT", b"Date", head) + await reader.readexactly(length)


@contextlib.asynccontextmanager
async def serving(limits: PortLimits | None = None) -> AsyncIterator[Prompts]:
    prompts = Prompts()

    async def wait(request) -> BareResponse:
        prompts.waited += 1
        await request.read()
        return BareResponse(body=BODY, content_type="application/json")

    connection = partial(PromptConnection, paths=PromptPaths(prefix=PREFIX, answer=prompts.at_once))
    prompts.server = LimitedServer(wait, limits, connection)
    prompts.number = await prompts.server.start("127.0.0.1", 0, None)
    try:
        yield prompts
    finally:
        await prompts.server.aclose()
        await connections_closed()


async def test_an_answer_at_once_is_the_answer_of_the_long_way_byte_for_byte():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        writer.write(USUAL)
        at_once = await answer(reader)
        prompts.ready.append(None)
        writer.write(USUAL)
        assert at_once == await answer(reader)
        assert (len(prompts.prompt), prompts.waited) == (2, 2)


async def test_the_request_is_read_as_on_the_long_way():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        writer.write(USUAL.replace(b"Accept:", b"X-Remote-Group: a\r\nx-remote-group: b\r\nAccept:"))
        await answer(reader)
    (asked,) = prompts.prompt
    assert (asked.method, asked.path) == ("GET", f"{PREFIX}/namespaces/shop/s0-x")
    assert (asked.selector, asked.wanted.resource) == ("scaledobject.keda.sh/name=app", "s0-x")
    assert [value for name, value in asked.headers.items() if name.lower() == "x-remote-group"] == ["a", "b"]


UNUSUAL = {
    "another path": USUAL.replace(b"external.metrics", b"custom.metrics"),
    "another method": USUAL.replace(b"GET", b"PUT"),
    "a body": USUAL.replace(b"Accept: application/json", b"Content-Length: 2") + b"ab",
    "an empty body": USUAL.replace(b"Accept: application/json", b"Content-Length: 0"),
    "an expectation": USUAL.replace(b"Accept: application/json", b"Expect: 100-continue"),
    "chunks": USUAL.replace(b"Accept: application/json", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "an end of the connection": USUAL.replace(b"Accept: application/json", b"Connection: close"),
    "HTTP/1.0": USUAL.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "a long head": USUAL.replace(b"application/json", b"x" * LONGEST_HEAD),
    "two requests at once": USUAL + USUAL,
    "text that is not UTF-8": USUAL.replace(b"application/json", b"\xff"),
    "a malformed head": USUAL.replace(b"Accept:", b"Ac cept:"),
    "no version": USUAL.replace(b" HTTP/1.1", b""),
}


@pytest.mark.parametrize("known", [False, True], ids=["first", "after a usual one"])
@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL)
async def test_what_is_unusual_takes_the_long_way(data, known):
    async with serving() as prompts, prompts.warm() as (reader, writer):
        if known:
            writer.write(USUAL)
            await answer(reader)
        writer.write(data)
        await asyncio.wait_for(reader.read(1), 10)
        assert len(prompts.prompt) == known


def aggregated(metric: str, audit: str, user: str = "hpa", more: str = "") -> bytes:
    """A question as an API server passes it on."""
    return (
        f"GET {PREFIX}/namespaces/shop/{metric}?labelSelector=a%3Db HTTP/1.1\r\nHost: metrics\r\nAudit-Id: {audit}\r\n"
        f"X-Forwarded-Uri: {PREFIX}/namespaces/shop/{metric}\r\nX-Remote-User: {user}\r\n{more}\r\n"
    ).encode()


async def test_a_head_whose_parts_were_seen_before_is_the_same_request_as_when_it_is_parsed():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        for head in (aggregated("s0-a", "1"), aggregated("s0-b", "2", "eve"), aggregated("s0-a", "3", "eve")):
            writer.write(head)
            await answer(reader)
    async with serving() as others, others.warm() as (reader, writer):
        writer.write(aggregated("s0-a", "3", "eve"))
        await answer(reader)
    known, (parsed,) = prompts.prompt[-1], others.prompt
    left_out = {name: value for name, value in parsed.headers.items() if name not in ("Audit-Id", "X-Forwarded-Uri")}
    assert dict(known.headers) == left_out
    assert replace(known, headers={}) == replace(parsed, headers={})


def read(head: bytes) -> ApiRequest:
    """A request with the fields of a head, as aiohttp reads them."""
    names = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")[1:] if line]
    return ApiRequest(method="GET", path="/", wanted=RequestAttributes(verb="list"), headers=CIMultiDict(names))


def test_a_known_head_has_the_certificate_of_the_connection_that_sends_it():
    heads = KnownHeads()
    heads.add(USUAL, replace(read(USUAL), certificate=b"of the first"))
    assert heads.find(USUAL, b"of the second").certificate == b"of the second"


def test_a_head_with_a_token_is_not_remembered():
    head = aggregated("s0-a", "1", more="Authorization: Bearer x\r\n")
    heads = KnownHeads()
    heads.add(head, read(head))
    assert heads.find(head, None) is None


@pytest.mark.parametrize("field", ["Audit-Id: 1\r\n\tmore", "Audit-Id: a b", "Audit-Id: \xff", "X-Audit-Id: 1"])
def test_a_field_that_is_more_than_a_word_is_compared_as_it_is(field):
    plain = b"GET /x HTTP/1.1\r\nX-Remote-User: hpa\r\n\r\n"
    heads = KnownHeads()
    heads.add(plain, read(plain))
    assert heads.find(plain.replace(b"hpa\r\n", b"hpa\r\nAudit-Id: 7\r\n"), None) is not None
    assert heads.find(plain.replace(b"hpa\r\n", b"hpa\r\n" + field.encode("latin-1") + b"\r\n"), None) is None


def test_a_client_that_always_asks_otherwise_takes_no_more_than_a_bounded_place():
    heads = KnownHeads()
    first, last = aggregated("s0-0", "1"), aggregated(f"s0-{REMEMBERED_LINES}", "1", f"u{REMEMBERED_LINES}")
    for number in range(REMEMBERED_LINES + 1):
        head = aggregated(f"s0-{number}", "1", f"u{number}" if number else "hpa")
        heads.add(head, read(head))
    assert heads.find(first, None) is None
    assert heads.find(last, None) is not None


async def test_a_head_that_comes_in_pieces_takes_the_long_way_and_the_next_one_does_not():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        writer.write(USUAL[:40])
        await asyncio.sleep(PAUSE)
        writer.write(USUAL[40:])
        await answer(reader)
        assert (prompts.prompt, prompts.waited) == ([], 2)
        writer.write(USUAL)
        await answer(reader)
        assert (len(prompts.prompt), prompts.waited) == (1, 2)


async def test_after_a_request_that_was_refused_as_unusual_the_connection_answers_at_once_again():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        writer.write(UNUSUAL["a body"])
        await answer(reader)
        writer.write(USUAL)
        await answer(reader)
        assert (len(prompts.prompt), prompts.waited) == (1, 2)


async def test_a_server_that_leaves_ends_the_connection_with_the_next_answer():
    async with serving() as prompts, prompts.warm() as (reader, writer):
        prompts.server.leave()
        writer.write(USUAL)
        assert b"Connection: close" in await answer(reader)
        assert await reader.read() == b""


async def test_a_connection_that_is_in_use_lives_longer_than_an_idle_one_may():
    async with serving(PortLimits(idle=TENTH * 10)) as prompts, prompts.warm() as (reader, writer):
        for _ in range(25):
            await asyncio.sleep(TENTH)
            writer.write(USUAL)
            await answer(reader)
        assert len(prompts.prompt) > prompts.waited > 1


async def test_an_idle_connection_ends_though_its_last_answer_came_at_once():
    async with serving(PortLimits(idle=TENTH * 10)) as prompts, prompts.warm() as (reader, writer):
        writer.write(USUAL)
        await answer(reader)
        assert len(prompts.prompt) == 1
        assert await asyncio.wait_for(reader.read(), 30) == b""


async def test_for_a_client_that_does_not_read_nothing_is_answered_at_once():
    async with serving() as prompts, prompts.warm() as (_, writer):
        prompts.ready.append(b"x" * 2**20)
        writer.write(USUAL)
        await eventually(lambda: len(prompts.prompt) == 1)
        for _ in range(40):  # what the kernel takes is full after a few
            writer.write(USUAL)
            await asyncio.sleep(PAUSE / 10)
        assert len(prompts.prompt) < 20


APP = Caller(name="hpa")


def refuse(_):
    raise not_found()


UNKNOWN = {
    "a caller that only a review could tell": {"authenticate": lambda _: None},
    "another replica": {"authenticate": lambda _: REPLICA},
    "a caller whose right is not known": {"is_allowed": lambda caller, _: caller is not APP},
    "another replica's object": {"routes": lambda _: (Route.HOLDER, Route.METRIC)},
    "a document": {"routes": lambda _: (Route.DOCUMENT,)},
    "a path that is refused": {"routes": refuse},
    "a value that has to be read": {"answer": lambda _: None},
}


def cached(**stages) -> CachedStages:
    usual = {
        "authenticate": lambda _: APP,
        "is_allowed": lambda *_: True,
        "routes": lambda _: (Route.METRIC,),
        "answer": lambda _: BODY,
    }
    return CachedStages(**(usual | stages))


def asked() -> ApiRequest:
    return ApiRequest(method="GET", path=PREFIX, wanted=RequestAttributes(verb="list", path=PREFIX))


def test_what_every_stage_knows_is_answered_at_once():
    assert cached()(asked()) == BODY


@pytest.mark.parametrize("stages", UNKNOWN.values(), ids=UNKNOWN)
def test_what_one_stage_does_not_know_is_not_answered_at_once(stages):
    assert cached(**stages)(asked()) is None
