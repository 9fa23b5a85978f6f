"""The bounds on time and memory of a formula, and the error of one that exceeds them.

Pure. A formula is a user's program inside the operator: it ends within its budget or with a FormulaError. The memory
budget is expr-lang's own (1e6 elements); the others are ours and far beyond what a scaling rule needs.
"""

from keda_py.errors import KedaPyError

# Characters of a formula; it is compiled on the operator's loop, in 20 ms at most.
MAX_LENGTH = 2_000
MAX_DEPTH = 60
"""Brackets, calls and operators inside each other, in the text and in values built by it."""
# Operations of one evaluation, at each poll; 10 ms at most.
MAX_STEPS = 20_000
MAX_ELEMENTS = 1_000_000
"""Array elements and characters of text made during one evaluation."""
MAX_PATTERN = 1_000
"""Characters of a regular expression."""
PATTERN_STEPS = 1_000
"""Steps that a regular expression costs that is compiled while the formula runs."""
DATE_STEPS, ZONE_STEPS, DURATION_STEPS = 250, 250, 20
"""Steps for parsing a date in one of the usual forms, loading a time zone from a file, and parsing a duration."""


class FormulaError(KedaPyError):
    """A formula is wrong, or cannot be evaluated with these values; `at` is the offset in its text, -1: not known."""

    def __init__(self, message: str, at: int = -1) -> None:
        super().__init__(message)
        self.message, self.at = message, at

    def located(self, at: int) -> "FormulaError":
        """Return the error with a place, unless it has one."""
        return self if self.at >= 0 else FormulaError(self.message, at)


class Meter:
    """Counts the steps and elements that one evaluation uses."""

    __slots__ = ("_elements", "_steps")

    def __init__(self) -> None:
        self._steps = self._elements = 0

    def work(self, steps: int) -> None:
        """Count steps. Raises FormulaError beyond MAX_STEPS."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise FormulaError(f"the formula needs more than {MAX_STEPS} steps; make it simpler")

    def make(self, elements: int) -> None:
        """Count elements; call it before making an array or a text of this size. Raises FormulaError."""
        self._elements += elements
        self.work(elements >> 4)
        if self._elements >= MAX_ELEMENTS:
            raise FormulaError(f"the formula makes {MAX_ELEMENTS} or more array elements or characters of text")

    def descend(self, depth: int) -> None:
        """Count one element of nested values at this depth. Raises FormulaError."""
        self.work(1)
        if depth > MAX_DEPTH:
            raise FormulaError(f"arrays lie more than {MAX_DEPTH} deep in each other")
