"""Whatever is written as a formula: it is refused or evaluated, soon, and nothing else happens."""

import math
import time
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.formula.builtins import BUILTINS
from keda_py.core.formula.formula import FormulaError, compile_formula
from keda_py.core.formula.syntax.parser import BINARY, PREDICATES
from keda_py.errors import ConfigError
from tests.properties import examples

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
ENV = {"a": 1.5, "b": -7.0, "zero": 0.0, "gone": None, "big": 1e300}
PUNCTUATION = "( ) [ ] { } , ; : . ?. ? ?: # #acc #index .. | let = if else not nil true false $env ! - + $ @ \\ ' \" `"
WORDS = [
    *BINARY,
    *BUILTINS,
    *PREDICATES,
    *ENV,
    *PUNCTUATION.split(),
    "now",
    "x",
    "1",
    "2.5",
    '"t"',
    "0x1F",
    "1e9",
    "//",
]
CALLS = {name: row.takes for name, row in BUILTINS.items() if name not in ("toJSON", "string")}
SECONDS = 2.0


def run(text: str) -> float | str | None:
    """The value, or "refused"; any other exception is a bug, and so is a long time."""
    started, refusal, result = time.process_time(), "", None
    try:
        result = compile_formula(text, ENV).evaluate(ENV, NOW)
    except (ConfigError, FormulaError) as error:
        refusal = str(error)
    assert time.process_time() - started < SECONDS
    assert refusal == "" or refusal.endswith("^")
    assert result is None or isinstance(result, float)
    return "refused" if refusal else result


@st.composite
def calls(draw, inner):
    name = draw(st.sampled_from(sorted(CALLS)))
    form = draw(st.sampled_from(CALLS[name])).rstrip("+")
    return f"{name}({', '.join(draw(inner) for _ in form)})"


def grown(inner):
    """Formulas around formulas: every operator, every builtin, predicates, let, if, members, slices."""
    binary = st.sampled_from(sorted(BINARY)).filter(lambda operator: operator != "|")
    predicate = st.sampled_from(["# > 1", "{#}", "{# % 2 == 0}", "true", "# + #index", "[#, #]", "let q = #; q"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, binary, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("if {} {{ {} }} else {{ {} }}".format, inner, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds('{{"k": {}}}.k'.format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(sorted(PREDICATES)), inner, st.one_of(predicate, inner)),
        st.builds("({} | {}())".format, inner, st.sampled_from(sorted(BUILTINS))),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}[{}:{}]".format, inner, inner, inner),
        st.builds("(let v = {}; v)".format, inner),
        st.builds("{}?.k".format, inner),
        st.builds("not {}".format, inner),
        st.builds("-{}".format, inner),
        calls(inner),
    )


LEAVES = st.sampled_from(
    [*ENV, "1", "2.5", "0", '"text"', '"12"', "true", "nil", "[]", "[1, 2]", "1..9", "{}", "now()"]
)
FORMULAS = st.recursive(LEAVES, grown, max_leaves=12)


@examples(400)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_soups_of_words_are_refused_or_evaluated(text):
    run(text)


@examples(200)
@given(st.text(max_size=60))
def test_any_text_is_refused_or_evaluated(text):
    run(text)


@examples(500)
@given(FORMULAS)
def test_formulas_of_every_operator_and_builtin_are_refused_or_evaluated(text):
    run(text)


NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "zero", "1", "2.5", "-3"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("({0} > {1} ? {0} : {1})".format, inner, inner),
        st.builds("sum([{}, {}])".format, inner, inner),
        st.builds("-{}".format, inner),
    ),
    max_leaves=10,
)


@examples(300)
@given(NUMBERS)
def test_arithmetic_on_numbers_always_has_a_value_and_the_same_one_again(text):
    first = run(text)
    assert isinstance(first, float)
    assert math.isfinite(first)
    assert first == run(f"({text}) ?? 1") == run(f"let v = {text}; v")


@examples(100)
@given(NUMBERS, st.integers(min_value=0, max_value=30))
def test_a_formula_cut_short_is_refused_in_words_or_still_one(text, cut):
    run(text[:cut])
