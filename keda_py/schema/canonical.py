"""The canonical form in which the API server writes values back: quantities and times of built-in kinds.

A client that compares what it sent with what it reads must expect this: 0.5 becomes 500m, 1000m becomes 1, a time loses
or gains digits. An invalid value is left as it is; `decoding` refuses it.
"""

from datetime import UTC, datetime
from typing import Any

from keda_py.core.values.quantity import canonicalize
from keda_py.errors import ConfigError


def canonical(value: Any, form: str) -> Any:
    """Convert `value` to its canonical form; `form` is quantity, time or micro-time."""
    if form == "quantity":
        written = _json_text(value)
        return value if written is None else written
    return _moment(value, micro=form == "micro-time")


def is_quantity(value: Any) -> bool:
    """Whether the API server accepts it as a quantity."""
    return _json_text(value) is not None


def is_time(text: str) -> bool:
    """Whether it is an RFC 3339 time with a zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None and text[10:11] in ("T", "t")
    except ValueError:
        return False


def _json_text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return canonicalize(value)
    except ConfigError:
        return None


def _moment(value: Any, *, micro: bool) -> Any:
    """Format an RFC 3339 time in UTC, with six digits after the second or none."""
    if not isinstance(value, str) or (len(value) == (27 if micro else 20) and value.endswith("Z")):
        return value
    if not is_time(value):
        return value
    instant = datetime.fromisoformat(value).astimezone(UTC)
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
