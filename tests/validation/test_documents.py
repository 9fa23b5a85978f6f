"""Text becomes objects as kubectl reads it, each field knows its line, and no input can hurt."""

import pytest

from keda_py.validation.documents import Document, DocumentError, read_documents

HEAD = "apiVersion: v1\nkind: Thing\n"


def only(text: str) -> Document:
    [document] = read_documents(text, "m.yaml")
    return document


def test_documents_and_lists_are_taken_apart() -> None:
    text = (
        f"---\n{HEAD}---\n# nothing here\n---\nkind: List\napiVersion: v1\nitems:\n- {{apiVersion: v1, kind: Inner}}\n"
    )
    found = list(read_documents(text, "m.yaml"))
    assert [(one.body["kind"], one.lines.at("kind")) for one in found] == [("Thing", 3), ("Inner", 10)]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("08:30", "08:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-11-21T05:56:00Z", "2026-11-21T05:56:00Z"),
        ("30 08 * * *", "30 08 * * *"),
        ("60", 60),
        ("1e3", 1000.0),
        ("0.5", 0.5),
        ("on", True),
        ("~", None),
        ('"60"', "60"),
        ("=", "="),
    ],
)
def test_values_have_the_types_that_kubernetes_gives_them(written: str, value: object) -> None:
    assert only(f"{HEAD}value: {written}\n").body["value"] == value


def test_every_path_leads_to_the_line_where_it_is_written() -> None:
    text = f"{HEAD}spec:\n  list:\n  - a: 1\n    b:\n      x.y/z: 2\n  - {{a: 3}}\n"
    lines = only(text).lines
    assert lines.at("spec.list[0].b.x.y/z") == 7
    assert lines.at("spec.list[0].b[x.y/z]") == 7
    assert lines.at("spec.list[1].a") == 8
    assert lines.at("spec.list[0].missing.deeper") == 5
    assert lines.at("spec.list[9]") == 4
    assert (lines.at(""), lines.at("status")) == (1, 1)


def test_helm_tells_which_template_an_object_came_from() -> None:
    text = f"---\n# Source: shop/templates/a.yaml\n{HEAD}---\n# Source: shop/templates/b.yaml\n{HEAD}"
    assert [one.template for one in read_documents(text, "-")] == ["shop/templates/a.yaml", "shop/templates/b.yaml"]


def test_anchors_and_merge_keys_are_followed() -> None:
    assert only(f"{HEAD}a: &a {{x: 1}}\nb: {{<<: *a, y: 2}}\n").body["b"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("a: [\n", 2, "not YAML", id="syntax"),
        pytest.param("{{ if .x }}\na: b\n", 1, "render the template first", id="template"),
        pytest.param("kind: x\napiVersion: v1\na: {{ .x }}\n", 3, "render the template first", id="template value"),
        pytest.param("- a\n", 1, "needs apiVersion and kind", id="list"),
        pytest.param("a: b\n", 1, "needs apiVersion and kind", id="no kind"),
        pytest.param("kind: 3\napiVersion: v1\n", 1, "needs apiVersion and kind", id="kind is a number"),
        pytest.param(f"{HEAD}a: 1\na: 2\n", 4, "a: this key is written twice", id="key twice"),
        pytest.param(f"{HEAD}a: !Ref b\n", 3, "the tag !Ref means nothing", id="tag"),
        pytest.param(f"{HEAD}a: !!binary aGk=\n", 3, "the tag binary means nothing", id="binary"),
        pytest.param(f"{HEAD}? [a]\n: b\n", 3, "a key must be text", id="key is a list"),
        pytest.param(f"{HEAD}a: .nan\n", 3, "is not a number that JSON knows", id="nan"),
        pytest.param(f"{HEAD}a: {'9' * 5000}\n", 3, "is not a number", id="long number"),
        pytest.param("a: \x00\n", 1, "not YAML", id="control character"),
        pytest.param("[" * 100_000, 1, "100 levels of nesting", id="deep"),
        pytest.param(f"{HEAD}a: &a [*a]\n", 1, "aliases expand", id="contains itself"),
        pytest.param(
            f"{HEAD}a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 900)),
            1,
            "aliases expand to more than 100 levels",
            id="a chain of aliases",
        ),
        pytest.param(
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
            1,
            "aliases expand",
            id="a billion laughs",
        ),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        list(read_documents(text, "m.yaml"))
    assert caught.value.line == line
