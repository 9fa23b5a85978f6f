"""The language of formulas beyond the recordings, its errors, its bounds, and what it cannot reach."""

import math
import time
import tracemalloc
from datetime import UTC, datetime

import pytest

from keda_py.core.formula.formula import Formula, FormulaError, compile_formula, try_formula
from keda_py.core.formula.syntax.limits import MAX_DEPTH, MAX_LENGTH
from keda_py.errors import ConfigError

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
ENV = {"a": 1.5, "b": 7.0, "c": 3.0, "gone": None, "trig-one": 2.0}


def value(text: str, **values: float | None) -> float | None:
    return compile_formula(text, ENV).evaluate({**ENV, **values}, NOW)


def truth(text: str) -> bool:
    return value(f"({text}) ? 1 : 0") == 1


def refusal(text: str) -> str:
    with pytest.raises((ConfigError, FormulaError)) as refused:
        value(text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 ?? 3 + 4", 7),
        ("2 ** 0.5 ** 2", 1.189207115002721),
        ("-2 ** 2", -4),
        ("1 < 2 < 3 ? 1 : 2", 1),
        ("3 > 2 > 2 ? 1 : 2", 2),
        ("a > 1 ? b > 2 ? 1 : 2 : 3", 1),
        ("if a > 2 {1} else if a > 1 {2} else {3}", 2),
        ("a not in [1] ? 1 : 0", 1),
        ("1..3 | sum()", 6),
        ("(1; 2)", 2),
        ("017", 17),
        ("1_0.5", 10.5),
        (".5", 0.5),
    ],
)
def test_precedence_and_literals_are_exprs(text, result):
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("9223372036854775807 + 1", -(2.0**63)),
        ("-9223372036854775807 - 2", 2.0**63),
        ("int(1e30)", -(2.0**63)),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("round(0.49999999999999994)", 0),
        ("round(-0.5)", -1),
        ("0 ** -1", math.inf),
        ("1e308 * 10", math.inf),
        ("bitshl(1, 70)", 0),
        ("bitushr(-1, 60)", 15),
        ("findIndex([a], # > 9) ?? 4", 4),
        ("max(gone) ?? 4", 4),
    ],
)
def test_numbers_behave_as_gos(text, result):
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    [
        'string([1.0, 2.5, nil, "x", true]) == "[1 2.5 <nil> x true]"',
        'string({"b": 1, "a": 2}) == "map[a:2 b:1]"',
        'string(123456789.125) == "1.23456789125e+08"',
        'string(0.0001) == "0.0001" and string(1e-5) == "1e-05" and string(-0.0) == "-0"',
        'split("a,b,c", ",", 2)[1] == "b,c" and splitAfter("a,b", ",")[0] == "a,"',
        'replace("aaa", "a", "b", 2) == "bba"',
        'indexOf("héllo", "l") == 3 and len("héllo") == 5',
        '"abc"[:-1] == "ab"',
        '"ABC" matches "(?i)abc" and "abc" not matches "^b"',
        'not (fromJSON("null") matches "x")',
        'toJSON({"a": [1, 2.5]}) == "{\\n  \\"a\\": [\\n    1,\\n    2.5\\n  ]\\n}"',
        'fromJSON("{\\"a\\": {\\"b\\": 4}}").a.b == 4',
        'fromJSON("{\\"a\\": null}")?.a?.b == nil',
        'fromBase64(toBase64("é")) == "é"',
        'sortBy([{"n": 2}, {"n": 1}], .n)[0].n == 1',
        "groupBy([1, 2, 3], # % 2)[1] == [1, 3]",
        "len(groupBy([1, 1.0, true], #)) == 3",
        "map(1..3, map(1..2, #))[0][1] == 2",
        "reduce(1..4, #acc + #index) == 7",
        "count([1, 2, 3], {let t = # * 2; t > 2}) == 2",
        '"\\x41\\u0042\\103" == "ABC"',
    ],
)
def test_texts_arrays_and_predicates_are_exprs(text):
    assert truth(text)


@pytest.mark.parametrize(
    "text",
    [
        "now().Hour() == 6 and now().Year() == 2026",
        'now().Weekday().String() == "Saturday" and int(now().Weekday()) == 6',
        'now(timezone("Asia/Seoul")).Hour() == 15',
        '(now() - date("2026-11-20")).Hours() == 30',
        '(date("2026-11-21") + duration("25h")).Day() == 22',
        'date("14/08/2023", "02/01/2006", "Asia/Seoul").Unix() == 1691938800',
        'date("2023-08-14T10:11:12+09:00").UTC().Hour() == 1',
        'string(duration("90m")) == "1h30m0s" and string(duration("1500ms")) == "1.5s"',
        'string(date("2023-08-14")) == "2023-08-14 00:00:00 +0000 UTC"',
        'duration("1h") > duration("59m")',
    ],
)
def test_time_is_the_callers_and_in_gos_forms(text):
    assert truth(text)


@pytest.mark.parametrize(
    ("text", "words", "line", "caret"),
    [
        ("a + heat", "unknown name heat: the triggers' names are a, b, c, gone, trig-one (1:5)", "a + heat", 4),
        ("a +* 2", 'unexpected "*"; expected a value (1:4)', "a +* 2", 3),
        ("(a + b", "unexpected end of the formula", "(a + b", 6),
        ("a +", "unexpected end of the formula", "a +", 3),
        ("a > 1", "the formula must give a number; float() cannot be applied to true or false", "a > 1", 0),
        ("a and b", '"and" cannot be applied to a number and a number; compare first', "a and b", 2),
        ("a % 2", "write int(name) % 2", "a % 2", 2),
        ("a\n+ b\n+ d", "unknown name d", "+ d", 2),
        ("max(a, 'x')", "max() cannot be applied to a number, text", "max(a, 'x')", 0),
        ("avg([a, b])", "there is no function avg; mean() gives the average", "avg([a, b])", 0),
        ("trig-one", 'write $env["trig-one"]', "trig-one", 0),
        ("[a][3] ?? 1", "there is no element 3 in an array of 1 (1:4)", "[a][3] ?? 1", 3),
        ("gone + 1", "nil and a number; a trigger beyond its failure threshold is nil", "gone + 1", 5),
        ("a ? 1 : 2", "compare it, as in a > 0", "a ? 1 : 2", 0),
        ("a ?? b + c", "put brackets around one of them (1:8)", "a ?? b + c", 7),
        ('"x" matches "["', "is no regular expression", '"x" matches "["', 4),
        ("1e400", "too large a number", "1e400", 0),
        ("'abc", "close it with '", "'abc", 0),
        ("a ~ b", '"~" has no meaning', "a ~ b", 2),
    ],
)
def test_an_error_says_what_to_do_and_points_at_the_place(text, words, line, caret):
    message = refusal(text)
    assert words in message
    assert message.splitlines()[-2:] == [f" | {line}", f" | {'.' * caret}^"]


def test_a_compile_error_names_the_field():
    with pytest.raises(ConfigError) as refused:
        compile_formula("a +", ENV)
    assert refused.value.field == "spec.advanced.scalingModifiers.formula"


def test_a_formula_is_tried_with_minus_one_for_every_trigger():
    formula = compile_formula("[10, 20][int(a) - 1]", ["a"])
    assert formula.evaluate({"a": 2.0}, NOW) == 20
    with pytest.raises(ConfigError, match="tried with -1 for every trigger.*there is no element -2"):
        try_formula(compile_formula("[10][int(a) - 1]", ["a"]), ["a"])


def test_what_is_refused_is_refused_before_it_is_evaluated():
    for text in ("true ? a : (a and b)", "a > 9 ? max('x') : 1", "false ? [a][0.5] : 1", "true ? 1 : heat"):
        with pytest.raises(ConfigError):
            compile_formula(text, ENV)


@pytest.mark.parametrize(
    "text",
    [
        "a.__class__",
        '"x".__class__',
        "[].append",
        "{}.__class__ ?? 'x'",
        "$env.__class__",
        'fromJSON("{}").__class__ ?? "x"',
        "now().__class__",
        "now().__class__()",
        'now().strftime("%s")',
        'fromJSON("[]").append(1)',
        "max.__globals__",
        "__import__('os')",
        "eval('1')",
        "#.__class__",
        'duration("1h").nanoseconds',
        "(a)()",
    ],
)
def test_nothing_of_python_can_be_reached(text):
    refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("len(1..1000000)", id="a long range"),
        pytest.param("len(map(1..1000, map(1..1000, #)))", id="loops in loops"),
        pytest.param("let x = 1..1000; let y = map(x, x); let z = map(x, y); len(flatten(z))", id="flatten of aliases"),
        pytest.param("let x = 1..1000; let y = map(x, x); let z = map(x, y); max(z)", id="max of aliases"),
        pytest.param("let x = 1..1000; let y = map(x, x); let z = map(x, y); len(toJSON(z))", id="JSON of aliases"),
        pytest.param("let x = 1..1000; let y = map(x, x); y == map(x, x) ? 1 : 2", id="comparison of aliases"),
        pytest.param('len(reduce(1..100, #acc + #acc, "ab"))', id="text that doubles"),
        pytest.param("len(string(reduce(1..5000, [#acc], [1])))", id="arrays in arrays"),
        pytest.param('len(repeat("abc", 999999999999))', id="repeat"),
        pytest.param('len(replace(repeat("a", 900000), "a", "bbbbbbbbbb"))', id="replace"),
        pytest.param('len(split(repeat("a,", 400000), ","))', id="split"),
        pytest.param('count(1..3000, "aaa" matches ("a{1," + string(#) + "}"))', id="many patterns"),
        pytest.param('(repeat("a", 30000) + "b") matches "(a|aa)+$" ? 1 : 2', id="a pattern on long text"),
        pytest.param('"a" matches "((a{100}){100}){100}" ? 1 : 2', id="a large pattern"),
        pytest.param("len(uniq(1..20000))", id="uniq"),
        pytest.param("len(sort(map(1..90000, -#)))", id="sort"),
        pytest.param('len(fromJSON(repeat("[", 5000) + repeat("]", 5000)))', id="deep JSON"),
        pytest.param("(" * 4000 + "a" + ")" * 4000, id="brackets"),
        pytest.param("-" * 5000 + "a", id="signs"),
        pytest.param("[1]" + "[0]" * 3000, id="indices"),
        pytest.param("[1,2]" + " | reverse()" * 700, id="pipes"),
        pytest.param('{"a": 1}' + ".a" * 4000, id="members"),
        pytest.param("2 ** " * 1900 + "2", id="powers"),
        pytest.param("a" * (MAX_LENGTH + 1), id="length"),
        pytest.param("9" * 9000, id="digits"),
        pytest.param('date("1", "' + "2006" * 2000 + '").Year()', id="layout"),
        pytest.param('date("2026-01-01", "2006-01-02" + repeat(" ", 90000)).Year()', id="a long layout"),
        pytest.param('date("2026-01-01" + repeat(" ", 90000), "2006-01-02").Year()', id="a long date"),
        pytest.param('count(1..100, date("2026-01-01").Year() > #)', id="many dates"),
        pytest.param('count(1..100, string(timezone("Asia/Seoul")) != "")', id="many zones"),
        pytest.param('count(1..1000, duration("1h").Hours() > #)', id="many durations"),
        pytest.param('(date("9999-12-31") + duration("2000000h")).Year()', id="year"),
        pytest.param('fromJSON("\\"\\\\ud800\\"") matches "a" ? 1 : 2', id="half a character"),
        pytest.param('"\ud800" matches "a" ? 1 : 2', id="half a character in the text"),
    ],
)
def test_a_formula_that_asks_for_too_much_is_refused_soon_and_in_little_memory(text):
    started = time.process_time()
    refusal(text)
    assert time.process_time() - started < 3  # about 0.1 s
    tracemalloc.start()
    try:
        refusal(text)
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("+".join(["a"] * 1000), 1500),
        ("max([" + ",".join(["a", "b"] * 450) + "])", 7),
        ("(" * (MAX_DEPTH - 3) + "a" + ")" * (MAX_DEPTH - 3), 1.5),
        ("sum(1..10000)", 50005000),
    ],
    ids=["a long sum", "a long array", "many brackets", "a range"],
)
def test_large_formulas_within_the_bounds_are_evaluated(text, result):
    assert value(text) == result


def test_a_formula_shows_its_text():
    formula = compile_formula("a + b", ENV)
    assert isinstance(formula, Formula)
    assert (formula.text, repr(formula)) == ("a + b", "Formula('a + b')")
