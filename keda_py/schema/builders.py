"""Short words for writing schemas; every one returns a new OpenAPI v3 dict.

`obj(replicas=int32(minimum=0), template=POD_TEMPLATE)` reads like the Go struct that it stands for. Keywords after the
fields are OpenAPI's own (`default=`, `nullable=`); `needs` lists required fields. `x-canonical` names the form in which
the API server writes a value back (`canonical.py`). A shape may be shared between kinds: schemas are never changed.
"""

from typing import Any

Schema = dict[str, Any]


def string(**more: Any) -> Schema:
    """A string."""
    return {"type": "string", **more}


def enum(*values: str, **more: Any) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(values), **more}


def int32(**more: Any) -> Schema:
    """A 32-bit integer."""
    return {"type": "integer", "format": "int32", **more}


def int64(**more: Any) -> Schema:
    """A 64-bit integer."""
    return {"type": "integer", "format": "int64", **more}


def boolean(**more: Any) -> Schema:
    """true or false."""
    return {"type": "boolean", **more}


def time(**more: Any) -> Schema:
    """metav1.Time: seconds."""
    return {"type": "string", "format": "date-time", "x-canonical": "time", **more}


def micro_time(**more: Any) -> Schema:
    """metav1.MicroTime: six digits after the second."""
    return {"type": "string", "format": "date-time", "x-canonical": "micro-time", **more}


def quantity(**more: Any) -> Schema:
    """resource.Quantity: 0.5 comes back as 500m."""
    return {"x-kubernetes-int-or-string": True, "x-canonical": "quantity", **more}


def int_or_string(**more: Any) -> Schema:
    """intstr.IntOrString: a number, or a name or percentage."""
    return {"x-kubernetes-int-or-string": True, **more}


def anything(**more: Any) -> Schema:
    """Any JSON: fields where depth has no use here."""
    return {"x-kubernetes-preserve-unknown-fields": True, **more}


def opened(**more: Any) -> Schema:
    """An object whose fields are kept as they are."""
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **more}


def obj(*needs: str, **fields: Schema) -> Schema:
    """An object of these fields."""
    schema: Schema = {"type": "object", "properties": fields}
    return {**schema, "required": list(needs)} if needs else schema


def atomic(schema: Schema) -> Schema:
    """An object or map that has one owner and is replaced as a whole by server-side apply."""
    return {**schema, "x-kubernetes-map-type": "atomic"}


def optional(schema: Schema, **more: Any) -> Schema:
    """The same shape with other OpenAPI keywords (`default={}`, `nullable=True`)."""
    return {**schema, **more}


def mapping(values: Schema | None = None, **more: Any) -> Schema:
    """A map of names to values, strings unless said otherwise."""
    return {"type": "object", "additionalProperties": values or string(), **more}


def array(items: Schema, **more: Any) -> Schema:
    """A list that is replaced as a whole."""
    return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic", **more}


def unique(items: Schema, **more: Any) -> Schema:
    """A list of scalars that merges as a set."""
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "set",
        "x-kubernetes-patch-strategy": "merge",
        **more,
    }


def keyed(keys: str | list[str], items: Schema, **more: Any) -> Schema:
    """A list that merges item by item; the first key is the one strategic merge knows."""
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
