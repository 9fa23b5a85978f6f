"""Schemas of the built-in kinds: fields, list keys, defaults and bounds, as far as clients can notice them.

`builtin_kinds.json` has them in OpenAPI's own words, mostly by the names that shapes have in Kubernetes' own document,
with fields in the order in which the API server reports missing ones; it is edited by hand. Keywords beside a `$ref`
are added to what it names.
`x-canonical` names the form in which the API server writes a value back (`canonical.py`). Where depth has no use here
(a volume's driver options, a webhook's match conditions) any fields are accepted. Rules that compare fields are in
`builtin_defaults` and `builtin_rules`. Kinds share shapes: schemas are never changed.
"""

from importlib.resources import files
from typing import Any

import orjson

_FILE = orjson.loads((files("keda_py.schema") / "builtin_kinds.json").read_bytes())
_resolved: dict[str, dict[str, Any]] = {}


def _resolve(found: Any) -> Any:
    """Put what a `$ref` names in its place, one dict for all that name it, and leave comments out."""
    if isinstance(found, list):
        return [_resolve(item) for item in found]
    if not isinstance(found, dict):
        return found
    own = {key: _resolve(value) for key, value in found.items() if key not in ("$ref", "$comment")}
    if (name := found.get("$ref")) is None:
        return own
    if name not in _resolved:
        _resolved[name] = _resolve(_FILE["definitions"][name])
    return {**_resolved[name], **own} if own else _resolved[name]


_BY_KIND: dict[tuple[str, str, str], dict[str, Any]] = {
    (gvk["group"], gvk["version"], gvk["kind"]): _resolve(schema)
    for schema in _FILE["kinds"]
    for gvk in schema["x-kubernetes-group-version-kind"]
}
OBJECT_META: dict[str, Any] = _resolved["ObjectMeta"]


def schema_of(group: str, version: str, kind: str) -> dict[str, Any] | None:
    """The schema of a built-in kind (group "" is core), or None if missing."""
    return _BY_KIND.get((group, version, kind))
