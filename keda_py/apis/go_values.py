"""Parsers of text as Go reads it: `strconv.ParseBool`, `strconv.ParseFloat` and `time.ParseDuration`, as KEDA uses
them.

Used by settings and by readers of KEDA's annotations or metadata. Rule: ValueError says what would have been accepted;
the caller adds the name of the flag or field.
"""

import math
from datetime import timedelta
from decimal import Decimal

import re2

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_UNIT_MICROSECONDS = {
    "ns": Decimal("0.001"),
    "us": Decimal(1),
    "\u00b5s": Decimal(1),  # micro sign
    "\u03bcs": Decimal(1),  # Greek mu
    "ms": Decimal(1000),
    "s": Decimal(1_000_000),
    "m": Decimal(60_000_000),
    "h": Decimal(3_600_000_000),
}
_LONGEST_NUMBER = 400
_DECIMAL = re2.compile(r"(?i)[+-]?(inf|infinity|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)|nan")
_HEXADECIMAL = re2.compile(r"(?i)[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+")
_PART = re2.compile(r"([0-9]{1,19}\.?[0-9]{0,19}|\.[0-9]{1,19})" "(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
# Characters. re2 scans the text from its beginning for each part, so that 100 000 parts would take a minute.
_LONGEST_DURATION = 400
_LONGEST_MICROSECONDS = Decimal(2**63 - 1) / 1000  # Go counts nanoseconds in an int64: about 292 years


def parse_bool(text: str) -> bool:
    """Parse Go's booleans: 1 t T TRUE true True, 0 f F FALSE false False. Raises ValueError for "yes", "", others."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("is not a boolean; use true or false")


def parse_float(text: str) -> float:
    """Parse Go's numbers: "1e3", ".5", "inf", "0x1p-2"; not Python's "1_000" or " 1". Raises ValueError."""
    if len(text) > _LONGEST_NUMBER or not (_DECIMAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text)):
        raise ValueError("is not a number; write digits with a decimal point, such as 5 or 0.25")
    lower = text.lower()
    try:
        number = float.fromhex(text) if "x" in lower else float(text)
    except OverflowError:
        number = math.inf
    if math.isinf(number) and "inf" not in lower:
        raise ValueError("is out of range: a number fits in 64 bits")
    return number


def parse_duration(text: str) -> timedelta:
    """Parse Go durations: "1m30s", "1.5h", "300ms", "-2s", "0"; to the microsecond. Raises ValueError, also for "5"."""
    sign, unsigned = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if unsigned == "0":
        return timedelta(0)
    total, end = Decimal(0), 0
    while len(text) <= _LONGEST_DURATION and (part := _PART.match(unsigned, end)) is not None:
        total += Decimal(part[1]) * _UNIT_MICROSECONDS[part[2]]
        end = part.end()
    if not unsigned or end != len(unsigned) or total > _LONGEST_MICROSECONDS:
        raise ValueError('is not a duration; write it with its unit, such as "30s", "1m30s" or "500ms"')
    return timedelta(microseconds=sign * int(total))
