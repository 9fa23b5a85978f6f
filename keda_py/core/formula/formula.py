"""The formula of scalingModifiers: compiled once per generation, evaluated for each poll and each question of the HPA.

Pure. KEDA evaluates it with expr-lang 1.17.8; this is that language, within the bounds of `syntax/limits.py`. Text ->
`syntax/lexer.py` -> `syntax/parser.py` -> `formula/compiler.py` -> a Formula; `core/evaluation.py` evaluates.
Behaviour reference, section 9.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from keda_py.core.formula.compiler import compile_node
from keda_py.core.formula.frame import Code, Frame, Scope
from keda_py.core.formula.syntax.limits import MAX_LENGTH, FormulaError
from keda_py.core.formula.syntax.parser import parse
from keda_py.core.formula.text import read_float
from keda_py.core.formula.types import ValueKind
from keda_py.errors import ConfigError

FIELD = "spec.advanced.scalingModifiers.formula"
_NUMERIC = frozenset({ValueKind.ANY, ValueKind.NIL, ValueKind.INT, ValueKind.FLOAT, ValueKind.TEXT})
_DRY_RUN_VALUE = -1.0
_DRY_RUN_INSTANT = datetime(2000, 1, 1, tzinfo=UTC)

__all__ = ["FIELD", "Formula", "FormulaError", "compile_formula", "try_formula"]


class Formula:
    """A formula that is well-formed, over triggers of known names. Made by `compile_formula`."""

    def __init__(self, text: str, code: Code, *, offset: int) -> None:
        self.text = text
        self._run, self._offset = code.run, offset

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def evaluate(self, values: Mapping[str, float | None], now: datetime) -> float | None:
        """Return the result, perhaps NaN or an infinity; None if it is nil. `values` None: beyond its failure
        threshold.

        Raises FormulaError that shows the place.
        """
        try:
            result = self._run(Frame(values, now))
            return None if result is None else read_float(result)
        except FormulaError as error:
            raise FormulaError(point_at(error, self.text, self._offset), error.at) from None


def compile_formula(text: str, names: Collection[str]) -> Formula:
    """Parse and check a formula without evaluating it. Raises ConfigError that shows the place."""
    wrapped, offset = wrap(text)
    try:
        if len(text) > MAX_LENGTH:
            raise FormulaError(f"the formula has {len(text)} characters, {MAX_LENGTH} are allowed", 0)
        code = compile_node(parse(wrapped), Scope(triggers=frozenset(names)))
        if code.type.kind not in _NUMERIC:
            raise FormulaError(f"the formula must give a number, not {code.type}", offset)
    except FormulaError as error:
        raise ConfigError(
            f"error validating formula in ScalingModifiers\n{point_at(error, text, offset)}", field=FIELD
        ) from None
    return Formula(text, code, offset=offset)


def try_formula(formula: Formula, names: Collection[str]) -> None:
    """Evaluate a formula with -1 for every trigger, as KEDA does before it accepts one. Raises ConfigError."""
    try:
        formula.evaluate(dict.fromkeys(names, _DRY_RUN_VALUE), _DRY_RUN_INSTANT)
    except FormulaError as error:
        message = (
            f"error validating formula in ScalingModifiers\ntried with -1 for every trigger, as KEDA does: {error}"
        )
        raise ConfigError(message, field=FIELD) from None


def wrap(text: str) -> tuple[str, int]:
    """Wrap a formula so that it gives a number, as KEDA does, with the offset of its text; by `??` nil stays nil."""
    if "??" in text:
        head = "let _kedaCompositeResult = ("
        return f"{head}{text}); _kedaCompositeResult == nil ? nil : float(_kedaCompositeResult)", len(head)
    if text.startswith("float("):
        return text, 0
    return f"float({text})", len("float(")


def point_at(error: FormulaError, text: str, offset: int) -> str:
    """Format an error with its line and column, and the line with a caret below it; `offset` as of `wrap`."""
    at = min(max(error.at - offset, 0), len(text))
    before = text[:at]
    start = before.rfind("\n") + 1
    shown = text[start:].partition("\n")[0]
    column = at - start
    left = max(0, column - 60)
    caret = f" | {shown[left : left + 120]}\n | {'.' * (column - left)}^"
    return f"{_unwrapped(error, text, offset)} ({before.count(chr(10)) + 1}:{column + 1})\n{caret}"


def _unwrapped(error: FormulaError, text: str, offset: int) -> str:
    """Remove the brackets that `wrap` put around the text from a message."""
    if offset and not offset <= error.at <= offset + len(text):
        return f"the formula must give a number; {error.message}"
    if offset and error.at == offset + len(text):
        return error.message.replace('unexpected ")"', "unexpected end of the formula")
    return error.message
