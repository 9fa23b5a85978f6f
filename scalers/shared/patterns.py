"""Patterns that a user writes, always re2's: they take time that grows with the text alone, whatever they are."""

from typing import Final

import re2

_LONGEST: Final = 1000


def pattern_problem(pattern: str) -> str:
    """Explain why a pattern is invalid; "" if it is valid."""
    if len(pattern) > _LONGEST:
        return f"it has more than {_LONGEST} characters"
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return str(error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error)
    return ""
