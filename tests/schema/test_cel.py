from typing import Any

import pytest

from keda_py.schema.cel import compile_rule
from keda_py.schema.cel_functions import CelError

SELF = {"n": 3, "s": "abc", "l": [1, 2, 3], "m": {"a": {"b": "x"}}, "f": 1.5}


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.n + 2 * 3 - 1", 8),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7.0 / 2.0", 3.5),
        ("self.n > 2 && self.s != 'x'", True),
        ("!(self.n == 3) || false", False),
        ("self.n == 3 ? 'three' : 'other'", "three"),
        ("has(self.m.a.b) && !has(self.m.c)", True),
        ("self.m['a'].b in ['x', 'y']", True),
        ("self.l[1]", 2),
        ("size(self.l) == self.l.size()", True),
        ("self.l.all(i, i > 0)", True),
        ("self.l.exists(i, i == self.n)", True),
        ("self.l.exists_one(i, i > 1)", False),
        ("self.l.filter(i, i > 1).map(i, i * 10)", [20, 30]),
        ("self.s.startsWith('a') && self.s.endsWith('c') && self.s.contains('b')", True),
        ("self.s.matches('^a.c$')", True),
        ('"a\\"b" + \'\\n\'', 'a"b\n'),
        ("string(self.n) + '!'", "3!"),
        ("self.missing > 1 || true", True),
        ("false && self.missing > 1", False),
        ("self.missing > 1 && false", False),
        ("true == 1", False),
        ("null == null", True),
    ],
)
def test_a_rule_has_its_value(rule: str, value: Any) -> None:
    assert compile_rule(rule)({"self": SELF}) == value


@pytest.mark.parametrize(
    "rule", ["", "self.", "1 +", "self ? 1", "foo(1)", "self.s.frob()", "1 2", "[1", "#", "has(self)"]
)
def test_an_unreadable_rule_is_refused_when_it_is_compiled(rule: str) -> None:
    with pytest.raises(CelError):
        compile_rule(rule)


@pytest.mark.parametrize(
    "rule", ["self.missing", "self.s + 1", "1 / 0", "self.l[9]", "self.n.x", "self.l < 3", "other"]
)
def test_an_expression_without_a_value_is_an_error_when_it_is_evaluated(rule: str) -> None:
    expression = compile_rule(rule)
    with pytest.raises(CelError):
        expression({"self": SELF})
