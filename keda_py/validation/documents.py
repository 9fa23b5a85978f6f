"""YAML or JSON text -> Kubernetes objects, each with the lines of its fields.

Read as kubectl reads it: many documents a file, `kind: List` taken apart, keys are text, a repeated key is an error,
`30:08` and `2026-01-01` are text. Input may be hostile: depth, and the size that aliases expand to, are bounded. The C
parser is asked for events first, because it builds nested nodes on the C stack. Next: `release.py`.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite
from typing import Any

import re2
import yaml
from yaml.constructor import SafeConstructor

from keda_py.core.admission.codes import read_codes
from keda_py.core.documents.yaml_guard import DEEPEST, TAG, PlainLoader, YamlTooDeep, events
from keda_py.errors import ConfigError
from keda_py.validation.lines import Lines, find_duplicates

MOST_NODES = 1_000_000
_SOURCE = "# Source: "
"""Comment that Helm writes above each document that it renders."""
_RENDER = "render the template first: helm template ... | keda-py validate -"
_SCALARS = frozenset(f"{TAG}{name}" for name in ("str", "int", "float", "bool", "null"))


# Comments `# keda-py: ignore=CODE,CODE`: which warnings they switch off for which lines of a text.
#
# A comment counts for the YAML document that it stands in; above the first of a file, for the whole file.


_COMMENT = re2.compile(r"(?:^|\s)#\s*keda-py:\s*ignore=([a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)")
_SEPARATOR = "---"


class Switches:
    """Switches of one text; lines count from 1."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        # A separator begins the next document; what stands above all content belongs to the file.
        self._document_of = list(accumulate(int(line.startswith(_SEPARATOR)) for line in lines))
        first = next((number for number, line in enumerate(lines) if _has_content(line)), len(lines))
        self._of_file = frozenset(code for line in lines[:first] for code in _codes(line))
        self._by_document: dict[int, frozenset[str]] = {}
        for number, line in enumerate(lines[first:], first):
            if codes := _codes(line):
                document = self._document_of[number]
                self._by_document[document] = self._by_document.get(document, frozenset()) | codes

    def at(self, line: int) -> frozenset[str]:
        """Return the codes that are switched off for the object on that line."""
        document = self._document_of[line - 1] if 0 < line <= len(self._document_of) else 0
        return self._of_file | self._by_document.get(document, frozenset())


def _has_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(("#", _SEPARATOR))


def _codes(line: str) -> frozenset[str]:
    found = _COMMENT.search(line) if "keda-py:" in line else None
    return read_codes(found[1]) if found else frozenset()


class DocumentError(ConfigError):
    """The text is no manifest; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object. `template` is the file of a chart that rendered it, "" where that is not known.

    `ignored` are the codes of warnings that a comment switches off for it.
    """

    file: str
    body: dict[str, Any]
    lines: Lines
    template: str = ""
    ignored: frozenset[str] = frozenset()


def read_documents(text: str, file: str) -> Iterator[Document]:
    """Yield the objects of a file. Raises DocumentError at the first place that cannot be read; nothing follows it."""
    try:
        _check_depth(text)
        templates, switches = _templates(text), Switches(text)
        builder = SafeConstructor()
        for root in yaml.compose_all(text, Loader=PlainLoader):
            _check_size(root)
            template = _last_before(templates, root.start_mark.line)
            for node in _objects(root):
                ignored = switches.at(node.start_mark.line + 1)
                body = _body(builder, node)
                yield Document(file=file, body=body, lines=Lines(node), template=template, ignored=ignored)
    except yaml.YAMLError as error:
        raise _unreadable(error, text) from None


def _unreadable(error: yaml.YAMLError, text: str) -> DocumentError:
    hint = f"; {_RENDER}" if "{{" in text else ""
    if not isinstance(error, yaml.MarkedYAMLError):
        return DocumentError(f"not YAML: {error}{hint}", 1)
    if not hint and "expected" in (error.problem or ""):
        hint = "; check the indentation here and above"
    mark = error.problem_mark
    return DocumentError(f"not YAML: {error.problem or error.context}{hint}", mark.line + 1 if mark is not None else 1)


def _check_depth(text: str) -> None:
    """Bound the nesting as far as the text can be parsed; the place where it cannot is reported when nodes are made."""
    try:
        with suppress(yaml.YAMLError):
            deque(events(text), maxlen=0)
    except YamlTooDeep as error:
        raise DocumentError(
            f"more than {DEEPEST} levels of nesting; no Kubernetes object needs that", error.line
        ) from None


def _check_size(root: yaml.Node) -> None:
    """Bound the size: aliases are shared nodes, so a few lines can stand for more values than any program can hold."""
    known: dict[int, tuple[int, int]] = {}

    def measure(node: yaml.Node) -> tuple[int, int]:
        """Return (values, levels of nesting)."""
        if id(node) not in known:
            # Set before the children are measured, so that a cycle meets it and ends.
            known[id(node)] = (MOST_NODES, 0)  # a node that contains itself has no end
            inside = [measure(child) for child in _children(node)]
            known[id(node)] = 1 + sum(size for size, _ in inside), 1 + max((depth for _, depth in inside), default=0)
        return known[id(node)]

    size, depth = measure(root)
    if size > MOST_NODES:
        text = f"aliases expand to more than {MOST_NODES} values; write the values out"
        raise DocumentError(text, root.start_mark.line + 1)
    if depth > DEEPEST + 1:
        text = f"aliases expand to more than {DEEPEST} levels of nesting; write the values out"
        raise DocumentError(text, root.start_mark.line + 1)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _objects(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the objects of a document: none for an empty one, the items of a List."""
    if isinstance(root, yaml.ScalarNode) and root.tag == f"{TAG}null":
        return
    if not isinstance(root, yaml.MappingNode):
        raise DocumentError("not a Kubernetes object; it needs apiVersion and kind", root.start_mark.line + 1)
    entries = {key.value: value for key, value in root.value if isinstance(key, yaml.ScalarNode)}
    kind, items = entries.get("kind"), entries.get("items")
    if isinstance(kind, yaml.ScalarNode) and kind.value == "List" and isinstance(items, yaml.SequenceNode):
        for item in items.value:
            yield from _objects(item)
    else:
        yield root


def _body(builder: SafeConstructor, node: yaml.Node) -> dict[str, Any]:
    for path, line in find_duplicates(node):
        raise DocumentError(f"{path}: this key is written twice; kubectl refuses that", line)
    body: dict[str, Any] = _build(builder, node)
    if not isinstance(body.get("kind"), str) or not isinstance(body.get("apiVersion"), str):
        raise DocumentError("not a Kubernetes object; it needs apiVersion and kind", node.start_mark.line + 1)
    return body


def _build(builder: SafeConstructor, node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_build(builder, item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        builder.flatten_mapping(node)
        return {_key(key): _build(builder, value) for key, value in node.value}
    return _scalar(builder, node)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError(
            f"a key must be text; if these are a template's braces, {_RENDER}", node.start_mark.line + 1
        )
    return str(node.value)


def _scalar(builder: SafeConstructor, node: yaml.Node) -> Any:
    line = node.start_mark.line + 1
    if node.tag not in _SCALARS:
        raise DocumentError(f"the tag {node.tag.removeprefix(TAG)} means nothing to Kubernetes; remove it", line)
    try:
        value = builder.construct_object(node)
    except (ValueError, OverflowError):
        raise DocumentError(f"{str(node.value)[:40]} is not a number; put text in quotes", line) from None
    if isinstance(value, float) and not isfinite(value):
        raise DocumentError(f"{node.value} is not a number that JSON knows; put text in quotes", line)
    return value


def _templates(text: str) -> Mapping[int, str]:
    """Line of each "# Source:" comment -> the template that it names."""
    lines = enumerate(text.splitlines())
    return {number: line.removeprefix(_SOURCE).strip() for number, line in lines if line.startswith(_SOURCE)}


def _last_before(templates: Mapping[int, str], line: int) -> str:
    return next((name for number, name in reversed(list(templates.items())) if number <= line), "")
