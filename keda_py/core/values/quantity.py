"""Kubernetes quantities ("1500m", "2Gi", "1e3") as whole milli, and how the API prints them.

Quantities are parsed once, at the edge; all later code computes with int milli. Rounding is away from zero, as in
Kubernetes: "0.1m" is 1 milli and prints as "100u" all the same.
"""

import math
from enum import Enum

import re2

from keda_py.errors import ConfigError

_NANO = 10**9
_LARGEST = 2**63 - 1
"""Largest whole units of a quantity, and largest milli value; Kubernetes caps both."""

# Largest milli value of an HPA, which uses 64 bits; larger values are cut to this instead of wrapping around.
LARGEST_MILLI = _LARGEST

# Characters; no manifest needs more, and the time to parse a number grows with its length.
_LONGEST = 64

_SHAPE = re2.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*)([+-]?[0-9]*)")

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _BINARY.items()}


class QuantityFormat(Enum):
    """The notation of a quantity, which decides how it is printed."""

    DECIMAL = "500m, 3, 12k"
    BINARY = "128Mi"
    EXPONENT = "12e3"


def parse_milli(written: str | float, *, field: str = "quantity") -> int:
    """Parse into milli, rounded away from zero and capped at 2^63-1; YAML numbers are accepted. Raises ConfigError."""
    nano, _ = _parse(written, field)
    return _cap(_divide_away_from_zero(nano, _NANO // 1000))


def parse_number(written: str | float, *, field: str = "quantity") -> float:
    """Parse into a float for a scaler: "0.3333" is 0.3333, where milli would be 334. Raises ConfigError."""
    nano, _ = _parse(written, field)
    return nano / _NANO


def canonicalize(written: str | float, *, field: str = "quantity") -> str:
    """Print the quantity as the API server returns it: "0.5" is "500m", "1024Mi" is "1Gi". Raises ConfigError."""
    nano, format = _parse(written, field)
    return _print(nano, format)


def print_milli(milli: int, format: QuantityFormat = QuantityFormat.DECIMAL) -> str:
    """Print a milli value as the API server does: 1500 is "1500m", 3000 is "3", 12000000 is "12k"."""
    return _print(milli * (_NANO // 1000), format)


def counts_as_zero(value: float) -> bool:
    """Whether KEDA treats the value as 0: NaN, infinities and negative values."""
    return not math.isfinite(value) or value < 0


def to_milli(value: float) -> int:
    """Round a float to three decimals, half to even on its exact value, as Go prints it: 2.01 is 2010.

    Values that count as 0 give 0.
    """
    if counts_as_zero(value):
        return 0
    return min(int(f"{value:.3f}".replace(".", "")), LARGEST_MILLI)


def _parse(written: str | float, field: str) -> tuple[int, QuantityFormat]:
    text = str(written)
    shape = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
    if isinstance(written, bool) or shape is None or not (shape[2] or shape[3]):
        raise _refuse(text, field)
    sign, whole, fraction, letters, exponent = (group or "" for group in shape.groups())
    scale = _scale_of(letters, exponent)
    if scale is None:
        raise _refuse(text, field)
    base, power, format = scale
    nano = _scale_digits(whole, fraction, base, power)
    return (-nano if sign == "-" else nano), format


def _scale_of(letters: str, exponent: str) -> tuple[int, int, QuantityFormat] | None:
    if exponent:
        # "1e3" and "1E3" are exponents; "1E" alone is exa.
        known = letters in ("e", "E") and exponent not in ("+", "-")
        return (10, int(exponent[:20]), QuantityFormat.EXPONENT) if known else None
    if letters in _DECIMAL:
        return 10, _DECIMAL[letters], QuantityFormat.DECIMAL
    if letters in _BINARY:
        return 1024, _BINARY[letters], QuantityFormat.BINARY
    return None


def _scale_digits(whole: str, fraction: str, base: int, power: int) -> int:
    """Scale digits to nano, rounded up and capped; cheap however large the exponent is."""
    amount = int(whole + fraction)
    if base == 1024:
        amount, power = amount * 1024**power, 0
    shift = 9 + power - len(fraction)
    if not amount:
        return 0
    # Beyond these bounds the result is known without computing a power, which an exponent such as 1e999999999 would
    # make take for ever: one digit exceeds the cap, or _LONGEST digits stay below one nano.
    if shift > 40:
        return _LARGEST * _NANO
    if shift < -_LONGEST - 40:
        return 1
    nano = amount * 10**shift if shift >= 0 else _divide_away_from_zero(amount, 10**-shift)
    return min(nano, _LARGEST * _NANO)


def _refuse(text: str, field: str) -> ConfigError:
    allowed = "a number with one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as 1e3"
    return ConfigError(f"{field}: {text!r} is not a quantity; write {allowed}", field=field)


def _print(nano: int, format: QuantityFormat) -> str:
    if format is QuantityFormat.BINARY and abs(nano) >= 1024 * _NANO:
        return _print_binary(_divide_away_from_zero(nano, _NANO))
    mantissa, power = nano, -9
    while mantissa and mantissa % 1000 == 0 and power < 18:
        mantissa, power = mantissa // 1000, power + 3
    if not mantissa:
        return "0"
    if format is QuantityFormat.EXPONENT:
        return f"{mantissa}e{power}" if power else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIXES[power]}"


def _print_binary(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < 6:
        units, power = units // 1024, power + 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


def target_milli(target: int | float) -> int:
    """Milli units; a float is rounded to three decimals as values are, so 2.01 is 2010m."""
    return target * 1000 if isinstance(target, int) else to_milli(target)


def print_target(target: int | float) -> str:
    """Return a quantity in the API server's canonical form, so that it equals what is stored: 2.01 is `2010m`."""
    return print_milli(target_milli(target))


def _divide_away_from_zero(value: int, divisor: int) -> int:
    return -(-value // divisor) if value >= 0 else value // divisor


def _cap(value: int) -> int:
    return max(-_LARGEST, min(_LARGEST, value))
