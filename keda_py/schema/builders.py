"""Short constructors for schemas; each returns a new OpenAPI v3 dict.

`obj(replicas=int32(minimum=0), template=POD_TEMPLATE)` reads like the Go struct that it describes. Keywords after the
fields are OpenAPI's own (`default=`, `nullable=`); `needs` lists required fields. `x-canonical` names the form in which
the API server writes a value back (`canonical.py`). Kinds may share a shape: schemas are never changed.
"""

from typing import Any

Schema = dict[str, Any]


def string(**more: Any) -> Schema:
    """Build the schema of a string, with further OpenAPI keywords."""
    return {"type": "string", **more}


def enum(*values: str, **more: Any) -> Schema:
    """Build the schema of an enumeration."""
    return {"type": "string", "enum": list(values), **more}


def int32(**more: Any) -> Schema:
    """Build the schema of Go's int32; `decoding` enforces its range."""
    return {"type": "integer", "format": "int32", **more}


def int64(**more: Any) -> Schema:
    """Build the schema of Go's int64; `decoding` enforces its range."""
    return {"type": "integer", "format": "int64", **more}


def boolean(**more: Any) -> Schema:
    """Build the schema of true or false."""
    return {"type": "boolean", **more}


def time(**more: Any) -> Schema:
    """Build the schema of metav1.Time, in whole seconds."""
    return {"type": "string", "format": "date-time", "x-canonical": "time", **more}


def micro_time(**more: Any) -> Schema:
    """Build the schema of metav1.MicroTime, with six digits after the second."""
    return {"type": "string", "format": "date-time", "x-canonical": "micro-time", **more}


def quantity(**more: Any) -> Schema:
    """Build the schema of resource.Quantity, whose 0.5 is written back as 500m."""
    return {"x-kubernetes-int-or-string": True, "x-canonical": "quantity", **more}


def int_or_string(**more: Any) -> Schema:
    """Build the schema of intstr.IntOrString: a number, or a name or percentage."""
    return {"x-kubernetes-int-or-string": True, **more}


def anything(**more: Any) -> Schema:
    """Build the schema of any JSON, for fields whose depth does not matter here."""
    return {"x-kubernetes-preserve-unknown-fields": True, **more}


def opened(**more: Any) -> Schema:
    """Build the schema of an object with unchecked fields."""
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **more}


def obj(*needs: str, **fields: Schema) -> Schema:
    """Build the schema of an object with these fields."""
    schema: Schema = {"type": "object", "properties": fields}
    return {**schema, "required": list(needs)} if needs else schema


def atomic(schema: Schema) -> Schema:
    """Mark an object or map as owned and replaced as a whole by server-side apply."""
    return {**schema, "x-kubernetes-map-type": "atomic"}


def optional(schema: Schema, **more: Any) -> Schema:
    """Add OpenAPI keywords to a shape (`default={}`, `nullable=True`)."""
    return {**schema, **more}


def mapping(values: Schema | None = None, **more: Any) -> Schema:
    """Build the schema of a map, by default of strings."""
    return {"type": "object", "additionalProperties": values or string(), **more}


def array(items: Schema, **more: Any) -> Schema:
    """Build the schema of a list that is replaced as a whole."""
    return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic", **more}


def unique(items: Schema, **more: Any) -> Schema:
    """Build the schema of a list of scalars that merges as a set."""
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "set",
        "x-kubernetes-patch-strategy": "merge",
        **more,
    }


def keyed(keys: str | list[str], items: Schema, **more: Any) -> Schema:
    """Build the schema of a list that merges item by item; strategic merge uses the first key only."""
    names = [keys] if isinstance(keys, str) else keys
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": names,
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": names[0],
        **more,
    }
