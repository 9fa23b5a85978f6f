"""Reads and compares tests/golden/apiserver.json by the rules of its readMe."""

import json
import re  # noqa: TID251 - constant patterns over recorded text
from collections.abc import Iterable, Mapping
from typing import Any

from tests.places import GOLDEN

RECORDED = GOLDEN / "apiserver.json"
REQUIRED_GROUPS = {
    *("apps", "autoscaling", "batch", "keda.sh", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"),
    *("rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"),
    *("apiregistration.k8s.io", "coordination.k8s.io"),
}
# Values that differ by run: they must exist, with any content.
_BY_RUN = {
    *("uid", "resourceVersion", "storageVersionHash", "time", "creationTimestamp", "deletionTimestamp"),
    *("lastTransitionTime", "lastUpdateTime"),
}
_AGES = frozenset(["Age", "Last Seen", "First Seen"])
_REFERENCE = re.compile(r"\{\{(?P<note>[^:]+): (?P<path>[^}]+)\}\}(?: \+ (?P<more>\d+))?")
_PLACEHOLDER = re.compile(r"<[^<>]*>")


def exchanges() -> list[dict[str, Any]]:
    """Return every exchange, in the order sent."""
    recorded: list[dict[str, Any]] = json.loads(RECORDED.read_text())["exchanges"]
    return recorded


def resolved(value: Any, answers: Mapping[str, Any]) -> Any:
    """Replace `{{note: path}}` in a request by the values of earlier answers."""
    if isinstance(value, dict):
        return {key: resolved(item, answers) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, answers) for item in value]
    if not isinstance(value, str) or (found := _REFERENCE.fullmatch(value)) is None:
        return value
    known = answers[found["note"]]
    for key in found["path"].split("."):
        known = known[key]
    return str(int(known) + int(found["more"])) if found["more"] else known


def differences(recorded: Any, actual: Any, path: str = "") -> Iterable[str]:
    """Yield the differences between a recorded and an actual answer."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        yield from _object_differences(recorded, actual, path)
    elif isinstance(recorded, list) and isinstance(actual, list):
        yield from _list_differences(recorded, actual, path)
    elif isinstance(recorded, str) and isinstance(actual, str):
        if not _fits(recorded, actual):
            yield f"{path}: recorded {recorded!r}, answered {actual!r}"
    elif type(recorded) is not type(actual) or recorded != actual:
        yield f"{path}: recorded {recorded!r}, answered {actual!r}"


def _object_differences(recorded: dict[str, Any], actual: dict[str, Any], path: str) -> Iterable[str]:
    recorded, actual = _comparable(recorded), _as_recorded(recorded, _comparable(actual))
    for key in sorted(recorded.keys() | actual.keys()):
        where = f"{path}.{key}" if path else key
        if key not in actual:
            yield f"{where}: recorded {recorded[key]!r}, answered nothing"
        elif key not in recorded:
            yield f"{where}: recorded nothing, answered {actual[key]!r}"
        elif key in _BY_RUN or (key == "name" and "generateName" in recorded):
            if not actual[key]:
                yield f"{where}: answered {actual[key]!r}"
        elif key == "rows" and recorded.get("kind") == "Table":
            yield from _row_differences(recorded, actual, where)
        else:
            yield from differences(recorded[key], actual[key], where)


def _list_differences(recorded: list[Any], actual: list[Any], path: str) -> Iterable[str]:
    if path.endswith(("causes", "finalizers", "shortNames", "categories")):
        recorded, actual = sorted(recorded, key=json.dumps), sorted(actual, key=json.dumps)
    if len(recorded) != len(actual):
        yield f"{path}: recorded {len(recorded)} items, answered {len(actual)}: {actual!r}"
        return
    for at, (one, other) in enumerate(zip(recorded, actual, strict=True)):
        yield from differences(one, other, f"{path}[{at}]")


def _row_differences(recorded: dict[str, Any], actual: dict[str, Any], path: str) -> Iterable[str]:
    """Compare table rows, whose ages and generated names differ by run."""
    ages = {at for at, column in enumerate(recorded["columnDefinitions"]) if column["name"] in _AGES}
    masked = []
    for table in (recorded, actual):
        rows = []
        for row in table["rows"]:
            generated = row["object"]["metadata"].get("generateName") and row["object"]["metadata"]["name"]
            cells = [
                "<age>" if at in ages else "<name>" if cell == generated else cell
                for at, cell in enumerate(row["cells"])
            ]
            rows.append({**row, "cells": cells})
        masked.append(rows)
    yield from differences(masked[0], masked[1], path)


def _comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields that the recordings leave out of every answer."""
    kept = dict(obj)
    if kept.get("continue") == "":
        del kept["continue"]
    if "columnDefinitions" in kept:
        columns = kept["columnDefinitions"]
        kept["columnDefinitions"] = [{k: v for k, v in column.items() if k != "description"} for column in columns]
    if "managedFields" in kept:
        applied = [
            {k: v for k, v in e.items() if k != "time"} for e in kept["managedFields"] if e["operation"] == "Apply"
        ]
        kept["managedFields"] = applied
        if not applied:
            del kept["managedFields"]
    return kept


def _as_recorded(recorded: dict[str, Any], actual: dict[str, Any]) -> dict[str, Any]:
    """Remove managedFields, except of applies, and the fields that a controller may write at any moment, if not
    recorded.
    """
    left_out = []
    if "managedFields" not in recorded:
        left_out.append("managedFields")
    if recorded.get("kind") == "Deployment" and "status" not in recorded:
        left_out.append("status")
    actual = {key: value for key, value in actual.items() if key not in left_out}
    revision = "deployment.kubernetes.io/revision"
    if "annotations" in actual and revision not in recorded.get("annotations", {}):
        notes = {key: value for key, value in actual["annotations"].items() if key != revision}
        actual = {**actual, "annotations": notes}
        if not notes:
            del actual["annotations"]
    if recorded.keys() == {"selector"} and "replicas" in actual:
        actual = {key: value for key, value in actual.items() if key != "replicas"}
    return actual


def _fits(recorded: str, actual: str) -> bool:
    if recorded == actual:
        return True
    parts = [re.escape(part) for part in _PLACEHOLDER.split(recorded)]
    return len(parts) > 1 and re.fullmatch(".*".join(parts), actual, re.DOTALL) is not None


def served(recorded: Any, actual: Any) -> tuple[Any, Any]:
    """Reduce discovery to the kinds that both have: the recording lists all of Kubernetes."""
    if "groups" in recorded:
        return _narrowed(recorded, actual, "groups", lambda group: group["name"])
    if "resources" in recorded:
        return _narrowed(recorded, actual, "resources", lambda resource: resource["name"])
    if "paths" in recorded:
        shared = recorded["paths"].keys() & actual["paths"].keys()
        return tuple({"paths": {k: v for k, v in body["paths"].items() if k in shared}} for body in (recorded, actual))
    recorded, actual = _narrowed(recorded, actual, "items", lambda group: group["metadata"].get("name", ""))
    for one, other in zip(recorded["items"], actual["items"], strict=True):
        for version, mine in zip(one["versions"], other["versions"], strict=True):
            narrowed = _narrowed(version, mine, "resources", lambda resource: resource["resource"])
            version["resources"], mine["resources"] = (body["resources"] for body in narrowed)
    return recorded, actual


def _narrowed(recorded: Any, actual: Any, key: str, name: Any) -> tuple[Any, Any]:
    shared = {name(item) for item in recorded[key]} & {name(item) for item in actual[key]}
    return tuple({**body, key: [item for item in body[key] if name(item) in shared]} for body in (recorded, actual))
