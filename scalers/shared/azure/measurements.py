"""Answers of Azure's services that measure: one number in each, or an error. What is read here is JSON.

The functions may run in another process (`ScalerContext.parse`), so this file imports little.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from keda_py.errors import ScalerError
from scalers.shared.answers.json_values import is_number, items_of, mapping, read_json

INLINE_BYTES: Final = 32 * 1024
"""A longer answer may take more than 10 ms."""
_NUMERIC: Final = ("real", "int", "long")

Found: TypeAlias = float | None


def last_of_metric(text: bytes, aggregation: str) -> Found:
    """Azure Monitor: the newest point of the first series; None where there is not exactly one metric."""
    metrics = mapping(read_json(text)).get("value")
    if not isinstance(metrics, list) or len(metrics) != 1:
        return None
    series = mapping(metrics[0]).get("timeseries")
    points = mapping(series[0]).get("data") if isinstance(series, list) and series else None
    if not isinstance(points, list) or not points:
        raise ScalerError("azure monitor: the metric has no data in this interval")
    value = mapping(points[-1]).get(aggregation)
    if not is_number(value):
        raise ScalerError(f"azure monitor: the newest point has no {aggregation}")
    return float(value)


def value_of_metric(text: bytes, metric: str, aggregation: str) -> Found:
    """Application Insights: None for null, and where the metric or the aggregation is missing."""
    value = mapping(read_json(text)).get("value")
    found = mapping(value).get(metric)
    if found is None:
        return None
    number = mapping(found).get(aggregation)
    if number is not None and not is_number(number):
        raise ScalerError(f"app insights: {aggregation} of the metric is not a number")
    return None if number is None else float(number)


def cell_of_table(text: bytes) -> float:
    """Log Analytics: the first column of the only row of the only table."""
    tables = mapping(read_json(text)).get("tables")
    if not isinstance(tables, list) or len(tables) != 1:
        raise ScalerError("log analytics: the query must answer one table")
    table = mapping(tables[0])
    return _cell(table.get("columns"), "type", items_of(table.get("rows"), "rows"), "log analytics")


def cell_of_frames(text: bytes) -> float:
    """Azure Data Explorer: the first column of the only row of the primary result, whole or in fragments."""
    columns: object = None
    rows: list[object] = []
    table: object = None
    for frame in map(mapping, items_of(read_json(text), "the whole")):
        kind = frame.get("FrameType")
        if kind in ("DataTable", "TableHeader") and frame.get("TableKind") == "PrimaryResult":
            columns, table = frame.get("Columns"), frame.get("TableId")
            rows += items_of(frame.get("Rows"), "Rows")
        elif kind == "TableFragment" and frame.get("TableId") == table:
            rows += items_of(frame.get("Rows"), "Rows")
        elif kind == "DataSetCompletion" and frame.get("HasErrors"):
            raise ScalerError("data explorer: the query failed half-way")
    return _cell(columns, "ColumnType", rows, "data explorer")


def _cell(columns: object, type_key: str, rows: Sequence[object], service: str) -> float:
    if len(rows) != 1:
        raise ScalerError(f"{service}: the query must answer one row, not {len(rows)}")
    kind = mapping(columns[0]).get(type_key) if isinstance(columns, list) and columns else None
    row = rows[0]
    value = row[0] if isinstance(row, list) and row else None
    if kind not in _NUMERIC or not is_number(value):
        raise ScalerError(f"{service}: the first column must be a number of type {', '.join(_NUMERIC)}")
    return float(value)
