"""Syntax tree -> a function, checked on the way: names, types, regular expressions.

Pure. `syntax/parser.py` makes the tree, `formula.py` runs the function. A name is looked up among the triggers' names,
the variables of `let`, the builtins and the few members of time, and nowhere else: no attribute of a Python object can
be reached. A wrong type that is known is refused here, the rest at evaluation.
"""

from dataclasses import replace
from difflib import get_close_matches
from typing import assert_never

from keda_py.core.formula.builtins import BUILTINS
from keda_py.core.formula.calls import compile_call
from keda_py.core.formula.frame import Code, Frame, Scope, located
from keda_py.core.formula.members import compile_chain, compile_member, compile_slice
from keda_py.core.formula.operators import Step, binary_step
from keda_py.core.formula.syntax.limits import MAX_DEPTH, FormulaError
from keda_py.core.formula.syntax.nodes import (
    Array,
    Binary,
    Call,
    Chain,
    Conditional,
    Let,
    Literal,
    Map,
    MemberAccess,
    MethodCall,
    Name,
    Node,
    Pointer,
    Predicate,
    Sequence,
    Slice,
    Unary,
)
from keda_py.core.formula.syntax.parser import PREDICATES
from keda_py.core.formula.types import ANY, ARRAY, BOOL, FLOAT, INT, MAP, NIL, TEXT, Type, ValueKind, merge, unary_type
from keda_py.core.formula.values import MapKey, Value, expect_bool, expect_text, negate

RESERVED = frozenset(BUILTINS) | frozenset(PREDICATES) | {"now"}
"""Names that `let` must not use."""


def compile_node(node: Node, scope: Scope) -> Code:
    """Compile a node. Raises FormulaError, always with its place."""
    if scope.depth > 2 * MAX_DEPTH:
        raise FormulaError("too many parts of the formula lie inside each other", node.at)
    inner = replace(scope, depth=scope.depth + 1)
    try:
        return _compile(node, inner)
    except FormulaError as error:
        raise error.located(node.at) from None


def _compile(node: Node, scope: Scope) -> Code:
    match node:
        case Literal():
            return _literal(node.value)
        case Name() | Pointer() | Let():
            return _named(node, scope)
        case Unary():
            return _unary(node, scope)
        case Binary():
            return _binary(node, scope)
        case Conditional():
            return _conditional(node, scope)
        case MemberAccess() | Chain() | Slice():
            return _member(node, scope)
        case Call() | MethodCall():
            return compile_call(node, scope, compile_node)
        case Sequence() | Array() | Map():
            return _composed(node, scope)
        case Predicate():
            raise FormulaError("a predicate belongs inside a call such as count(array, {# > 1})")
        case _:
            assert_never(node)


def _literal(value: bool | int | float | str | None) -> Code:
    kinds = {bool: BOOL, int: INT, float: FLOAT, str: TEXT}
    return Code(kinds.get(type(value), NIL), lambda frame: value)


def _named(node: Name | Pointer | Let, scope: Scope) -> Code:
    match node:
        case Name():
            return _name(node.name, scope)
        case Pointer():
            return _pointer(node.name, scope)
        case Let():
            return _let(node, scope)


def _name(name: str, scope: Scope) -> Code:
    if name in scope.variables:
        return Code(scope.variables[name], lambda frame: frame.variables[name])
    if name == "$env":
        return Code(ANY, Frame.environment)
    if name in scope.triggers:
        return Code(FLOAT, lambda frame: frame.triggers.get(name))
    if name in RESERVED:
        raise FormulaError(f"{name} is a function; call it: {name}(...)")
    raise unknown_name(name, scope)


def unknown_name(name: str, scope: Scope) -> FormulaError:
    """Build the error for an unknown name, which lists the known ones."""
    dashed = sorted(trigger for trigger in scope.triggers if trigger.startswith(f"{name}-"))
    close = get_close_matches(name, [*scope.triggers, *scope.variables], n=1)
    if dashed:
        remedy = f'"-" means minus; write $env["{dashed[0]}"], or name the trigger without "-"'
    elif close:
        remedy = f"did you mean {close[0]}?"
    elif scope.triggers:
        remedy = f"the triggers' names are {', '.join(sorted(scope.triggers)[:20])}"
    else:
        remedy = "no trigger has a name; set triggers[].name (cpu and memory triggers take no part in a formula)"
    return FormulaError(f"unknown name {name}: {remedy}")


def _pointer(name: str, scope: Scope) -> Code:
    if scope.array is None:
        raise FormulaError("# stands for an element, inside a predicate only")
    match name:
        case "":
            return Code(scope.array.of, lambda frame: frame.item)
        case "index" if name in scope.pointers:
            return Code(INT, lambda frame: frame.index)
        case "acc" if name in scope.pointers:
            return Code(ANY, lambda frame: frame.accumulated)
        case _:
            known = ", ".join(f"#{one}" for one in ("", *scope.pointers))
            raise FormulaError(f"unknown #{name}; there is {known} here")


def _let(node: Let, scope: Scope) -> Code:
    name = node.name
    if name in scope.triggers or name in scope.variables or name in RESERVED:
        raise FormulaError(f"{name} is taken already; give the variable another name")
    value = compile_node(node.value, scope)
    body = compile_node(node.body, replace(scope, variables={**scope.variables, name: value.type}))
    run_value, run_body = value.run, body.run

    def run(frame: Frame) -> Value:
        frame.variables[name] = run_value(frame)
        return run_body(frame)

    return Code(body.type, run, value.cost + body.cost)


def _unary(node: Unary, scope: Scope) -> Code:
    operand = compile_node(node.operand, scope)
    gives = unary_type(node.operator, operand.type)
    run = operand.run
    match node.operator:
        case "-":
            computed = located(lambda frame: negate(run(frame)), node.at)
        case "+":
            computed = run
        case _:
            computed = located(lambda frame: not expect_bool(run(frame)), node.at)
    return Code(gives, computed, operand.cost + 1)


def _binary(node: Binary, scope: Scope) -> Code:
    """Compile a chain such as a + b + c from the left without recursion, however long it is."""
    chain: list[Binary] = []
    first: Node = node
    while isinstance(first, Binary):
        chain.append(first)
        first = first.left
    left = compile_node(first, scope)
    gives, cost = left.type, left.cost
    steps: list[Step] = []
    for link in reversed(chain):
        right = compile_node(link.right, scope)
        try:
            gives, step = binary_step(link, gives, right)
        except FormulaError as error:
            raise error.located(link.at) from None
        steps.append(step)
        cost += right.cost + 1
    run_first = left.run
    if len(steps) == 1:
        only = steps[0]
        return Code(gives, lambda frame: only(frame, run_first(frame)), cost)

    def run(frame: Frame) -> Value:
        value = run_first(frame)
        for step in steps:
            value = step(frame, value)
        return value

    return Code(gives, run, cost)


def _conditional(node: Conditional, scope: Scope) -> Code:
    condition = compile_node(node.condition, scope)
    if condition.type.kind not in (ValueKind.BOOL, ValueKind.ANY):
        text = f"a condition must be true or false, this is {condition.type}; compare it, as in a > 0"
        raise FormulaError(text, node.condition.at)
    then, otherwise = compile_node(node.then, scope), compile_node(node.otherwise, scope)
    test, run_then, run_otherwise = condition.run, then.run, otherwise.run
    choose = located(lambda frame: expect_bool(test(frame)), node.condition.at)
    return Code(
        merge(then.type, otherwise.type),
        lambda frame: run_then(frame) if choose(frame) else run_otherwise(frame),
        condition.cost + then.cost + otherwise.cost,
    )


def _member(node: MemberAccess | Chain | Slice, scope: Scope) -> Code:
    match node:
        case MemberAccess():
            return compile_member(node, scope, compile_node)
        case Chain():
            return compile_chain(compile_node(node.inner, scope))
        case Slice():
            return compile_slice(node, scope, compile_node)


def _composed(node: Sequence | Array | Map, scope: Scope) -> Code:
    match node:
        case Sequence():
            parts = [compile_node(part, scope) for part in node.parts]
            runs = [part.run for part in parts]
            return Code(parts[-1].type, lambda frame: [run(frame) for run in runs][-1], sum(one.cost for one in parts))
        case Array():
            return _array(node, scope)
        case Map():
            return _map(node, scope)


def _array(node: Array, scope: Scope) -> Code:
    items = [compile_node(item, scope) for item in node.items]
    runs = [item.run for item in items]
    kinds = {item.type.kind for item in items}
    gives = Type(ValueKind.ARRAY, items[-1].type) if len(kinds) == 1 else ARRAY

    def run(frame: Frame) -> Value:
        frame.meter.make(len(runs))
        return [run(frame) for run in runs]

    return Code(gives, located(run, node.at), 1 + sum(item.cost for item in items))


def _map(node: Map, scope: Scope) -> Code:
    pairs = [(compile_node(key, scope), compile_node(value, scope)) for key, value in node.pairs]
    runs = [(key.run, value.run) for key, value in pairs]

    def run(frame: Frame) -> Value:
        frame.meter.make(len(runs))
        entries: dict[MapKey, Value] = {expect_text(key(frame)): value(frame) for key, value in runs}
        return entries

    return Code(MAP, located(run, node.at), 1 + sum(key.cost + value.cost for key, value in pairs))
