"""Lines of an object's fields in its file: YAML nodes and the paths that findings carry.

Paths are as the checks write them: `spec.triggers[0].metadata.value`, `metadata.annotations[example.com/a]`; keys may
hold dots themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from yaml import MappingNode, Node, ScalarNode, SequenceNode


@dataclass(frozen=True, slots=True)
class Lines:
    """The node of an object, and the line where its text began before anything was taken out of it."""

    node: Node

    def at(self, path: str) -> int:
        """Return the line of a field, from 1; of its deepest written parent if it is missing."""
        line, node, rest = self.node.start_mark.line, self.node, path
        while rest:
            step = _into_mapping(node, rest) if isinstance(node, MappingNode) else _into_list(node, rest)
            if step is None:
                break
            line, node, rest = step
        return line + 1


def find_duplicates(node: Node, path: str = "") -> Iterator[tuple[str, int]]:
    """(path, line) of each key that a mapping has already; kubectl refuses them, most parsers take the last."""
    if isinstance(node, MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            here = f"{path}.{name}" if path else name
            if name in seen and name != "<<":
                yield here, key.start_mark.line + 1
            seen.add(name)
            yield from find_duplicates(value, here)
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from find_duplicates(item, f"{path}[{index}]")


def _into_mapping(node: MappingNode, path: str) -> tuple[int, Node, str] | None:
    """Find the entry whose key begins the path, the longest such key first."""
    path = path.removeprefix(".")
    entries = [(str(key.value), key, value) for key, value in node.value if isinstance(key, ScalarNode)]
    for name, key, value in sorted(entries, key=lambda entry: -len(entry[0])):
        for written in (name, f"[{name}]"):
            rest = path.removeprefix(written)
            if path.startswith(written) and (not rest or rest[0] in ".["):
                return key.start_mark.line, value, rest
    return None


def _into_list(node: Node, path: str) -> tuple[int, Node, str] | None:
    number, bracket, rest = path.removeprefix("[").partition("]")
    if not (isinstance(node, SequenceNode) and path.startswith("[") and bracket and number.isdecimal()):
        return None
    if int(number) >= len(node.value):
        return None
    item = node.value[int(number)]
    return item.start_mark.line, item, rest
