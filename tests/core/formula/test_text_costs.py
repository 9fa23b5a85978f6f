"""Whatever is written as YAML, a schedule, a selector or a quantity: it is understood or refused soon, in little memory."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keda_py.core.cron.fields import MAX_LENGTH as LONGEST_CRON
from keda_py.core.cron.fields import parse_fields
from keda_py.core.cron.windows import is_open, next_change, parse_window
from keda_py.core.documents.json_guard import check_json
from keda_py.core.documents.yaml_guard import YamlTooDeep
from keda_py.core.documents.yaml_values import LONGEST_NUMBER, NotPlainYaml, read_yaml
from keda_py.core.values.quantity import canonicalize, parse_milli, parse_number
from keda_py.core.values.selectors import MAX_LENGTH as LONGEST_SELECTOR
from keda_py.core.values.selectors import MAX_REQUIREMENTS, LabelSelector
from keda_py.errors import ConfigError
from keda_py.sdk.metadata.values import read_float, read_int, read_ints
from scalers.shared.cluster.label_selector import check_label_selector
from tests.costs import SIZE, built_of, peak_of, thorough, within

MIB = 2**20
NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)

YAML = [
    "[",
    "]",
    "{",
    "}",
    ": ",
    "- ",
    "? ",
    ",",
    "&a ",
    "*a",
    "<<",
    "!",
    "!!int ",
    "|",
    ">",
    "'",
    '"',
    "\\",
    "#",
    "%",
    "\n",
]
YAML += [
    "---\n",
    "...\n",
    "\t",
    " ",
    "a",
    "1",
    ":1",
    "0x",
    "_",
    ".inf",
    "~",
    "\u00e9",
    "\ufeff",
    "\x00",
    "\r",
    "@",
    "`",
]


def as_yaml(text: str | bytes) -> object:
    with suppress(NotPlainYaml, YamlTooDeep):
        return read_yaml(text)
    return None


@given(built_of(YAML))
@thorough
def test_any_yaml_is_read_or_refused_soon(text: str) -> None:
    with within():
        as_yaml(text)
        as_yaml(text.encode())


@given(built_of(YAML))
@thorough
def test_any_yaml_takes_memory_that_grows_with_its_length(text: str) -> None:
    assert peak_of(lambda: as_yaml(text)) < 256 * SIZE


def chained(levels: int) -> str:
    """Aliases of aliases: 10 to the power of `levels` values, were they copied."""
    lines = ["a0: &a0 [1]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: "[" * MIB, id="brackets"),
        pytest.param(lambda: "{a: " * (MIB // 4), id="mappings"),
        pytest.param(lambda: "- " * (MIB // 2), id="dashes"),
        pytest.param(lambda: "? " * (MIB // 2), id="question marks"),
        pytest.param(lambda: "1:" * (MIB // 2), id="sexagesimal"),
        pytest.param(lambda: "9" * MIB, id="digits"),
        pytest.param(lambda: "0x" + "f" * MIB, id="hexadecimal"),
        pytest.param(lambda: "0." + "9" * MIB, id="decimals"),
        pytest.param(lambda: "1_" * (MIB // 2), id="underscores"),
        pytest.param(lambda: '"' + "\\n" * (MIB // 2) + '"', id="escapes"),
        pytest.param(lambda: "'" * MIB, id="quotes"),
        pytest.param(lambda: "#" * MIB, id="a comment"),
        pytest.param(lambda: "%TAG ! a\n" * (MIB // 9), id="directives"),
        pytest.param(lambda: "&a " * (MIB // 3), id="anchors"),
        pytest.param(lambda: "[&a 1," + "*a," * (MIB // 30) + "]", id="aliases"),
        pytest.param(lambda: "{" + ",".join(f"k{n}: 1" for n in range(MIB // 40)) + "}", id="keys"),
        pytest.param(lambda: "<<: *a\n" * (MIB // 40), id="merge keys"),
        pytest.param(lambda: chained(1000), id="a chain of aliases"),
        pytest.param(lambda: "--- a\n" * (MIB // 40), id="documents"),
        pytest.param(lambda: "a" * MIB + ": b", id="a long key"),
        pytest.param(lambda: "|\n" + " \n" * (MIB // 2), id="a literal"),
        pytest.param(lambda: " " * MIB, id="spaces"),
    ],
)
def test_long_yaml_is_read_or_refused_soon(make: Callable[[], str]) -> None:
    text = make()
    with within(3.0):
        as_yaml(text)
    assert peak_of(lambda: as_yaml(text[: MIB // 8])) < 32 * MIB


def test_an_alias_is_the_same_object_again_and_never_a_copy() -> None:
    found = read_yaml("a: &a [1]\nb: *a\n")
    assert isinstance(found, dict)
    assert found["a"] is found["b"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        (".inf", ".inf"),
        ("-.Inf", "-.Inf"),
        (".nan", ".nan"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("0x1F", 31),
        ("-0b11", -3),
        ("010", 8),
        ("1_000", 1000),
        ("9" * LONGEST_NUMBER, int("9" * LONGEST_NUMBER)),
        ("yes", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("=", "="),
        ("<<", "<<"),
        ("{1: a, null: b, <<: {c: 1}}", {"1": "a", "null": "b", "<<": {"c": 1}}),
        ("{a: &x b, *x : 1}", {"a": "b", "b": 1}),
        ("{a: 1, a: 2}", {"a": 2}),
    ],
)
def test_plain_yaml_means_what_it_says(text: str, value: object) -> None:
    assert read_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("&a [*a]", "an alias of nothing"),
        ("*a", "an alias of nothing"),
        ("[a]: b", "a key that is not text"),
        ("{a: &x [1], *x : 1}", "a key that is not text"),
        ("!Ref a", "a tag that is not read"),
        ("!!binary aGk=", "a tag that is not read"),
        ("!!set {a}", "a tag that is not read"),
        ("!!timestamp 2026-01-01", "a tag that is not read"),
        ("!!bool maybe", "an invalid boolean"),
        ("!!int 1:30", "cannot be parsed"),
        ("08", "cannot be parsed"),
        ("9" * (LONGEST_NUMBER + 1), "a number of more than 400 characters"),
        ("a\n---\nb", "more than one document"),
        ("a: [", "cannot be parsed"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(NotPlainYaml, match=words):
        read_yaml(text)


def test_json_of_more_parts_than_a_token_or_a_secret_has_is_refused() -> None:
    check_json(b'{"data":{"data":{"password":"' + b"s" * MIB + b'"}}}')
    for part in (b"[],", b"{},", b"[", b'{"a":'):
        with within(), pytest.raises(ValueError, match="more than 10000 lists and mappings"):
            check_json(part * (MIB // len(part)))


CRON = [
    "*",
    "/",
    "-",
    ",",
    "?",
    " ",
    "0",
    "1",
    "59",
    "31",
    "jan",
    "SUN",
    "TZ=",
    "CRON_TZ=",
    "UTC",
    "+",
    "@",
    "L",
    "#",
    "\t",
]
ZONES = st.one_of(
    st.sampled_from(["UTC", "Europe/Prague", "Africa/Casablanca", ""]), built_of(["A", "/", "..", "\x00"])
)


@given(built_of(CRON, 2 * LONGEST_CRON), built_of(CRON, 2 * LONGEST_CRON), ZONES)
@example("0 0 29 2 *", "0 0 1 3 *", "UTC")
@example("0-59/1 * * * 0-6", "59 23 31 1-12 *", "America/New_York")
@example(f"{','.join(['1'] * 100_000)} * * * *", "* * * * *", "UTC")
@thorough
def test_any_schedule_is_understood_or_refused_soon(start: str, end: str, zone: str) -> None:
    with within(), suppress(ConfigError):
        window = parse_window(start, end, zone)
        is_open(window, NOW)
        next_change(window, NOW)


@given(st.lists(built_of(["*", "1", "-", "/", ",", "5", "?"], 180).filter(str.strip), min_size=5, max_size=5))
@thorough
def test_a_field_of_a_schedule_holds_no_more_values_than_there_are(words: list[str]) -> None:
    with suppress(ConfigError):
        fields = parse_fields(" ".join(words), field="start")
        assert max(len(field.values) for field in (fields.minute, fields.hour, fields.day_of_month)) <= 60


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: "1," * 500 + "1 * * * *", id="minutes"),
        pytest.param(lambda: "9" * 10**6, id="digits"),
        pytest.param(lambda: "* " * 10**6, id="stars"),
        pytest.param(lambda: "TZ=" + "A" * 10**6 + " * * * * *", id="a time zone"),
    ],
)
def test_a_schedule_that_is_too_long_is_refused_without_being_repeated(make: Callable[[], str]) -> None:
    text = make()
    with pytest.raises(ConfigError) as refused:
        parse_window(text, "0 0 * * *", "UTC")
    assert len(str(refused.value)) < 200
    with pytest.raises(ConfigError, match="timezone: more than 255 characters"):
        parse_window("0 0 * * *", "1 0 * * *", "A" * 10**6)


SELECTOR = [
    "a",
    "k/b",
    "=",
    "==",
    "!=",
    "!",
    ",",
    " in ",
    " notin ",
    "(",
    ")",
    "<",
    ">",
    "-",
    "9",
    "\u00b2",
    " ",
    "\n",
    ".",
]


@given(built_of(SELECTOR, 3 * LONGEST_SELECTOR))
@thorough
def test_any_label_selector_is_understood_or_refused_soon(text: str) -> None:
    pod = {"metadata": {"labels": {"a": "9", "k/b": "a"}}}
    with within():
        with suppress(ConfigError):
            check_label_selector(text, field="podSelector")
        with suppress(ValueError):
            selector = LabelSelector.parse(text)
            assert len(selector.requirements) <= MAX_REQUIREMENTS
            selector.matches(pod)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: ",".join(f"k{n}" for n in range(100_000)), id="requirements"),
        pytest.param(lambda: "a," * 500_000, id="one requirement again and again"),
        pytest.param(lambda: "(" * 10**6, id="brackets"),
        pytest.param(lambda: "a in (" + "b," * 10**6 + "b)", id="values"),
        pytest.param(lambda: "a>" + "9" * 5000, id="a large number"),
        pytest.param(lambda: ",".join(["a"] * (MAX_REQUIREMENTS + 1)), id="one too many"),
    ],
)
def test_a_label_selector_that_is_too_long_is_refused_soon(make: Callable[[], str]) -> None:
    text = make()
    with within(), pytest.raises(ValueError, match=r"at most|unable to parse"):
        LabelSelector.parse(text)
    with within(), pytest.raises(ConfigError):
        check_label_selector(text, field="podSelector")


def test_no_requirement_of_a_selector_is_lost() -> None:
    text = ",".join(f"k{n}" for n in range(MAX_REQUIREMENTS))
    assert len(LabelSelector.parse(text).requirements) == MAX_REQUIREMENTS
    check_label_selector(text, field="podSelector")


NUMBER = ["9", "0", ".", "e", "E", "+", "-", "k", "Ki", "m", "n", "_", "x", "inf", "nan", " ", "\u0663"]


@given(built_of(NUMBER, 4096))
@example("1e" + "9" * 62)
@example("9" * 10**6)
@thorough
def test_any_number_is_read_or_refused_soon(text: str) -> None:
    with within():
        for read in (parse_milli, parse_number, canonicalize, read_int, read_float):
            with suppress(ConfigError, ValueError):
                read(text)


@pytest.mark.parametrize(
    "make",
    [lambda: ",".join(["1-99999"] * 100_000), lambda: ",".join(["1"] * 200_000)],
    ids=["ranges", "numbers"],
)
def test_a_list_of_numbers_stands_for_no_more_than_it_may(make: Callable[[], str]) -> None:
    text = make()
    with within(), pytest.raises(ValueError, match="stands for more than 100000 numbers"):
        read_ints(",", True, text)
