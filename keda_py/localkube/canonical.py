"""The form in which the API server writes values back: quantities and times of built-in kinds.

A client that compares what it sent with what it reads has to expect this: 0.5 becomes 500m, 1000m becomes 1, a time
loses or gains digits. A value that cannot be read stays as it is; `decoding` refuses it.
"""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL_EXPONENTS = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANO = 9


def canonical(value: Any, form: str) -> Any:
    """`value` as the API server shows it; `form` is quantity, time or micro-time."""
    if form == "quantity":
        return quantity(value)
    return moment(value, micro=form == "micro-time")


def quantity(value: Any) -> Any:
    """The quantity with the largest suffix that needs no fraction: "0.5" -> "500m", "1024Ki" -> "1Mi"."""
    written = _written(value)
    return value if written is None else written


def is_quantity(value: Any) -> bool:
    """Whether the API server can read it as a quantity."""
    return _written(value) is not None


def is_time(text: str) -> bool:
    """Whether it is an RFC 3339 time with a zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None and text[10:11] in ("T", "t")
    except ValueError:
        return False


def amount_of(value: Any) -> Decimal | None:
    """The exact number that a quantity stands for, None if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    number, suffix = _split(str(value).strip())
    try:
        amount = Decimal(number)
    except InvalidOperation:
        return None
    if suffix in _BINARY[1:]:
        return amount * Decimal(1024 ** _BINARY.index(suffix))
    if suffix in _DECIMAL_EXPONENTS:
        return amount.scaleb(_DECIMAL_EXPONENTS[suffix])
    if suffix[:1] in ("e", "E") and suffix[1:].lstrip("+-").isdigit():
        return amount.scaleb(int(suffix[1:]))
    return None


def _written(value: Any) -> str | None:
    amount = amount_of(value)
    if amount is None:
        return None
    suffix = _split(str(value).strip())[1]
    if suffix in _BINARY[1:]:
        return _binary(amount)
    return _decimal(amount, suffix[:1] if suffix[1:] else "")


def _split(text: str) -> tuple[str, str]:
    end = len(text)
    for position, character in enumerate(text):
        if character not in "+-.0123456789":
            end = position
            break
    return text[:end], text[end:]


def _nanos(amount: Decimal) -> int:
    """Whole nanos, rounded away from zero: that is as fine as the API server stores."""
    scaled = amount.scaleb(_NANO)
    whole = int(scaled)
    return whole if whole == scaled else whole + (1 if scaled > 0 else -1)


def _decimal(amount: Decimal, exponent_mark: str) -> str:
    mantissa, exponent = _nanos(amount), -_NANO
    if mantissa == 0:
        return "0"
    while mantissa % 1000 == 0 and exponent < max(_DECIMAL):
        mantissa, exponent = mantissa // 1000, exponent + 3
    if exponent_mark and exponent:
        return f"{mantissa}e{exponent}"
    return f"{mantissa}{_DECIMAL[exponent]}"


def _binary(amount: Decimal) -> str:
    whole = int(amount)
    if whole != amount or abs(whole) < 1024:
        return _decimal(amount, "")
    step = 0
    while whole % 1024 == 0 and step < len(_BINARY) - 1:
        whole, step = whole // 1024, step + 1
    return f"{whole}{_BINARY[step]}"


def moment(value: Any, *, micro: bool) -> Any:
    """An RFC 3339 time in UTC, with six digits after the second or with none."""
    if not isinstance(value, str) or (len(value) == (27 if micro else 20) and value.endswith("Z")):
        return value
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return value
    if instant.tzinfo is None:
        return value
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
