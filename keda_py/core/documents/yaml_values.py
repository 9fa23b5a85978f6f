"""Parse one YAML document into plain values, from events in one pass: time and memory are linear in the text.

An alias is the same object again, never a copy, and refers only to complete values, so that nothing contains itself.
`<<` is a key like any other, since merging multiplies. Keys are text, as in Kubernetes; `.inf` and `.nan` are text,
too.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.constructor import SafeConstructor

from keda_py.core.documents.yaml_guard import TAG, events, implicit_tag
from keda_py.errors import KedaPyError

# Characters; longer numbers fit into no float, and parsing them takes time that grows with the square.
LONGEST_NUMBER: Final = 400

_BASES = {"0b": 2, "0x": 16}
_SPECIAL = frozenset({".inf", ".nan"})
_STANDARD = frozenset({None, "!", f"{TAG}seq", f"{TAG}map"})


class NotPlainYaml(KedaPyError):
    """The text is not YAML, or more than one document, or not only text, numbers, bools, nulls, lists and maps."""


@dataclass(slots=True)
class _Collection:
    """A list under construction, or the alternating keys and values of a mapping."""

    anchor: str | None
    is_mapping: bool
    items: list[object] = field(default_factory=list)

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and len(self.items) % 2 == 0

    def value(self) -> object:
        return dict(zip(self.items[::2], self.items[1::2], strict=True)) if self.is_mapping else self.items


def read_yaml(text: str | bytes) -> object:
    """Parse the only document; None if there is no document. Raises NotPlainYaml, YamlTooDeep."""
    try:
        return _build(events(text))
    except (yaml.YAMLError, ValueError) as error:
        raise NotPlainYaml(f"it cannot be parsed ({type(error).__name__})") from None


def _build(stream: Iterable[yaml.Event]) -> object:
    documents = _Collection(None, is_mapping=False)
    inside, anchored = [documents], dict[str, object]()
    for event in stream:
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value, anchor = (event.value if inside[-1].wants_key else _scalar(event)), event.anchor
        elif isinstance(event, yaml.CollectionStartEvent):
            inside.append(_begin(event, inside[-1]))
            continue
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = inside.pop()
            value, anchor = ended.value(), ended.anchor
        elif isinstance(event, yaml.AliasEvent):
            value, anchor = _named(event.anchor, anchored, inside[-1]), None
        else:
            continue
        # A value gets its anchor when it is complete, so that no alias can refer to what contains it.
        inside[-1].items.append(value)
        if anchor is not None:
            anchored[anchor] = value
    if len(documents.items) > 1:
        raise NotPlainYaml("more than one document")
    return documents.items[0] if documents.items else None


def _begin(event: yaml.CollectionStartEvent, parent: _Collection) -> _Collection:
    if event.tag not in _STANDARD:
        raise NotPlainYaml("a tag that is not read")
    if parent.wants_key:
        raise NotPlainYaml("a key that is not text")
    return _Collection(event.anchor, is_mapping=isinstance(event, yaml.MappingStartEvent))


def _named(anchor: str | None, anchored: Mapping[str, object], parent: _Collection) -> object:
    if anchor is None or anchor not in anchored:
        raise NotPlainYaml("an alias of nothing, or of what contains it")
    value = anchored[anchor]
    if parent.wants_key and not isinstance(value, str):
        raise NotPlainYaml("a key that is not text")
    return value


def _scalar(event: yaml.ScalarEvent) -> object:
    """Resolve a scalar: by its text if unquoted, by its tag if it has one, else as text."""
    tag = event.tag
    if tag is None or tag == "!":
        if not event.implicit[0]:
            return event.value
        tag = implicit_tag(event.value)
    if tag not in _READ:
        raise NotPlainYaml("a tag that is not read")
    return _READ[tag](event.value)


def _read_int(text: str) -> int:
    digits = _number(text).lower()
    sign, digits = (-1, digits[1:]) if digits[:1] == "-" else (1, digits.removeprefix("+"))
    if digits[:2] in _BASES:
        return sign * int(digits[2:], _BASES[digits[:2]])
    return sign * int(digits, 8 if digits[:1] == "0" else 10)


def _read_float(text: str) -> float | str:
    return text if text.lower().lstrip("+-") in _SPECIAL else float(_number(text))


def _number(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise NotPlainYaml(f"a number of more than {LONGEST_NUMBER} characters")
    return text.replace("_", "")


def _read_bool(text: str) -> bool:
    known = SafeConstructor.bool_values.get(text.lower())
    if known is None:
        raise NotPlainYaml("an invalid boolean")
    return bool(known)


_READ: Mapping[str, Callable[[str], object]] = {
    f"{TAG}str": str,
    f"{TAG}merge": str,
    f"{TAG}int": _read_int,
    f"{TAG}float": _read_float,
    f"{TAG}bool": _read_bool,
    f"{TAG}null": lambda _: None,
}
