"""Compile calls: builtins, builtins with a predicate, and members of points in time and durations. Pure."""

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from keda_py.core.formula.builtins import BUILTINS, length
from keda_py.core.formula.frame import Code, Frame, Run, Scope, located
from keda_py.core.formula.members import element_type
from keda_py.core.formula.predicates import APPLY, TESTS, Test, result_type, sort_by
from keda_py.core.formula.syntax.limits import FormulaError
from keda_py.core.formula.syntax.nodes import Call, MethodCall, Node, Predicate
from keda_py.core.formula.syntax.parser import PREDICATES
from keda_py.core.formula.times import Method, methods_of
from keda_py.core.formula.types import ANY, INT, TIME, Type, ValueKind
from keda_py.core.formula.values import Value, describe, expect_list, kind_of

Compile = Callable[[Node, Scope], Code]


def compile_call(node: Call | MethodCall, scope: Scope, compile_node: Compile) -> Code:
    """Compile a call. Raises FormulaError for an unknown name, and for arguments of wrong types."""
    if isinstance(node, MethodCall):
        return _method_call(node, scope, compile_node)
    if node.name in PREDICATES:
        return _predicate_call(node, scope, compile_node)
    if node.name == "now":
        return _now(node, scope, compile_node)
    return _builtin_call(node, scope, compile_node)


def _builtin_call(node: Call, scope: Scope, compile_node: Compile) -> Code:
    builtin = BUILTINS.get(node.name)
    if builtin is None:
        raise _not_callable(node.name, scope)
    arguments = [compile_node(argument, scope) for argument in node.arguments]
    gives = builtin.check(node.name, [argument.type for argument in arguments])
    if node.name == "get":
        gives = element_type(arguments[0].type, arguments[1].type, node.arguments[1])
    runs, compute = [argument.run for argument in arguments], builtin.run

    def run(frame: Frame) -> Value:
        values = [one(frame) for one in runs]
        for value in values:
            if isinstance(value, list | str | dict):
                frame.meter.work(length(value) >> 4)
        return compute(values, frame.meter)

    return Code(gives, located(run, node.at), 2 + sum(argument.cost for argument in arguments))


def _not_callable(name: str, scope: Scope) -> FormulaError:
    if name in scope.triggers or name in scope.variables:
        return FormulaError(f"{name} is a value, not a function")
    close = get_close_matches(name, [*BUILTINS, *PREDICATES], n=1)
    remedy = (
        "mean() gives the average" if name in ("avg", "average") else f"did you mean {close[0]}()?" if close else ""
    )
    return FormulaError(f"there is no function {name}{'; ' * bool(remedy)}{remedy}")


def _now(node: Call, scope: Scope, compile_node: Compile) -> Code:
    zones = [compile_node(argument, scope) for argument in node.arguments]
    if len(zones) > 1 or any(zone.type.kind not in (ValueKind.ZONE, ValueKind.ANY) for zone in zones):
        raise FormulaError('now() takes nothing, or a time zone such as timezone("Asia/Seoul")')
    runs = [zone.run for zone in zones]

    def run(frame: Frame) -> Value:
        for zone in (one(frame) for one in runs):
            if not isinstance(zone, ZoneInfo):
                raise FormulaError(f"now() takes a time zone, not {describe(zone)}")
            return frame.now.astimezone(zone)
        return frame.now

    return Code(TIME, located(run, node.at), 1)


def _method_call(node: MethodCall, scope: Scope, compile_node: Compile) -> Code:
    """Compile `now().Hour()`. Only points in time, durations, months and weekdays have members to call."""
    base = compile_node(node.callee.base, scope)
    arguments = [compile_node(one, scope) for one in node.arguments]
    name = node.name
    gives = ANY
    if not base.type.is_any:
        taken, gives, _ = _find_method(base.type.kind, name, str(base.type), len(arguments))
        for kind, argument in zip(taken, arguments, strict=True):
            if argument.type.kind not in (kind, ValueKind.ANY):
                raise FormulaError(f"{name}() takes {kind.value}, not {argument.type}")
    run_base, runs = base.run, [one.run for one in arguments]

    def run(frame: Frame) -> Value:
        value = run_base(frame)
        values = [one(frame) for one in runs]
        kinds, _, compute = _find_method(kind_of(value), name, describe(value), len(values))
        for kind, one in zip(kinds, values, strict=True):
            if kind_of(one) is not kind:
                raise FormulaError(f"{name}() takes {kind.value}, not {describe(one)}")
        return compute(value, *values)

    return Code(gives, located(run, node.at), base.cost + 1 + sum(one.cost for one in arguments))


def _find_method(kind: ValueKind, name: str, words: str, count: int) -> Method:
    found = methods_of(kind).get(name)
    if found is None:
        raise FormulaError(f"{words} has no member {name}()")
    if len(found[0]) != count:
        raise FormulaError(f"{name}() takes {len(found[0])} arguments, not {count}")
    return found


def _predicate_call(node: Call, scope: Scope, compile_node: Compile) -> Code:
    name = node.name
    array = compile_node(node.arguments[0], scope)
    if array.type.kind not in (ValueKind.ARRAY, ValueKind.ANY):
        raise FormulaError(f"{name}() takes an array, not {array.type}", node.arguments[0].at)
    body = _predicate(node, array.type, scope, compile_node)
    extra = compile_node(node.arguments[2], scope) if len(node.arguments) > 2 else None
    if extra and name == "sortBy" and extra.type.kind not in (ValueKind.TEXT, ValueKind.ANY):
        raise FormulaError('the order is "asc" or "desc"', node.arguments[2].at)
    apply = _apply(name, body, extra.run if extra else None)
    run_array = array.run

    def run(frame: Frame) -> Value:
        values = expect_list(run_array(frame))
        frame.meter.work(1 + (len(values) >> 4))
        return apply(frame, values)

    cost = 2 + array.cost + body.cost + (extra.cost if extra else 0)
    return Code(result_type(name, array.type, body.type), located(run, node.at), cost)


def _predicate(node: Call, array: Type, scope: Scope, compile_node: Compile) -> Code:
    """Compile the predicate of a call; `count` and `sum` may omit it and use the elements themselves."""
    if len(node.arguments) < 2 or not isinstance(node.arguments[1], Predicate):
        return Code(array.of, lambda frame: frame.item)
    pointers = {"map": {"index": INT}, "reduce": {"index": INT, "acc": ANY}}.get(node.name, {})
    inside = replace(scope, array=Type(ValueKind.ARRAY) if array.is_any else array, pointers=pointers)
    body = compile_node(node.arguments[1].body, inside)
    if node.name in TESTS and body.type.kind not in (ValueKind.BOOL, ValueKind.ANY):
        text = f"the predicate of {node.name}() must give true or false, not {body.type}"
        raise FormulaError(text, node.arguments[1].at)
    return body


def _apply(name: str, body: Code, extra: Run | None) -> Callable[[Frame, list[Value]], Value]:
    if name == "reduce":
        return _reduce(body, extra)
    if name == "sortBy":
        return lambda frame, values: sort_by(values, _test(frame, body), extra(frame) if extra else "asc", frame.meter)
    apply = APPLY[name]
    return lambda frame, values: apply(values, _test(frame, body), frame.meter)


def _test(frame: Frame, body: Code) -> Test:
    run, cost = body.run, body.cost

    def test(item: Value, index: int) -> Value:
        frame.meter.work(cost)
        outer = frame.item, frame.index
        frame.item, frame.index = item, index
        try:
            return run(frame)
        finally:
            frame.item, frame.index = outer

    return test


def _reduce(body: Code, first: Run | None) -> Callable[[Frame, list[Value]], Value]:
    def apply(frame: Frame, values: list[Value]) -> Value:
        if first is None and not values:
            raise FormulaError("reduce() of an empty array needs an initial value as its third argument")
        outer = frame.accumulated
        frame.accumulated = values[0] if first is None else first(frame)
        test = _test(frame, body)
        try:
            for index in range(first is None, len(values)):
                frame.accumulated = test(values[index], index)
            return frame.accumulated
        finally:
            frame.accumulated = outer

    return apply
