"""Text of single metadata values -> typed values, by KEDA's rules (behaviour reference, section 18).

Every function raises ValueError with a text that follows the value and says what would be right; it never repeats the
value, because the value may be a secret. `keys.py` chooses the function by a field's type.
"""

from datetime import timedelta

import re2

from keda_py.apis.go_values import parse_duration

# As JSON writes numbers, which is how KEDA reads them: no "+3", "007", ".5" and "5.". Whole numbers are recognised by
# methods of str: a list may have 100 000, and a pattern costs ten times as much for each.
_FLOAT = re2.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DECIMAL = re2.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INT64 = 2**63
_LONGEST_RANGE = 100_000
_TOO_MANY = f"stands for more than {_LONGEST_RANGE} numbers"


def read_int(text: str) -> int:
    """An int64: "5.0" and "1_000", which Python's int or pydantic would take, are refused."""
    return parse_int(text if _is_json_int(text) else "")


def parse_int(text: str) -> int:
    """An int64 as a source may write it, "+7" and "007" too: Go's strconv.ParseInt."""
    if not _are_digits(text[1:] if text.startswith(("+", "-")) else text):
        raise ValueError("is not a whole number: write digits only, such as 5")
    value = int(text) if len(text) < 21 else _INT64
    if not -_INT64 <= value < _INT64:
        raise ValueError("is out of range: a whole number fits in 64 bits")
    return value


def read_float(text: str) -> float:
    """A finite decimal number; "NaN" and "Inf" are refused, no threshold can use them."""
    return parse_float(text if _FLOAT.fullmatch(text) else "")


def parse_float(text: str) -> float:
    """A finite number as a source may write it, "+7", ".5" and "5." too."""
    if not _are_digits(text) and not _DECIMAL.fullmatch(text):
        raise ValueError("is not a number: write digits with a decimal point, such as 5 or 0.25")
    value = float(text)
    if abs(value) == float("inf"):
        raise ValueError("is out of range: a number fits in 64 bits")
    return value


def read_duration(text: str) -> timedelta:
    """Go's duration ("1m30s", "250ms"); a bare integer counts milliseconds ("30" is 30 ms). Never negative."""
    duration = timedelta(milliseconds=min(read_int(text), 10**12)) if _is_json_int(text) else parse_duration(text)
    if duration < timedelta(0):
        raise ValueError("is negative: a duration is zero or more")
    return duration


def read_choice(choices: tuple[str, ...], text: str) -> str:
    """One of a few words, in exactly this spelling."""
    if text not in choices:
        raise ValueError(f"is not allowed: write one of {', '.join(choices)}")
    return text


def read_list(separator: str, text: str) -> list[str]:
    """The parts, trimmed."""
    return [part.strip() for part in text.split(separator)]


def read_ints(separator: str, ranges: bool, text: str) -> list[int]:
    """Whole numbers, and with `ranges` spans of them: "1-3,5". As in KEDA, "5-3" is a span without any number."""
    values: list[int] = []
    parts = read_list(separator, text)
    if len(parts) > _LONGEST_RANGE:
        raise ValueError(_TOO_MANY)
    for part in parts:
        low, dash, high = part.partition("-")
        if ranges and dash:
            first, last = read_int(low.strip()), _read_end(high.strip())
            if last - first >= _LONGEST_RANGE:
                raise ValueError(_TOO_MANY)
            values.extend(range(first, last + 1))
        else:
            values.append(read_int(part))
        if len(values) > _LONGEST_RANGE:
            raise ValueError(_TOO_MANY)
    return values


def _read_end(text: str) -> int:
    """Read the end of a range, which has one dash."""
    if text.startswith("-"):
        raise ValueError("has a range with two dashes: write it as 1-3")
    return read_int(text)


def read_map(separator: str, text: str) -> dict[str, str]:
    """ "a=b,c=d=="; only the first "=" of a pair divides it, so that base64 values keep theirs."""
    pairs = {}
    for part in read_list(separator, text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise ValueError("is not a map: write name=value pairs with a comma between")
        pairs[name.strip()] = value.strip()
    return pairs


def _is_json_int(text: str) -> bool:
    digits = text.removeprefix("-")
    return _are_digits(digits) and (digits == "0" or not digits.startswith("0"))


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
