"""Reading objects that other programs wrote: any place may hold a value of any type.

The one guarded way to read a name, labels or a nested field of an object that no model has parsed: manifests of files,
objects of a cluster that an older CRD let in, reviews, and what a proxy answers. Rule: a value of another type than the
one asked for counts as missing; no function here raises.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Obj = dict[str, Any]


def value_at(body: Any, *path: str) -> Any:
    """The value there; None if it, or a parent, is missing."""
    for key in path:
        body = body.get(key) if isinstance(body, Mapping) else None
    return body


def map_at(body: Any, *path: str) -> Obj:
    """The map there; empty if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, dict) else {}


def list_at(body: Any, *path: str) -> list[Any]:
    """The list there; empty if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, list) else []


def maps_at(body: Any, *path: str) -> Iterator[Obj]:
    """The maps in the list there; entries that are no maps are passed over."""
    yield from (entry for entry in list_at(body, *path) if isinstance(entry, dict))


def text_at(body: Any, *path: str) -> str:
    """The text there; "" if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, str) else ""


def texts_at(body: Any, *path: str) -> dict[str, str]:
    """The entries of the map there that are texts, such as labels and annotations."""
    found = map_at(body, *path)
    return {key: value for key, value in found.items() if isinstance(key, str) and isinstance(value, str)}


def name_of(body: Any) -> str:
    """metadata.name; "" if missing."""
    return text_at(body, "metadata", "name")


def namespace_of(body: Any) -> str:
    """metadata.namespace; "" if missing, as for a cluster-scoped object."""
    return text_at(body, "metadata", "namespace")


def title_of(body: Any) -> str:
    """ "ScaledObject shop/web", as messages call an object; parts that are missing are left out."""
    where = "/".join(part for part in (namespace_of(body), name_of(body)) if part)
    return f"{text_at(body, 'kind')} {where}".strip()
