"""Text that is written to hurt: each reading ends soon with an error in plain words, and the loop goes on meanwhile."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing

import pytest
from aiohttp import web

from keda_py.errors import ScalerError
from keda_py.testing import Objects, config_map, shared_context
from tests.costs import within
from tests.http_server import http_server
from tests.scalers.conftest import Bench

MIB = 2**20
LOOP_SECONDS = 1.0
"""CPU of the loop's thread for one reading of 1 MiB, a test server's share included; 0.8 to 30 s before."""


def many(item: bytes, size: int = MIB - 100) -> bytes:
    return b"[" + ((item + b",") * (size // (len(item) + 1)))[:-1] + b"]"


def merge_bomb() -> bytes:
    lines = ["a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(10)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9)]
    return "\n".join(lines).encode()


def lines(line: bytes, size: int = MIB) -> bytes:
    return line * (size // len(line))


LAUGHS = b'<!DOCTYPE a [<!ENTITY b "cccc"><!ENTITY d "&b;&b;&b;">]><a>&d;</a>'
TEXTS: dict[str, tuple[str, Callable[[], bytes], str, str]] = {
    # format, maker of the text, where, words of the error
    "brackets": ("yaml", lambda: b"[" * 120_000, "a", "YAML with more than 100 levels of nesting"),
    "brackets that close": ("yaml", lambda: b"[" * 60_000 + b"]" * 60_000, "a", "more than 100 levels"),
    "mappings": ("yaml", lambda: b"{a: " * 30_000, "a", "more than 100 levels"),
    "dashes": ("yaml", lambda: b"- " * 60_000, "a", "more than 100 levels"),
    "merge keys": ("yaml", merge_bomb, "a8.k1", '"k1" not found'),
    "an alias of itself": ("yaml", lambda: b"a: &a [*a]", "a.0", "not YAML that is read here: an alias of nothing"),
    "sexagesimal": ("yaml", lambda: b"a: 1" + b":1" * 60_000, "a", "got String"),
    "a long whole number": ("yaml", lambda: b"a: " + b"9" * 100_000, "a", "a number of more than 400 characters"),
    "a long fraction": ("yaml", lambda: b"a: 0." + b"9" * 100_000, "a", "a number of more than 400 characters"),
    "a number beyond floats": ("yaml", lambda: b"a: " + b"9" * 399, "a", "(out of range|does not hold a float64)"),
    "infinity": ("yaml", lambda: b"a: .inf", "a", "got String"),
    "many scalars": ("yaml", lambda: many(b"a", MIB // 4), "a", '"a" not found'),
    "a date": ("yaml", lambda: b"a: 2026-01-01", "a", "got String"),
    "python": ("yaml", lambda: b"a: !!python/name:os.system {}", "a", "a tag that is not read"),
    "utf-16": ("yaml", lambda: ("[" * 60_000).encode("utf-16"), "a", "more than 100 levels"),
    "no utf-8": ("yaml", lambda: b"a: \xff\xfe\xff", "a", "not YAML"),
    "a condition for each item": ("json", lambda: b'{"a":' + many(b"{}") + b"}", "a.#(b==1).c", "got Null"),
    "deep JSON": ("json", lambda: b"[" * 500_000, "a", "not JSON"),
    "deep JSON that closes": ("json", lambda: many(b"[" * 900 + b"]" * 900), "#.#.#.#.#.#.#.#", "got JSON"),
    "a large number": ("json", lambda: b'{"a":' + b"9" * 5000 + b"}", "a", "not JSON"),
    "no unicode": ("json", lambda: b'{"a":"\xff"}', "a", "not JSON"),
    "a long name for a pattern": ("json", lambda: b'{"' + b"a" * 1_000_000 + b'":1}', "a*" * 400 + "b", "steps"),
    "nested conditions": ("json", lambda: many(b'{"a":[{"b":[{}]}]}'), "#(a.#(b.#(c==1)#)#)#.x", "got JSON"),
    "conditions in conditions in": ("json", lambda: b"[]", "#(" * 300 + "a" + ")" * 300, "is not supported"),
    "a long path": ("json", lambda: b"[]", "a." * 100_000, "a path of more than 1000 characters"),
    "deep XML": ("xml", lambda: b"<a>" * 100_000 + b"</a>" * 100_000, "a", "XML with more than 100 levels"),
    "many elements": ("xml", lambda: b"<r>" + lines(b"<a/>", MIB - 10) + b"</r>", "r.b", '"b" not found'),
    "entities": ("xml", lambda: LAUGHS, "a", "declares entities"),
    "entities in utf-16": ("xml", lambda: LAUGHS.decode().encode("utf-16"), "a", "declares entities"),
    "default attributes": (
        "xml",
        lambda: b"<!DOCTYPE a [" + b"".join(b"<!ATTLIST a b%d CDATA 'c'>" % i for i in range(20_000)) + b"]><a/>",
        "a",
        "declares entities or types",
    ),
    "a large number in XML": ("xml", lambda: b"<a>" + b"9" * 1_000_000 + b"</a>", "a", "got String"),
    "samples that do not fit": ("prometheus", lambda: lines(b"a 1\n", MIB // 4), 'a{b="c"}', "value a.* not found"),
    "many types": ("prometheus", lambda: lines(b"# TYPE a gauge\n"), "a", "value a not found"),
    "many labels on a line": (
        "prometheus",
        lambda: b"a{" + b",".join(b'l%d="x"' % i for i in range(20_000)) + b"} 1",
        'a{b="c"}',
        "value a.* not found",
    ),
    "a label twice": ("prometheus", lambda: b'a{b="c",b="d"} 1', "a", "not in the text format"),
    "a long escape": ("prometheus", lambda: b'a{b="' + b'\\"' * 500_000 + b'"} 1', 'a{b="c"}', "value a.* not found"),
    "a long value": ("prometheus", lambda: b"a " + b"9" * 1_000_000, "a", "not in the text format"),
    "a long selector": ("prometheus", lambda: b"a 1", "a{" + 'b="c",' * 100_000 + "}", "a selector of more than 1000"),
}


def little_of_the_loop() -> AbstractContextManager[None]:
    return within(LOOP_SECONDS, time.thread_time)


@pytest.mark.parametrize(("format", "make", "where", "words"), list(TEXTS.values()), ids=list(TEXTS))
async def test_an_answer_that_is_written_to_hurt_is_an_error_soon(
    format: str, make: Callable[[], bytes], where: str, words: str
) -> None:
    text = make()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=text)

    metadata = {"valueLocation": where, "targetValue": "5", "format": format, "timeout": "20s"}
    async with http_server() as server, shared_context() as lent:
        server.answers["/"] = answer
        bench = Bench(lent)
        scaler = await bench.opened("metrics-api", {"url": server.url, **metadata})
        with little_of_the_loop(), pytest.raises(ScalerError, match=words):
            await scaler.read()
        await bench.aclose()


def of_objects() -> dict[str, tuple[str, Callable[[], bytes], str]]:
    """Select the texts that fit in a ConfigMap, which holds less than 1 MiB."""
    known = {}
    for name, (format, make, where, _) in TEXTS.items():
        if format in ("json", "yaml") and not name.startswith(("no u", "utf-16")):
            known[name] = (format, make, where)
    return known


@pytest.mark.parametrize(("format", "make", "where"), list(of_objects().values()), ids=list(of_objects()))
async def test_an_object_that_is_written_to_hurt_is_an_error_soon(
    format: str, make: Callable[[], bytes], where: str
) -> None:
    text = make().decode()
    metadata = {"resourceKind": "ConfigMap", "resourceName": "texts", "key": "it", "format": format}
    async with shared_context(kube=Objects(configmaps=[config_map("texts", {"it": text})])) as lent:
        bench = Bench(lent)
        scaler = await bench.opened(
            "kubernetes-resource", {**metadata, "valueLocation": where, "targetValue": "5"}, timeout=20.0
        )
        with little_of_the_loop(), pytest.raises(ScalerError):
            await scaler.read()
        await bench.aclose()


VECTORS = {
    "many series": (lambda: b'{"data":{"result":' + many(b"{}", MIB - 1000) + b"}}", "returned multiple elements"),
    "many values": (lambda: b'{"data":{"result":[{"value":' + many(b"1", MIB - 1000) + b"}]}}", "not text"),
    "a long number": (
        lambda: b'{"data":{"result":[{"value":[1,"' + b"9" * 1_000_000 + b'"]}]}}',
        "something else than a vector",
    ),
    "deep": (lambda: b'{"data":' * 100_000, "something else than a vector"),
    "a number": (lambda: b"9" * 5000, "something else than a vector"),
    "a matrix": (lambda: b'{"data":{"resultType":"matrix","result":[]}}', "something else than a vector"),
    "no text": (lambda: b"\xff\xfe", "something else than a vector"),
}


@pytest.mark.parametrize(("make", "words"), list(VECTORS.values()), ids=list(VECTORS))
async def test_an_answer_of_prometheus_that_is_written_to_hurt_is_an_error_soon(
    make: Callable[[], bytes], words: str
) -> None:
    text = make()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=text)

    async with http_server() as server, shared_context() as lent:
        server.answers["/api/v1/query"] = answer
        bench = Bench(lent)
        metadata = {"serverAddress": server.url, "query": "up", "threshold": "5", "timeout": "20s"}
        scaler = await bench.opened("prometheus", metadata)
        with little_of_the_loop(), pytest.raises(ScalerError, match=words):
            await scaler.read()
        await bench.aclose()


REPLIES = {
    "a long text": (lambda: b"$500000000\r\n" + b"x" * MIB, "the answer is not Redis'"),
    "a negative length": (lambda: b"$-5\r\n", "the answer is not Redis'"),
    "lists in lists": (lambda: b"*1\r\n" * 5000, "the answer is not Redis'"),
    "a long list": (lambda: b"*100000000\r\n" + b":1\r\n" * 100_000, "the answer is not Redis'"),
    "a long number": (lambda: b":" + b"9" * 5000 + b"\r\n", "the answer is not Redis'"),
    "no number": (lambda: b":x\r\n", "the answer is not Redis'"),
    "a long line": (lambda: b"+" + b"x" * MIB, "the answer is not Redis'"),
    "a long error": (lambda: b"-ERR " + b"x" * 60_000 + b"\r\n", "the answer is not Redis'"),
    "what Redis never says": (lambda: b"HTTP/1.1 200 OK\r\n\r\n", "the answer is not Redis'"),
    "a text where a number is due": (lambda: b"+ASIA is the key\r\n", "the answer is not Redis'"),
    "an error in Redis' words": (lambda: b"-LOADING Redis is loading\r\n", "LOADING|is loading"),
}


@pytest.mark.parametrize(("make", "words"), list(REPLIES.values()), ids=list(REPLIES))
async def test_a_server_that_is_no_redis_is_an_error_soon(make: Callable[[], bytes], words: str) -> None:
    reply = make()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            while line := await reader.readline():
                if line.strip().lower() == b"llen":
                    writer.write(reply)
                elif line.strip().lower() == b"ping":
                    writer.write(b"+PONG\r\n")
                elif line.strip().lower() in (b"setinfo", b"select"):
                    writer.write(b"+OK\r\n")

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, shared_context() as lent:
        bench, port = Bench(lent), server.sockets[0].getsockname()[1]
        scaler = await bench.opened("redis", {"address": f"127.0.0.1:{port}", "listName": "jobs"})
        with little_of_the_loop(), pytest.raises(ScalerError, match=words) as wrong:
            await scaler.read()
        assert len(str(wrong.value)) < 5000
        assert "ASIA" not in str(wrong.value)
        await bench.aclose()


BANNERS = {
    "a mail server": b"220 mail.internal ESMTP s3cret\r\n",
    "a long line": b"s3cret" * 300 + b"\r\n",
    "JSON": b'{"AccessKeyId":"ASIA","SecretAccessKey":"s3cret"}\n\r\n',
    "a greeting in the form of a status": b"+OK s3cret\r\n" * 3,
    "a long error": b"-ERR s3cret" + b"z" * 1500 + b"\r\n",
}


@pytest.mark.parametrize("trigger_type", ["redis", "redis-streams", "redis-cluster", "redis-sentinel"])
@pytest.mark.parametrize("banner", list(BANNERS.values()), ids=list(BANNERS))
async def test_what_another_service_says_is_not_repeated_by_redis_triggers(banner: bytes, trigger_type: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            writer.write(banner)
            await reader.read()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server, shared_context() as lent:
        bench, address = Bench(lent), f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        metadata = {"listName": "jobs", "stream": "jobs", "address": address, "addresses": address}
        with pytest.raises(ScalerError) as wrong:
            await bench.opened(trigger_type, {**metadata, "sentinelMaster": "main"})
        assert address in str(wrong.value)
        assert "s3cret" not in str(wrong.value)
        await bench.aclose()


COUNTS = {
    "a long answer": (b'{"Attributes":{"a":"' + b"x" * 100_000 + b'"}}', "the answer is over 65536 bytes"),
    "deep": (b'{"Attributes":' * 4000, "SQS queue jobs"),
    "deep where a count is": (
        b'{"Attributes":{"ApproximateNumberOfMessages":' + b"[" * 700 + b"]" * 700 + b"}}",
        "is not a number",
    ),
    "a large count": (b'{"Attributes":{"ApproximateNumberOfMessages":"' + b"9" * 4000 + b'"}}', "is not a number"),
    "no JSON": (b"<html>", "SQS queue jobs"),
}


@pytest.mark.parametrize(("text", "words"), list(COUNTS.values()), ids=list(COUNTS))
async def test_an_endpoint_that_is_not_sqs_is_an_error_soon(text: bytes, words: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=text, content_type="application/x-amz-json-1.0")

    async with http_server() as server, shared_context() as lent:
        server.answers["/"] = answer
        bench = Bench(lent)
        metadata = {"queueURL": f"{server.url}/1/jobs", "awsRegion": "eu-west-1", "awsEndpoint": server.url}
        auth = {"awsAccessKeyID": "AKID", "awsSecretAccessKey": "s3cret"}
        scaler = await bench.opened("aws-sqs-queue", metadata, auth=auth)
        with pytest.raises(ScalerError, match=words):
            await scaler.read()
        await bench.aclose()
