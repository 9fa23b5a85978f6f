"""Patterns of names as gobwas/glob of Go reads them without separators, as patterns of re2.

`*` and `**` are any text, `?` one character, `[abc]`, `[a-z]` and `[!a]` one of a set, `{one,two}` one of several; a
backslash takes the meaning away. Both are linear in time, whatever a user writes.
"""

import re2

from keda_py.sdk.scaler import ConfigError
from scalers.shared.patterns import pattern_problem


def pattern_of_glob(glob: str, field: str) -> str:
    """What matches whole names; "" for "". Raises ConfigError."""
    try:
        pattern = _Reader(glob).read() if glob else ""
        problem = pattern_problem(pattern)
    except ValueError as error:
        pattern, problem = "", str(error)
    if problem:
        message = f'{field}: invalid glob pattern "{glob}": {problem}; use *, ?, [abc] and {{one,two}}'
        raise ConfigError(message, field=field)
    return pattern


class _Reader:
    """Reads from the left; `_depth` braces are open."""

    def __init__(self, glob: str) -> None:
        self._rest, self._depth = list(reversed(glob)), 0

    def read(self) -> str:
        parts = []
        while self._rest:
            parts.append(self._part(self._rest.pop()))
        # As in KEDA, a brace that is never closed ends with the pattern.
        return f"(?s){''.join(parts)}{')' * self._depth}"

    def _part(self, letter: str) -> str:
        match letter:
            case "*":
                return ".*"
            case "?":
                return "."
            case "[":
                return self._set()
            case "{":
                self._depth += 1
                return "(?:"
            case "}" if self._depth:
                self._depth -= 1
                return ")"
            case "," if self._depth:
                return "|"
            case "\\":
                return str(re2.escape(self._next()))
        return str(re2.escape(letter))

    def _set(self) -> str:
        letters, negated = [], ""
        if self._rest and self._rest[-1] == "!":
            negated = "^"
            self._rest.pop()
        while (letter := self._next()) != "]":
            letters.append(self._next() if letter == "\\" else letter)
        if not letters:
            raise ValueError("a set is empty")
        if len(letters) == 3 and letters[1] == "-":
            return f"[{negated}{re2.escape(letters[0])}-{re2.escape(letters[2])}]"
        return f"[{negated}{''.join(map(re2.escape, letters))}]"

    def _next(self) -> str:
        if not self._rest:
            raise ValueError("it ends too early")
        return self._rest.pop()
