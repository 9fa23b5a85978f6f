"""Helpers for the columns of built-in kinds; used by `workload_columns` and `cluster_columns`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keda_py.localkube.model.durations import age
from keda_py.schema.resources import Obj, PrinterColumn

NONE = "<none>"

NAME = PrinterColumn(name="Name", type="string", format="name")
AGE = PrinterColumn(name="Age", type="string")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printer:
    """The columns of a kind, and a function for the cells after the name."""

    columns: tuple[PrinterColumn, ...]
    cells: Callable[[Obj, datetime], Sequence[Any]]


def text(name: str, *, wide: bool = False) -> PrinterColumn:
    """Build a text column; `wide` ones show with -o wide only."""
    return PrinterColumn(name=name, type="string", priority=1 if wide else 0)


def number(name: str) -> PrinterColumn:
    """Build a numeric column."""
    return PrinterColumn(name=name, type="integer")


def printer(columns: Sequence[PrinterColumn], cells: Callable[[Obj, datetime], Sequence[Any]]) -> Printer:
    """Build the printer of a kind whose first column is its name."""
    return Printer(columns=(NAME, *columns), cells=cells)


def created(obj: Obj, now: datetime) -> str:
    """Format the time since an object's creation."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def spec_of(obj: Obj) -> Obj:
    """The object's spec; empty if missing."""
    return obj.get("spec") or {}


def status_of(obj: Obj) -> Obj:
    """The object's status; empty if missing."""
    return obj.get("status") or {}


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Format labels, sorted, as `app=web,tier=front`; `<none>` without any."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Obj | None) -> str:
    """Format a label selector as kubectl does."""
    selector = selector or {}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or []:
        key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or []))
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        terms.append(forms.get(expression.get("operator"), key))
    return ",".join(sorted(terms)) or NONE


def containers_text(pod_spec: Obj) -> tuple[str, str]:
    """The names and images of a pod's containers."""
    containers = pod_spec.get("containers") or []
    names = ",".join(str(container.get("name", "")) for container in containers)
    return names, ",".join(str(container.get("image", "")) for container in containers)


def template_text(spec: Obj) -> tuple[str, str]:
    """The names and images of a workload's containers."""
    return containers_text((spec.get("template") or {}).get("spec") or {})
