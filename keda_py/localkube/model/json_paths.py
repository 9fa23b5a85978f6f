"""The part of JSONPath that printer columns, scale paths and selectable fields use.

`.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a.b']`, `.items[0]`, `[*]`, and a
backslash before a dot that belongs to the name. Compiled paths are cached.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[Any], Iterable[Any]]


class PathError(ValueError):
    """A path outside of the supported grammar."""


def find_first(obj: Any, path: str) -> Any:
    """The first value at `path`; None if missing."""
    return next(find(obj, path), None)


def find(obj: Any, path: str) -> Iterator[Any]:
    """Yield all values at `path`, in order. Raises PathError for an invalid path."""
    values: Iterable[Any] = (obj,)
    for step in compile_path(path):
        values = [found for value in values for found in step(value)]
    yield from values


@lru_cache(maxsize=1024)
def compile_path(path: str) -> tuple[Step, ...]:
    """Compile a path to functions, one for each step."""
    steps: list[Step] = []
    rest = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    while rest:
        if rest.startswith("["):
            inside, rest = _bracket(rest)
            steps.append(_step_of(inside))
        elif rest.startswith("."):
            name, rest = _name(rest[1:])
            if name:
                steps.append(_every if name == "*" else _field(name))
        else:
            raise PathError(f"JSONPath {path!r}: expected a dot or a bracket before {rest!r}")
    return tuple(steps)


def _name(text: str) -> tuple[str, str]:
    """Split off a field name, which ends at a dot or bracket; a backslash escapes the next character."""
    name, position = "", 0
    while position < len(text) and text[position] not in ".[":
        if text[position] == "\\" and position + 1 < len(text):
            position += 1
        name += text[position]
        position += 1
    return name, text[position:]


def _bracket(text: str) -> tuple[str, str]:
    """Split the text into the content of its first brackets, with regard to quotes and nesting, and the rest."""
    depth, quote = 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[]":
            depth += 1 if character == "[" else -1
            if depth == 0:
                return text[1:position].strip(), text[position + 1 :]
    raise PathError(f"JSONPath: {text!r} has no closing bracket")


def _step_of(inside: str) -> Step:
    if inside == "*":
        return _every
    if inside.startswith("?(") and inside.endswith(")"):
        return _filter(inside[2:-1])
    if inside[:1] in ("'", '"') and inside[-1:] == inside[:1] and len(inside) > 1:
        return _field(inside[1:-1])
    if inside.removeprefix("-").isdigit():
        return _item(int(inside))
    raise PathError(f"JSONPath: [{inside}] is not supported; use a name in quotes, a number, * or ?(@.x==y)")


def _every(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _field(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[name],) if isinstance(value, dict) and name in value else ()

    return step


def _item(position: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        fits = isinstance(value, list) and -len(value) <= position < len(value)
        return (value[position],) if fits else ()

    return step


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<=": lambda one, other: bool(one <= other),
    ">=": lambda one, other: bool(one >= other),
    "<": lambda one, other: bool(one < other),
    ">": lambda one, other: bool(one > other),
}


def _filter(condition: str) -> Step:
    """Compile a filter: `@.type=="Ready"`, or `@.type` for existence."""
    operator = next((known for known in _COMPARISONS if known in condition), "")
    left, _, right = condition.partition(operator) if operator else (condition, "", "")
    path = left.strip().removeprefix("@")
    if not left.strip().startswith("@"):
        raise PathError(f"JSONPath filter {condition!r}: the left side must start with @")
    wanted = _literal(right.strip()) if operator else None

    def keeps(item: Any) -> bool:
        found = next(find(item, path), None)
        if not operator:
            return found is not None
        try:
            return found is not None and _COMPARISONS[operator](found, wanted)
        except TypeError:  # a number and a text have no order
            return False

    return lambda value: [item for item in _every(value) if keeps(item)]


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        raise PathError(f"JSONPath: {text!r} is not a text in quotes, number or boolean") from None
