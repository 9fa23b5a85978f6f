"""The first row of the first table in InfluxDB's annotated CSV."""

import csv
from io import BytesIO, TextIOWrapper
from typing import Final

from keda_py.errors import ScalerError

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""
_NOTHING = "no results found from query"
_LONGEST_LINES = 100
"""Before the first row there are annotations and one header."""


def first_value(text: bytes) -> tuple[str, str]:
    """Type and text of `_value`. Raises ScalerError, also where there is no row or no such column."""
    annotations: dict[str, list[str]] = {}
    header: list[str] | None = None
    lines = csv.reader(TextIOWrapper(BytesIO(text), encoding="utf-8", newline=""))
    try:
        for _ in range(_LONGEST_LINES):
            line = next(lines, None)
            if line is None:
                break
            if line and line[0].startswith("#"):
                annotations[line[0]], header = line, None
            elif line and header is None:
                header = line
            elif line and header is not None:
                return _value(annotations, header, line)
    except (csv.Error, UnicodeDecodeError):
        raise ScalerError("influxdb answers with something else than a table") from None
    raise ScalerError(_NOTHING)


def _value(annotations: dict[str, list[str]], header: list[str], row: list[str]) -> tuple[str, str]:
    if len(header) > 1 and header[1] == "error":
        raise ScalerError(f"influxdb cannot answer the query: {row[1][:400] if len(row) > 1 else ''}")
    types = annotations.get("#datatype")
    if types is None:
        raise ScalerError(_NOTHING)
    if "_value" not in header:
        raise ScalerError("the first row has no column _value")
    at = header.index("_value")
    if at >= len(types) or at >= len(row):
        raise ScalerError("influxdb answers with something else than a table")
    return types[at], row[at] or _default(annotations, at)


def _default(annotations: dict[str, list[str]], at: int) -> str:
    defaults = annotations.get("#default", [])
    return defaults[at] if at < len(defaults) else ""
