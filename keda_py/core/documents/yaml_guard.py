"""Restrict YAML for every caller: a bound on depth, and only the scalars of YAML 1.2 that JSON knows.

No dates, no numbers to base 60 (`1:30` is text, and long ones take time that grows with the square), nothing that is
constructed from a tag. The C parser builds nested nodes on the C stack, where 100 000 brackets end the process; as
events they cost nothing, so a caller that wants nodes checks the events first.
"""

import re  # noqa: TID251 - constant patterns in which nothing repeats inside a repetition; re2 takes 5 times as long
from collections.abc import Iterator
from typing import Final

import yaml

from keda_py.errors import KedaPyError

DEEPEST: Final = 100
TAG: Final = "tag:yaml.org,2002:"
_NOT_READ = frozenset(f"{TAG}{name}" for name in ("timestamp", "int", "float", "value"))
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|nan|NaN)$")


class YamlTooDeep(KedaPyError):
    """The text has more than DEEPEST levels; `line` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"more than {DEEPEST} levels of nesting")
        self.line = line


class PlainLoader(yaml.CSafeLoader):
    """A safe loader without the types of YAML 1.1 that Kubernetes does not know."""


PlainLoader.yaml_implicit_resolvers = {
    first: [resolver for resolver in resolvers if resolver[0] not in _NOT_READ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
PlainLoader.add_implicit_resolver(f"{TAG}int", _INT, list("-+0123456789"))
PlainLoader.add_implicit_resolver(f"{TAG}float", _FLOAT, list("-+0123456789."))


def events(text: str | bytes) -> Iterator[yaml.Event]:
    """Yield the events of all documents. Raises YamlTooDeep, and yaml.YAMLError if the text is not YAML."""
    try:
        yield from _bounded_events(text)
    except yaml.MarkedYAMLError as error:
        # libyaml has a bound of its own, and reaches it first when it scans ahead for the colon of a key.
        if error.problem is None or "nesting depth" not in error.problem:
            raise
        mark = error.problem_mark
        raise YamlTooDeep(mark.line + 1 if mark is not None else 1) from None


def _bounded_events(text: str | bytes) -> Iterator[yaml.Event]:
    depth = 0
    for event in yaml.parse(text, Loader=PlainLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise YamlTooDeep(event.start_mark.line + 1 if event.start_mark is not None else 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        yield event


def implicit_tag(scalar: str) -> str:
    """Return the tag of a plain scalar without a tag: str, int, float, bool, null or merge, after TAG."""
    for tag, pattern in PlainLoader.yaml_implicit_resolvers.get(scalar[:1], ()):
        if pattern.match(scalar):
            return str(tag)
    return f"{TAG}str"
