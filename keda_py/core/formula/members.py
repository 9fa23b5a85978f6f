"""Compile elements of arrays and maps, slices, and the end of a chain with `?.`.

Pure. `base.key` is an entry of a map, never an attribute of an object.
"""

from collections.abc import Callable

from keda_py.core.formula.frame import Code, Frame, Scope, located
from keda_py.core.formula.syntax.limits import FormulaError
from keda_py.core.formula.syntax.nodes import Literal, MemberAccess, Name, Node, Slice
from keda_py.core.formula.text import cut
from keda_py.core.formula.times import methods_of
from keda_py.core.formula.types import ANY, FLOAT, Type, ValueKind
from keda_py.core.formula.values import Duration, Value, describe, expect_index, to_key

Compile = Callable[[Node, Scope], Code]

_ABSENT: Value = Duration(0)
"""The value of a chain once `?.` met nil: this very object, which no formula can compute."""


def compile_member(node: MemberAccess, scope: Scope, compile_node: Compile) -> Code:
    """Compile `base.key` and `base[key]`. Raises FormulaError if the types exclude such an element."""
    base, key = compile_node(node.base, scope), compile_node(node.key, scope)
    if isinstance(node.base, Name) and node.base.name == "$env":
        gives = _trigger(node, scope)
    else:
        gives = element_type(base.type, key.type, node.key)
    run_base, run_key, optional = base.run, key.run, node.optional

    def run(frame: Frame) -> Value:
        value = run_base(frame)
        if value is _ABSENT or (optional and value is None):
            return _ABSENT
        return _fetch(value, run_key(frame))

    return Code(gives, located(run, node.at), base.cost + key.cost + 1)


def compile_chain(inner: Code) -> Code:
    """Compile the end of a chain: an absent value becomes nil."""
    run_inner = inner.run

    def run(frame: Frame) -> Value:
        value = run_inner(frame)
        return None if value is _ABSENT else value

    return Code(inner.type, run, inner.cost)


def compile_slice(node: Slice, scope: Scope, compile_node: Compile) -> Code:
    """Compile `base[start:end]` of an array or a text."""
    base = compile_node(node.base, scope)
    if base.type.kind not in (ValueKind.ANY, ValueKind.ARRAY, ValueKind.TEXT):
        raise FormulaError(f"only arrays and text have parts, not {base.type}")
    bounds = [None if part is None else compile_node(part, scope) for part in (node.start, node.end)]
    for part in bounds:
        if part and part.type.kind not in (ValueKind.ANY, ValueKind.INT):
            raise FormulaError(f"an index is a whole number, not {part.type}; write int(...)")
    start, end = (part.run if part else None for part in bounds)
    run_base = base.run

    def run(frame: Frame) -> Value:
        value = run_base(frame)
        frame.meter.make(len(value) if isinstance(value, list | str) else 1)
        return cut(value, start(frame) if start else None, end(frame) if end else None)

    return Code(base.type, located(run, node.at), base.cost + 1 + sum(part.cost for part in bounds if part))


def _trigger(node: MemberAccess, scope: Scope) -> Type:
    if not isinstance(node.key, Literal) or not isinstance(node.key.value, str):
        return ANY
    if node.key.value in scope.triggers:
        return FLOAT
    if node.optional:
        return ANY
    names = ", ".join(sorted(scope.triggers)[:20]) or "none"
    raise FormulaError(f'no trigger is named "{node.key.value}"; the names are {names}')


def element_type(base: Type, key: Type, key_node: Node) -> Type:
    """Return the type of `base[key]` and `get(base, key)`. Raises FormulaError if the types exclude such an element."""
    name = key_node.value if isinstance(key_node, Literal) and isinstance(key_node.value, str) else None
    match base.kind:
        case ValueKind.ANY:
            return ANY
        case ValueKind.ARRAY if key.kind in (ValueKind.INT, ValueKind.ANY):
            return base.of
        case ValueKind.MAP if key.kind in (ValueKind.TEXT, ValueKind.ANY) or not base.text_keys:
            return base.of
        case ValueKind.ARRAY:
            raise FormulaError(f"an index is a whole number, not {key}; write int(...)", key_node.at)
        case ValueKind.MAP:
            raise FormulaError(f"the keys of this map are text, not {key}", key_node.at)
    if name is not None and name in methods_of(base.kind):
        raise FormulaError(f"{name} must be called: {name}()")
    raise FormulaError(f"{base} has no members" if name is None else f'{base} has no member "{name}"')


def _fetch(base: Value, key: Value) -> Value:
    match base:
        case list():
            index = expect_index(key)
            if not -len(base) <= index < len(base):
                raise FormulaError(f"there is no element {index} in an array of {len(base)}")
            return base[index]
        case dict():
            return base.get(to_key(key))
        case None:
            raise FormulaError("nil has no members; write ?. where it may be nil")
        case _:
            raise FormulaError(f"{describe(base)} has no members")
