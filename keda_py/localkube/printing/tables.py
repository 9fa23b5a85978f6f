"""Tables for `kubectl get`, made by the server.

Columns of custom resources come from the CRD (`Resource.columns`), those of built-in kinds from `workload_columns` and
`cluster_columns`, in the order and with the titles of a real API server. The server calls `build_table` for each
request or watch event that accepts `as=Table`, and adds the list's metadata.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from keda_py.localkube.model.durations import age
from keda_py.localkube.model.json_paths import PathError, find_first
from keda_py.localkube.printing.cluster_columns import CLUSTER_PRINTERS
from keda_py.localkube.printing.printers import NAME, Printer
from keda_py.localkube.printing.workload_columns import WORKLOAD_PRINTERS
from keda_py.schema.resources import Obj, PrinterColumn, Resource

_PRINTERS = WORKLOAD_PRINTERS | CLUSTER_PRINTERS
_CREATED_AT = Printer(
    columns=(NAME, PrinterColumn(name="Created At", type="date")),
    cells=lambda obj, now: [obj["metadata"].get("creationTimestamp")],
)
_AGE_OF_CUSTOM = PrinterColumn(name="Age", type="date", path=".metadata.creationTimestamp")


def build_table(resource: Resource, objects: Sequence[Obj], now: datetime) -> Obj:
    """Build a Table of stored objects, each row with its PartialObjectMetadata; ages are counted from `now`."""
    if resource.custom:
        columns = resource.columns or (_AGE_OF_CUSTOM,)
        definitions = [NAME, *columns]
        rows = [_row(obj, [_custom_cell(obj, column, now) for column in columns]) for obj in objects]
    else:
        printer = _PRINTERS.get((resource.group, resource.kind), _CREATED_AT)
        definitions = [*printer.columns]
        rows = [_row(obj, printer.cells(obj, now), named=NAME in printer.columns[:1]) for obj in objects]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "columnDefinitions": [_definition(column) for column in definitions],
        "rows": rows,
    }


def _definition(column: PrinterColumn) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(obj: Obj, cells: Sequence[Any], *, named: bool = True) -> Obj:
    metadata = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    return {"cells": [obj["metadata"]["name"], *cells] if named else list(cells), "object": metadata}


def _custom_cell(obj: Obj, column: PrinterColumn, now: datetime) -> Any:
    """The cell of a custom column; null if the object has no value of the column's type."""
    try:
        value = find_first(obj, column.path)
    except PathError:
        return None
    match column.type, value:
        case _, None:
            return None
        case "string", _:
            return _printed(value)
        case "date", str():
            return age(value, now)
        case "boolean", bool():
            return value
        case (("integer" | "number"), bool()):
            return None
        case "integer", int() | float():
            return int(value)
        case "number", int() | float():
            return value
        case _:
            return None


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()
