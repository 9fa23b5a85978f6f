"""The state of one evaluation, and the compiler's knowledge at one place of the text.

Pure. Made by `formula.py` (Frame) and `formula/compiler.py` (Scope, Code).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keda_py.core.formula.syntax.limits import FormulaError, Meter
from keda_py.core.formula.types import Type
from keda_py.core.formula.values import Value


class Frame:
    """The values of one evaluation: of triggers, of `let`, and of `#`, `#index` and `#acc` at this moment."""

    __slots__ = ("accumulated", "index", "item", "meter", "now", "triggers", "variables")

    def __init__(self, triggers: Mapping[str, float | None], now: datetime) -> None:
        self.triggers, self.now, self.meter = triggers, now, Meter()
        self.variables: dict[str, Value] = {}
        self.item: Value = None
        self.accumulated: Value = None
        self.index = 0

    def environment(self) -> Value:
        """Value of `$env`: all triggers by name."""
        return {name: self.triggers[name] for name in self.triggers}


Run = Callable[[Frame], Value]


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled part: its type, its function, and the most steps that it takes without loops."""

    type: Type
    run: Run
    cost: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The meaning of names and pointers at one place; `array` None: not inside a predicate."""

    triggers: frozenset[str]
    variables: Mapping[str, Type] = field(default_factory=dict)
    array: Type | None = None
    pointers: Mapping[str, Type] = field(default_factory=dict)
    depth: int = 0


def located(run: Run, at: int) -> Run:
    """Wrap a function so that its errors have the place."""

    def run_located(frame: Frame) -> Value:
        try:
            return run(frame)
        except FormulaError as error:
            if error.at >= 0:
                raise
            raise error.located(at) from None

    return run_located
