"""Compile a binary operator and its right operand into a step on the left operand's value.

Pure. `and`, `or` and `??` evaluate their right operand only if it matters.
"""

from collections.abc import Callable

from keda_py.core.formula.frame import Code, Frame
from keda_py.core.formula.syntax.limits import FormulaError
from keda_py.core.formula.syntax.nodes import Binary, Literal
from keda_py.core.formula.text import compare_texts, compile_pattern, matches, matches_pattern
from keda_py.core.formula.types import Type, binary_type
from keda_py.core.formula.values import BINARY, Value, expect_bool, expect_int

Step = Callable[[Frame, Value], Value]


def binary_step(node: Binary, left: Type, right: Code) -> tuple[Type, Step]:
    """Return the result type, and the step from the left value to the result. Raises FormulaError."""
    gives = binary_type(node.operator, left, right.type)
    if node.operator == "matches" and isinstance(node.right, Literal) and isinstance(node.right.value, str):
        pattern = compile_pattern(node.right.value)
        return gives, _located(lambda frame, left: matches_pattern(left, pattern, frame.meter), node.at)
    return gives, _located(_step(node.operator, right), node.at)


def _step(operator: str, right: Code) -> Step:
    run = right.run
    match operator:
        case "and":
            return lambda frame, left: expect_bool(left) and expect_bool(run(frame))
        case "or":
            return lambda frame, left: expect_bool(left) or expect_bool(run(frame))
        case "??":
            return lambda frame, left: run(frame) if left is None else left
        case "..":
            return lambda frame, left: _range(frame, left, run(frame))
        case "matches":
            return lambda frame, left: matches(left, run(frame), frame.meter)
        case "contains" | "startsWith" | "endsWith":
            return lambda frame, left: compare_texts(operator, left, run(frame), frame.meter)
        case _:
            compute = BINARY[operator]
            return lambda frame, left: compute(left, run(frame), frame.meter)


def _range(frame: Frame, first: Value, last: Value) -> Value:
    """Return the integers from first to last, both included; empty if the last is lower."""
    start, end = expect_int(first), expect_int(last)
    frame.meter.make(max(0, end - start + 1))
    return list(range(start, end + 1))


def _located(step: Step, at: int) -> Step:
    def run(frame: Frame, left: Value) -> Value:
        try:
            return step(frame, left)
        except FormulaError as error:
            if error.at >= 0:
                raise
            raise error.located(at) from None

    return run
