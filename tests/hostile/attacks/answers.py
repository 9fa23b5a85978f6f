"""Sources that answer too much, too deep, too slowly, or something that is no answer."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from tests.hostile.attacks.payloads import (
    ANSWER_BYTES,
    deflated,
    exposition,
    json_objects,
    nested,
    prometheus_series,
    yaml_block,
    yaml_merges,
    zipped,
)
from tests.hostile.attacks.triggers import metrics_api, prometheus
from tests.hostile.case import Case
from tests.hostile.sources import Behaviour, hangs, repeats, says, sends
from tests.hostile.trial import Trial

MIB = 2**20
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def _answers(trial: Trial, behaviour: Behaviour, metadata: Mapping[str, str]) -> None:
    """A metrics-api trigger on a source that behaves so; returns once it has been asked."""
    source = await trial.serve(behaviour)
    await trial.scale_on(metrics_api(source.url, **metadata))
    await source.asked()


async def _answers_prometheus(trial: Trial, body: bytes) -> None:
    source = await trial.serve(says(body, "Content-Type: application/json"))
    await trial.scale_on(prometheus(source.url))
    await source.asked()


async def _is_refused(trial: Trial, metadata: Mapping[str, str]) -> None:
    """A metrics-api trigger that is not even built."""
    await trial.scale_on(metrics_api("http://127.0.0.1:1", **metadata))
    await trial.looked_at()


def _refused(id: str, sentence: str, *, wave: str, **metadata: str) -> Case:
    return Case(id=id, sentence=sentence, attack=partial(_is_refused, metadata=metadata), wave=wave)


def _case(id: str, sentence: str, behaviour: Behaviour, *, wave: str = "", **metadata: str) -> Case:
    return Case(id=id, sentence=sentence, attack=partial(_answers, behaviour=behaviour, metadata=metadata), wave=wave)


@cache
def _late(name: str) -> bytes:
    """Payloads that are large are made when they are sent, not when the tests are collected."""
    made = {
        "objects": json_objects,
        "deep": lambda: nested("[", "]", ANSWER_BYTES).encode(),
        "deep below the cap": lambda: nested('{"a":', "}", MIB - 100).encode(),
        "lists": lambda: b"[" + b",".join([b"[" + b"1," * 1000 + b"1]"] * 400) + b"]",
        "gzip": lambda: zipped(256 * MIB),
        "gzip twice": lambda: zipped(256 * MIB, 2),
        "deflate": lambda: deflated(256 * MIB),
        "exposition": exposition,
        "exposition below the cap": lambda: exposition(MIB - 100),
        "labels": lambda: b'jobs{a="' + b'\\"' * (MIB // 2 - 100) + b'"} 1\n',
        "series": prometheus_series,
        "series below the cap": lambda: prometheus_series(MIB - 100),
        "xml deep": lambda: nested("<a>", "</a>", MIB - 100).encode(),
        "xml wide": lambda: b"<a>" + b"<b/>" * (MIB // 4 - 10) + b"</a>",
        "xml attributes": lambda: b"<a " + b" ".join(b'k%d="v"' % n for n in range(80_000)) + b"/>",
        "xml utf-16": lambda: (
            '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a [<!ENTITY b "'
            + "b" * 1000
            + '">'
            + "".join(f'<!ENTITY c{n} "{("&b;" if n == 0 else f"&c{n - 1};") * 10}">' for n in range(9))
            + "]><a>&c8;</a>"
        ).encode("utf-16"),
        "yaml": lambda: yaml_block(MIB - 100).encode(),
    }
    return made[name]()


def late(name: str, *headers: str) -> Behaviour:
    async def behave(asked: bytes, reader: Any, writer: Any) -> None:
        await says(_late(name), *headers)(asked, reader, writer)

    return behave


ENTITIES = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'

PARSED = (
    _case(
        "json-items",
        "16 MB of JSON, five million empty items, with a condition on each",
        late("objects"),
        wave="json answers",
        location='#(a=="x")#.b',
    ),
    _case(
        "json-depth",
        "16 MB of JSON that is nothing but brackets",
        late("deep"),
        wave="json answers",
        location="0.0.0",
    ),
    _case(
        "json-depth-capped",
        "1 MB of JSON objects in each other, within what is read",
        late("deep below the cap"),
        wave="json answers",
        location="a.a.a",
    ),
    _case(
        "json-path-product",
        "a path that asks for each item of each list, with patterns",
        late("lists"),
        wave="json answers",
        location='#.#(%"*1*1*1*1*")#',
    ),
    _refused("json-path-long", "a path of 100 000 steps", wave="json answers", location="0." * 50_000 + "0"),
    _case(
        "json-path-pattern",
        "a name pattern of 1 900 wildcards on a name of 100 000 characters",
        says(b'{"' + b"a" * 100_000 + b'": 1}'),
        wave="json answers",
        location="*?" * 950,
    ),
    _case(
        "json-numbers", "values that are no numbers or larger than any", says(b'{"value": -1e400}'), wave="json answers"
    ),
    _case(
        "prometheus-text",
        "16 MB of samples",
        late("exposition"),
        wave="prometheus",
        location="jobs",
        format="prometheus",
    ),
    _case(
        "prometheus-text-capped",
        "1 MB of samples, within what is read",
        late("exposition below the cap"),
        wave="prometheus",
        location='jobs{queue="mail"}',
        format="prometheus",
    ),
    _case(
        "prometheus-text-label",
        "one label of 1 MB with nothing but escapes",
        late("labels"),
        wave="prometheus",
        location='jobs{a="b"}',
        format="prometheus",
    ),
    _refused(
        "prometheus-selector",
        "a selector of 20 000 labels",
        wave="prometheus",
        location="jobs{" + ",".join(f'l{n}="v"' for n in range(20_000)) + "}",
        format="prometheus",
    ),
    Case(
        id="prometheus-series",
        sentence="16 MB of series where one is due",
        wave="prometheus",
        attack=lambda trial: _answers_prometheus(trial, _late("series")),
    ),
    Case(
        id="prometheus-series-capped",
        sentence="1 MB of series, within what is read",
        wave="prometheus",
        attack=lambda trial: _answers_prometheus(trial, _late("series below the cap")),
    ),
    Case(
        id="prometheus-depth",
        sentence="1 MB of brackets as the answer to a query",
        wave="prometheus",
        attack=lambda trial: _answers_prometheus(trial, _late("deep below the cap")),
    ),
    _case(
        "xml-depth",
        "1 MB of XML elements in each other",
        late("xml deep"),
        wave="xml and yaml",
        format="xml",
        location="a.a",
    ),
    _case(
        "xml-width",
        "1 MB of XML elements beside each other",
        late("xml wide"),
        wave="xml and yaml",
        format="xml",
        location="a.b",
    ),
    _case(
        "xml-attributes",
        "an XML element of 80 000 attributes",
        late("xml attributes"),
        wave="xml and yaml",
        format="xml",
        location="a",
    ),
    _case(
        "xml-entities",
        "an XML entity that names a file of the operator",
        says(ENTITIES),
        wave="xml and yaml",
        format="xml",
        location="a",
    ),
    _case(
        "xml-utf-16",
        "XML in UTF-16 whose entities stand for a terabyte",
        late("xml utf-16"),
        wave="xml and yaml",
        format="xml",
        location="a",
    ),
    _case("yaml-answer", "1 MB of nested YAML lists as an answer", late("yaml"), wave="xml and yaml", format="yaml"),
    _case(
        "yaml-answer-merges",
        "the merge bomb as an answer",
        says(yaml_merges().encode()),
        wave="xml and yaml",
        format="yaml",
    ),
)

SENT = (
    _case(
        "endless-body",
        "a body that never ends, as fast as it is taken",
        repeats(OK + b"\r\n", b"1" * 65536),
        wave="bodies",
    ),
    _case(
        "endless-chunks",
        "chunks that never end",
        repeats(CHUNKED, b"10000\r\n" + b"1" * 65536 + b"\r\n"),
        wave="bodies",
    ),
    _case("tiny-chunks", "chunks of one byte that never end", repeats(CHUNKED, b"1\r\n1\r\n" * 5000), wave="bodies"),
    _case(
        "slow-body",
        "a body of which one byte comes each half second",
        repeats(OK + b"Content-Length: 1000\r\n\r\n", b" ", 0.5),
        wave="bodies",
    ),
    _case(
        "slow-head",
        "a head of which one byte comes each half second",
        repeats(b"HTTP/1.1 200 OK\r\nX-A: ", b"a", 0.5),
        wave="bodies",
    ),
    _case(
        "promised-gigabyte",
        "a Content-Length of 1 GB, and silence",
        sends(OK + b"Content-Length: 1000000000\r\n\r\n"),
        wave="bodies",
    ),
    _case("gzip-bomb", "256 MB in 256 kB of gzip", late("gzip", "Content-Encoding: gzip"), wave="packed"),
    _case(
        "gzip-twice",
        "256 MB in 1 kB, by gzip in gzip",
        late("gzip twice", "Content-Encoding: gzip, gzip"),
        wave="packed",
    ),
    _case("deflate-bomb", "256 MB in 256 kB of deflate", late("deflate", "Content-Encoding: deflate"), wave="packed"),
    _case(
        "encodings",
        "a Content-Encoding of 1 000 names",
        says(b"1", "Content-Encoding: " + ", ".join(["gzip"] * 1000)),
        wave="packed",
    ),
    _case("header-flood", "headers that never end", repeats(OK, b"X-A: b\r\n" * 5000), wave="heads"),
    _case("header-giant", "one header that never ends", repeats(OK + b"X-A: ", b"a" * 65536), wave="heads"),
    _case(
        "continue-flood",
        "100 Continue that never ends",
        repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
        wave="heads",
    ),
    _case("not-http", "an answer that is not HTTP", sends(b"\x00\xff" * 5000), wave="heads"),
    _case("statuses", "a status code that is none", says(b"1", status="999 \xff"), wave="heads"),
    _case(
        "two-lengths",
        "an answer of two lengths",
        sends(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n11"),
        wave="heads",
    ),
    _case(
        "trailers",
        "chunks whose trailers never end",
        repeats(CHUNKED + b"1\r\n1\r\n0\r\n", b"X-A: b\r\n" * 5000),
        wave="heads",
    ),
    _case("hangs", "a source that takes the question and says nothing", hangs, wave="heads"),
)

CASES = (*PARSED, *SENT)
