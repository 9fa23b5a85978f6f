"""The syntax tree of a formula, made by `syntax/parser.py` and compiled by `formula/compiler.py`.

`at` is the offset in the text that an error points at.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A constant: nil, true, 5, 2.5 or "text" (in quotes)."""

    value: bool | int | float | str | None
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A trigger's name, a variable of `let`, or $env."""

    name: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """`#` (name ""), `#index` or `#acc` inside a predicate."""

    name: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary:
    """`-`, `+`, or `not` (also written `!`)."""

    operator: str
    operand: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """Two operands; && and || are spelled `and` and `or` here, ^ is `**`."""

    operator: str
    left: "Node"
    right: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """A choice: `c ? a : b`, or the same as if and else."""

    condition: "Node"
    then: "Node"
    otherwise: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAccess:
    """An element: `base.key` or `base[key]`; optional: `?.`."""

    base: "Node"
    key: "Node"
    optional: bool
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The end of a chain with `?.`: the whole chain is nil if a base is."""

    inner: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A part of an array or a text: `base[start:end]`."""

    base: "Node"
    start: "Node | None"
    end: "Node | None"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a builtin by its name; an argument that is a predicate is a Predicate."""

    name: str
    arguments: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall:
    """A call `base.name(arguments)`; only points in time and durations have methods."""

    callee: MemberAccess
    name: str
    arguments: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """The predicate of a builtin: `{# > 1}`, or without braces."""

    body: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Let:
    """A variable and the expression that may use it: `let name = value; body`."""

    name: str
    value: "Node"
    body: "Node"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Two expressions `a; b` of which the last is the result."""

    parts: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array literal of any number of elements: `[a, b]`."""

    items: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A map literal: `{key: value}`, with constant or computed keys."""

    pairs: "tuple[tuple[Node, Node], ...]"
    at: int


Node = (
    Literal
    | Name
    | Pointer
    | Unary
    | Binary
    | Conditional
    | MemberAccess
    | Chain
    | Slice
    | Call
    | MethodCall
    | Predicate
    | Let
    | Sequence
    | Array
    | Map
)
