"""The part of GJSON's paths that picks one value; the examples are those of its own documentation."""

import pytest

from keda_py.errors import ScalerError
from scalers.shared.answers.gjson import value_in

PEOPLE = """{
  "name": {"first": "Tom", "last": "Anderson"},
  "age": 37,
  "children": ["Sara", "Alex", "Jack"],
  "fav.movie": "Deer Hunter",
  "a*b": 8, "a?": 9,
  "big": 12345678901234567890,
  "friends": [
    {"first": "Dale", "last": "Murphy", "age": 44, "nets": ["ig", "fb", "tw"], "vip": true},
    {"first": "Roger", "last": "Craig", "age": 68, "nets": ["fb", "tw"]},
    {"first": "Jane", "last": "Murphy", "age": 47, "nets": ["ig", "tw"], "vip": false}
  ]
}"""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name.last", "Anderson"),
        ("name|last", "Anderson"),
        ("age", 37),
        ("children.#", 3),
        ("children.1", "Alex"),
        ("children.9", None),
        ("child*.2", "Jack"),
        ("c?ildren.0", "Sara"),
        (r"fav\.movie", "Deer Hunter"),
        (r"a\*b", 8),
        (r"a\?", 9),
        ("friends.#.first", ["Dale", "Roger", "Jane"]),
        ("friends.#.missing", []),
        ("friends.1.last", "Craig"),
        ('friends.#(last=="Murphy").first', "Dale"),
        ('friends.#(last=="Murphy")#.first', ["Dale", "Jane"]),
        ('friends.#(last=="Murphy")#.#', 2),
        ("friends.#(age>45).age", 68),
        ("friends.#(age>45)#.last", ["Craig", "Murphy"]),
        ("friends.#(age<=44).age", 44),
        ('friends.#(last!="Murphy").age', 68),
        ('friends.#(first%"D*").last', "Murphy"),
        ('friends.#(first!%"D*").last', "Craig"),
        ("friends.#(vip==true).age", 44),
        ("friends.#(vip==false).age", 47),
        ("friends.#(vip).age", 44),
        ('friends.#(nets.0=="fb").age', 68),
        ('friends.#(last=="Nobody").age', None),
        ("friends.#(last==Craig).age", 68),
        ('children.#(%"J*")', "Jack"),
        ("missing", None),
        ("age.deeper", None),
        ("name.0", None),
    ],
)
def test_a_path_leads_to(path: str, value: object) -> None:
    assert value_in(PEOPLE, path) == value


@pytest.mark.parametrize("path", ["@reverse", "{age}", "[age]", "!true", ".".join("a" * 100)])
def test_what_cannot_answer_one_number_is_refused(path: str) -> None:
    with pytest.raises(ScalerError, match="is not supported"):
        value_in(PEOPLE, path)


def test_a_pattern_that_would_backtrack_for_ever_is_matched_at_once() -> None:
    assert value_in('{"' + "a" * 5000 + '":1}', "a*" * 200 + "b") is None
