"""Whatever an answer says and wherever a path leads: it is read or refused soon, in little memory, in bounded steps."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.errors import ScalerError
from scalers.shared.answers import exposition, gjson
from scalers.shared.answers.location import (
    XML_INLINE_BYTES,
    YAML_INLINE_BYTES,
    number_of,
    scalar_in_xml,
    scalar_in_yaml,
)
from scalers.shared.answers.monitoring.prometheus_vector import INLINE_BYTES as VECTOR_INLINE_BYTES
from scalers.shared.answers.monitoring.prometheus_vector import read_vector
from scalers.shared.answers.xml_tree import read_xml
from tests.costs import SIZE, built_of, cpu_of, peak_of, thorough, within

MIB = 2**20


def many(item: str, size: int) -> str:
    return "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


JSON = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"',
    '"a"',
    "a",
    "\\",
    "\\u00e9",
    "1",
    "9",
    "e",
    "-",
    ".",
    "true",
    "null",
    " ",
    "{}",
    "[]",
]
STEPS = [
    "a",
    "b",
    ".",
    "|",
    "#",
    "#(",
    ")",
    ")#",
    "*",
    "?",
    "\\",
    "==",
    "!=",
    ">",
    "%",
    '"',
    "1",
    "0",
    "@",
    "{",
    "[",
    " ",
]


@given(built_of(JSON), built_of(STEPS, 200))
@thorough
def test_any_path_through_any_text_ends_soon(text: str, path: str) -> None:
    with within(), suppress(ScalerError):
        gjson.scalar_in(text, path)


DOCUMENTS = st.recursive(
    st.one_of(st.integers(0, 9), st.text("ab", max_size=20), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.builds(lambda one, times: [one] * times, inner, st.integers(0, 8)),
        st.dictionaries(st.text("ab", max_size=20), inner, max_size=10),
    ),
    max_leaves=10,
)
PATHS = st.lists(
    st.sampled_from(["a", "b", "0", "#", "#(a==1)", "#(b)#", '#(a%"a*b*")#', "*a*", "??*", "#(a.#(b>1))#"]), max_size=8
)


@given(DOCUMENTS, PATHS.map(".".join))
@thorough
def test_a_path_takes_no_more_steps_than_it_has_parts_for_each_item(document: object, path: str) -> None:
    size = len(orjson.dumps(document))
    steps = gjson.Steps()
    gjson.compile_path(path)(document, steps)
    assert gjson.MOST_STEPS - steps.left <= size * (2 * path.count("#") + 4 * (path.count("*") + path.count("?")) + 1)


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("{}", "#(a==1)"),
        ("{}", "#(a==1)#"),
        ("[]", "#.#.#"),
        ("[{}]", "#.#(a==1)#.#"),
        ('{"a":[{},{}]}', "#(a.#(b==1)#.#(c==1))#"),
        ('{"a":1,"b":2}', "#.*"),
        ('{"a":1,"b":2}', "#.b?*"),
        ('"abc"', '#(%"*b*d")'),
        ("0", "#(==1)"),
        ("[" * 500 + "]" * 500, ".".join(["#"] * 60)),
    ],
)
def test_long_lists_are_looked_through_in_bounded_steps(item: str, path: str) -> None:
    text = many(item, MIB)
    with within(6.0), suppress(ScalerError):
        gjson.scalar_in(text, path)


def test_a_path_that_takes_too_many_steps_is_refused() -> None:
    with pytest.raises(ScalerError, match=f"takes more than {gjson.MOST_STEPS} steps through this answer"):
        gjson.value_in('{"' + "a" * 1_000_000 + '":1}', "*a" * 200)


@pytest.mark.parametrize(
    "path",
    ["#(" * 9 + "a" + ")" * 9, ".".join("a" * 65), "@pretty", "{a}", "[a]", "#(@a==1)"],
)
def test_a_path_that_is_too_deep_is_not_followed(path: str) -> None:
    with pytest.raises(ScalerError, match="is not supported"):
        gjson.value_in("[]", path)
    assert "is not supported" in gjson.path_problem(path)


@pytest.mark.parametrize(
    "path", ["#(" * 8 + "a" + ")" * 8, ".".join("a" * 64), "a" * gjson.LONGEST, "*" * gjson.LONGEST]
)
def test_a_path_that_is_as_deep_and_long_as_it_may_be_is_followed(path: str) -> None:
    with within():
        assert gjson.path_problem(path) == ""
        gjson.value_in("[{}]", path)


XML = [
    "<a>",
    "</a>",
    "<b/>",
    "<",
    ">",
    "&lt;",
    "&#9;",
    "&x;",
    "<!DOCTYPE a [",
    "<!ENTITY x 'y'>",
    "]>",
    "<![CDATA[",
    "]]>",
]
XML += [
    "<!--",
    "-->",
    "<?p ?>",
    ' b="c"',
    "xmlns:a='b'",
    "a:",
    "text",
    "\u00e9",
    "\x00",
    '<?xml version="1.0" encoding="x"?>',
]


@given(built_of(XML), st.sampled_from(["utf-8", "utf-16", "utf-32", "latin-1"]))
@thorough
def test_any_xml_is_read_or_refused_soon_in_little_memory(text: str, encoding: str) -> None:
    def read() -> None:
        with suppress(ScalerError):
            scalar_in_xml(text.encode(encoding, "replace"), "a.b.0")

    with within():
        read()
    assert peak_of(read) < 256 * SIZE


TEXT = [
    "a",
    "a ",
    "a{",
    "}",
    'b="c"',
    ",",
    '"',
    "\\",
    '\\"',
    "\n",
    "\r\n",
    "1",
    " ",
    "# TYPE a gauge",
    "# TYPE a ",
    "# ",
    "NaN",
    "1e9",
    "_",
]
SELECTORS = ["a", "{", "}", "b", "=", "=~", '"', "'", "\\", ",", "__name__", "c", " "]


@given(built_of(TEXT), st.one_of(st.sampled_from(["a", 'a{b="c"}']), built_of(SELECTORS, 200)))
@thorough
def test_any_samples_are_read_or_refused_soon(text: str, selector: str) -> None:
    with within(), suppress(ScalerError):
        exposition.sample_in(exposition.own_lines(text.encode(), selector), selector)


@given(built_of(TEXT))
@thorough
def test_a_metrics_own_lines_say_what_the_whole_text_says(text: str) -> None:
    def outcome(lines: bytes) -> str:
        try:
            return str(exposition.sample_in(lines, 'a{b="c"}'))
        except ScalerError as error:
            return str(error)

    body = text.encode()
    assert outcome(exposition.own_lines(body, 'a{b="c"}')) == outcome(body)


VECTOR = [
    '{"data":',
    '{"result":[',
    '{"value":[',
    "1,",
    '"1"',
    "]",
    "}",
    "{}",
    ",",
    "null",
    '"resultType":"vector"',
    "[",
    "9" * 50,
]


@given(built_of(VECTOR))
@thorough
def test_any_answer_of_prometheus_is_read_or_refused_soon(text: str) -> None:
    with within(), suppress(ScalerError):
        series, sample = read_vector(text.encode())
        assert series >= 0
        assert len(sample) <= 2


# The texts that cost most for their length.
WORST_JSON = [
    many("{}", gjson.INLINE_BYTES),
    many("[" * 90 + "]" * 90, gjson.INLINE_BYTES),
    many('{"a":1}', gjson.INLINE_BYTES),
]
WORST_PATHS = ["#(a==1).b", "#(a==1)#.b", "#.#.#", "#.*", '#(a%"a*")', "a"]
WORST_YAML = [
    "[" + item * (YAML_INLINE_BYTES // len(item) - 2) + "]" for item in ("a,", "1,", "{},", "a: b,", "? a,", "~,")
]
WORST_XML = [
    "<r>" + item * ((XML_INLINE_BYTES - 7) // len(item)) + "</r>" for item in ("<a/>", "<a>b</a>", "<a> </a>b", "&lt;")
]
WORST_TEXT = [
    item * (exposition.INLINE_BYTES // len(item)) for item in ("a 1\n", "a{} 1\n", 'a{c="d"} 1\n', "# TYPE a gauge\n")
]
WORST_TEXT += ["a{" + ",".join(f'l{n}=""' for n in range(exposition.INLINE_BYTES // 9)) + "} 1"]
WORST_VECTOR = [many(item, VECTOR_INLINE_BYTES) for item in ("{}", "[]", "[" * 90 + "]" * 90)]
TEN_TIMES = 0.1
"""Seconds of CPU. What is read on the loop may take 10 ms; a busy machine needs longer."""


def test_what_is_short_enough_to_be_read_on_the_loop_takes_10_ms_at_most() -> None:
    reads: list[Callable[[], object]] = [
        *(partial(gjson.scalar_in, text, path) for text in WORST_JSON for path in WORST_PATHS),
        *(partial(scalar_in_yaml, text, "a") for text in WORST_YAML),
        *(partial(scalar_in_xml, text.encode(), "a") for text in WORST_XML),
        *(partial(exposition.sample_in, text.encode(), 'a{b="c"}') for text in WORST_TEXT),
        *(partial(read_vector, f'{{"data":{{"result":[{{"value":{text}}}]}}}}'.encode()) for text in WORST_VECTOR),
    ]
    assert [read for read in reads if cpu_of(read, ScalerError) >= TEN_TIMES] == []


def test_finding_a_metrics_own_lines_takes_10_ms_at_most_however_long_the_text_is() -> None:
    for line in (b"\n", b"b 1\n", b"a\n", b"# TYPE b gauge\n", b"a" * 1000 + b"\n"):
        with within(TEN_TIMES):
            exposition.own_lines(line * (MIB // len(line)), "a")


@pytest.mark.parametrize("value", [10**400, -(10**309)])
def test_a_number_that_no_float_holds_is_out_of_range(value: int) -> None:
    with pytest.raises(ScalerError, match="out of range"):
        number_of(value, "a")


def test_xml_is_read_as_before_whatever_its_names_and_encoding() -> None:
    text = '<?xml version="1.0" encoding="{}"?><n:r xmlns:n="u"><!-- c --><a> 1 </a><n:b x="y">t<a>2</a>u</n:b><a/><c><![CDATA[<3]]></c></n:r>'
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        assert read_xml(text.format(encoding).encode(encoding)) == {"r": {"a": ["1", ""], "b": {"a": "2"}, "c": "<3"}}
