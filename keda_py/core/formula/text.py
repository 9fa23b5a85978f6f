"""The functions of formulas on text: searching, cutting, JSON, base64, and values as text as Go prints them.

Pure. Patterns are google-re2's (linear time). Positions in text count bytes of UTF-8, as Go's do; `len` counts
characters.
"""

import base64
import binascii
import json
import math
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import re2

from keda_py.apis.go_values import parse_float
from keda_py.core.formula.syntax.limits import MAX_PATTERN, PATTERN_STEPS, FormulaError, Meter
from keda_py.core.formula.times import print_duration, print_time
from keda_py.core.formula.values import (
    Duration,
    MapKey,
    NamedValue,
    Value,
    describe,
    expect_index,
    expect_text,
    from_key,
    mismatch,
    to_int,
)

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile a pattern. Raises FormulaError if it is no valid regular expression."""
    if len(pattern) > MAX_PATTERN:
        raise FormulaError(f"this regular expression is longer than {MAX_PATTERN} characters")
    try:
        return re2.compile(pattern, _OPTIONS)
    except (re2.error, UnicodeEncodeError) as error:
        raise FormulaError(f'"{pattern}" is no regular expression: {_words(error)}') from None


def _words(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def matches(left: Value, right: Value, meter: Meter) -> bool:
    """Whether the pattern on the right matches anywhere. Nil matches nothing."""
    if left is None or right is None:
        return False
    _, pattern = _texts("matches", left, right)
    meter.work(PATTERN_STEPS)
    return matches_pattern(left, compile_pattern(pattern), meter)


def matches_pattern(value: Value, pattern: re2._Regexp, meter: Meter) -> bool:
    """Whether a compiled pattern matches anywhere."""
    if value is None:
        return False
    if not isinstance(value, str):
        raise FormulaError(f'"matches" cannot be applied to {describe(value)} and text')
    meter.work(1 + 10 * len(value))
    return pattern.search(value) is not None


def compare_texts(operator: str, left: Value, right: Value, meter: Meter) -> bool:
    """Evaluate `contains`, `startsWith` or `endsWith`; false if one operand is nil."""
    if left is None or right is None:
        return False
    text, part = _texts(operator, left, right)
    meter.work(len(text) >> 4)
    match operator:
        case "contains":
            return part in text
        case "startsWith":
            return text.startswith(part)
        case _:
            return text.endswith(part)


def _texts(operator: str, left: Value, right: Value) -> tuple[str, str]:
    if isinstance(left, str) and isinstance(right, str):
        return left, right
    raise mismatch(operator, left, right)


def cut(value: Value, start: Value, end: Value) -> Value:
    """Return `value[start:end]`; bounds outside are moved inside, negative ones count from the end."""
    if isinstance(value, list):
        return value[slice(*_bounds(len(value), start, end))]
    raw = expect_text(value).encode("utf-8", "surrogatepass")
    return raw[slice(*_bounds(len(raw), start, end))].decode(errors="replace")


def _bounds(length: int, start: Value, end: Value) -> tuple[int, int]:
    first = 0 if start is None else expect_index(start)
    last = length if end is None else expect_index(end)
    first, last = (max(0, length + one) if one < 0 else one for one in (first, last))
    last = min(last, length)
    return min(first, last), last


def trim(text: str, characters: str | None = None) -> str:
    """Remove blanks, or these characters, at both ends."""
    return text.strip(characters)


def split(text: str, separator: str, count: int, meter: Meter, *, keep: bool = False) -> list[Value]:
    """Split at separators into at most `count` parts (negative: all); an empty separator cuts into characters."""
    if count == 0:
        return []
    meter.make(len(text) if not separator else text.count(separator) + 1)
    if not separator:
        parts = list(text) if count < 0 else [*text[: count - 1], *([text[count - 1 :]] if text[count - 1 :] else [])]
        return list(parts)
    parts = text.split(separator, count - 1 if count > 0 else -1)
    return [*(part + separator for part in parts[:-1]), parts[-1]] if keep else [*parts]


def replace(text: str, old: str, new: str, count: int, meter: Meter) -> str:
    """Replace the first `count` (negative: all) occurrences."""
    found = text.count(old)
    found = found if count < 0 else min(found, count)
    meter.make(len(text) + found * len(new))
    return text.replace(old, new, count)


def repeat(text: str, times: int, meter: Meter) -> str:
    """Repeat a text. Raises FormulaError for a negative count, and before the text grows too large."""
    if times < 0:
        raise FormulaError(f"repeat() takes a count of 0 or more, not {times}")
    meter.make(max(times, len(text) * times))
    return text * times


def join(parts: list[Value], separator: str, meter: Meter) -> str:
    """Join texts, metered. Raises FormulaError for parts that are no texts."""
    meter.work(len(parts) >> 4)
    texts = [expect_text(part) for part in parts]
    meter.make(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def index_of(text: str, part: str, *, last: bool = False) -> int:
    """Return the position in bytes, -1 if the part is missing."""
    raw, wanted = text.encode("utf-8", "surrogatepass"), part.encode("utf-8", "surrogatepass")
    return raw.rfind(wanted) if last else raw.find(wanted)


def encode_base64(text: str) -> str:
    """Encode with the standard alphabet, padded."""
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def decode_base64(text: str) -> str:
    """Decode a text; raise FormulaError if it is not base64."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        raise FormulaError("fromBase64() was given what is not base64") from None


def from_json(text: str) -> Value:
    """Parse JSON; numbers become floats. Raises FormulaError if it is not JSON."""
    try:
        value: Value = json.loads(text, parse_int=_json_number, parse_float=_json_number, parse_constant=_refuse)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half of a pair of surrogates is not valid text
    except (ValueError, RecursionError):
        raise FormulaError("fromJSON() was given what is not JSON") from None
    return value


def _json_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> float:
    raise ValueError(text)


def to_json(value: Value, meter: Meter) -> str:
    """Write JSON indented by two, keys sorted, as Go does. Raises FormulaError for NaN and infinities."""
    try:
        text = json.dumps(_plain(value, meter, 0), indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError):
        raise FormulaError("toJSON() cannot write NaN, infinities or such keys") from None
    meter.make(len(text))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _plain(value: Value, meter: Meter, depth: int) -> object:
    meter.descend(depth)
    match value:
        case list():
            return [_plain(one, meter, depth + 1) for one in value]
        case dict():
            return {_json_key(key): _plain(one, meter, depth + 1) for key, one in value.items()}
        case float():
            return int(value) if value.is_integer() and abs(value) < 1e21 else value
        case Duration():
            return value.nanoseconds
        case NamedValue():
            return value.number
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case ZoneInfo():
            return {}
        case str():
            meter.make(len(value))
    return value


def _json_key(key: MapKey) -> str:
    if not isinstance(key, str):
        raise TypeError(key)
    return key


def print_value(value: Value, meter: Meter, depth: int = 0) -> str:
    """Print a value as Go's fmt does, for `string(value)`: [1 2.5], map[a:1], 1e+21."""
    meter.descend(depth)
    match value:
        case str():
            meter.make(len(value))
            return value
        case list():
            return f"[{' '.join(print_value(one, meter, depth + 1) for one in value)}]"
        case dict():
            return _print_map(value, meter, depth)
        case bool() | int() | float() | None:
            return _print_plain(value)
        case Duration():
            return print_duration(value.nanoseconds)
        case datetime():
            return print_time(value)
        case NamedValue():
            return value.name
        case ZoneInfo():
            return value.key


def _print_plain(value: bool | int | float | None) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, float):
        return print_float(value)
    return str(value).lower()


def _print_map(value: dict[MapKey, Value], meter: Meter, depth: int) -> str:
    printed = [(key, print_value(from_key(key), meter, depth + 1)) for key in value]
    pairs = sorted(printed, key=lambda pair: pair[1])
    return f"map[{' '.join(f'{text}:{print_value(value[key], meter, depth + 1)}' for key, text in pairs)}]"


def print_float(number: float) -> str:
    """Print the shortest form that reads back as the same float; with an exponent below 0.0001 and from 1e+06 on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if not number or 1e-4 <= abs(number) < 1e6:
        return repr(number).removesuffix(".0")
    # repr() changes to an exponent elsewhere, but has the same shortest digits.
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    power = len(digits) - 1 + int(exponent)
    return f"{'-' * sign}{first}{'.' * bool(rest)}{rest}e{power:+03d}"


def read_int(value: Value) -> int:
    """Convert as `int(value)`: a number cut toward zero, digits, a duration in nanoseconds, a month or weekday."""
    match value:
        case bool():
            pass
        case int():
            return value
        case float():
            return to_int(value)
        case Duration():
            return value.nanoseconds
        case NamedValue():
            return value.number
        case str():
            if re2.fullmatch("[+-]?[0-9]{1,19}", value) and -(2**63) <= int(value) < 2**63:
                return int(value)
            raise FormulaError(f'int(): "{_short(value)}" is not a whole number')
    raise FormulaError(f"int() cannot make a number of {describe(value)}")


def read_float(value: Value) -> float:
    """Convert as `float(value)`: a number, or its text."""
    if isinstance(value, str):
        return _parse_float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise FormulaError(f"float() cannot make a number of {describe(value)}{'; catch nil with ??' * (value is None)}")


def _parse_float(text: str) -> float:
    try:
        return parse_float(text)
    except ValueError:
        raise FormulaError(f'float(): "{_short(text)}" is not a number') from None


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
