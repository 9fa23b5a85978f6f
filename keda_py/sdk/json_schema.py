"""JSON Schema of manifests, for editors and CI: the kind as its definition has it, and each trigger by its type.

Made from the definitions (`apis/kinds/crds.py`) and from what scalers declare (`type_pages.py`). Stricter than the API
server: a key that no scaler reads is wrong here.
"""

from collections.abc import Mapping
from typing import Any

from keda_py.apis.kinds.crds import crd_of
from keda_py.apis.kinds.kind import KindRow
from keda_py.apis.kinds.table import KINDS
from keda_py.errors import ConfigError
from keda_py.sdk.metadata.keys import Key
from keda_py.sdk.metadata.marks import META
from keda_py.sdk.registry import scaler_class, trigger_types
from keda_py.sdk.type_pages import TypePage, page_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def manifest_schema(kind_name: str) -> Schema:
    """Return the schema of a manifest of this kind. Raises ConfigError for a kind that is not ours."""
    kind = next((one for one in KINDS if one.name == kind_name), None)
    if kind is None:
        raise ConfigError(f"{kind_name!r} is not a kind of ours; write one of {', '.join(one.name for one in KINDS)}")
    definition = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties = {name: value for name, value in definition["properties"].items() if name != "status"}
    if kind.has_triggers:
        properties["spec"] = _with_triggers(properties["spec"])
    return {
        "$schema": DIALECT,
        "title": kind.name,
        "type": "object",
        "properties": properties | _constants(kind),
        "required": ["apiVersion", "kind", "metadata", "spec"],
    }


def _with_triggers(spec: Schema) -> Schema:
    """Replace the schema of any trigger by those of all types."""
    triggers = spec["properties"]["triggers"]
    items = {"oneOf": [_trigger(page_of(name), triggers["items"]) for name in trigger_types()]}
    return spec | {"properties": spec["properties"] | {"triggers": triggers | {"items": items}}}


def _constants(kind: KindRow) -> Schema:
    return {"apiVersion": {"const": f"{kind.group}/v1alpha1"}, "kind": {"const": kind.name}}


def _trigger(page: TypePage, any_trigger: Mapping[str, Any]) -> Schema:
    """Schema of a trigger of one type; its `type` tells which of all schemas applies."""
    own = {"type": {"const": page.type}, "metadata": _metadata(page)}
    return {
        "title": page.type,
        "description": page.summary,
        "type": "object",
        "properties": {**any_trigger["properties"], **own},
        "required": ["type", "metadata"],
        "additionalProperties": False,
    }


def _metadata(page: TypePage) -> Schema:
    properties: Schema = {}
    patterns: Schema = {}
    for key, meaning in page.keys:
        found = _value(key, meaning)
        if META in key.order and not key.removed:
            properties |= dict.fromkeys(key.names, found)
        variable = {"type": "string", "description": f"Names a variable of the container. {meaning}"}
        properties |= dict.fromkeys(key.variables, variable)
        if key.prefix:
            patterns[f"^{key.prefix.replace('.', '[.]')}"] = {"type": "string"}
    open_ended = scaler_class(page.type).metadata_model.passes_unknown_keys
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": patterns,
        "required": sorted(key.name for key, _ in page.keys if _is_certain(key)),
        "additionalProperties": {"type": "string"} if open_ended else False,
    }


def _is_certain(key: Key) -> bool:
    """Whether a manifest must have the key itself: no other source and no other spelling."""
    return key.required and key.order == (META,) and len(key.names) == 1


def _value(key: Key, meaning: str) -> Schema:
    found: Schema = {"type": "string"}
    if meaning:
        found["description"] = meaning
    if key.deprecated:
        found["deprecated"] = True
    if " | " in key.type:
        found["enum"] = key.type.split(" | ")
    if key.default not in (None, "", [], {}) and isinstance(key.default, bool | int | float | str):
        found["default"] = str(key.default).lower() if isinstance(key.default, bool) else f"{key.default}"
    return found
