"""Access to objects that other programs wrote, where any place may hold a value of any type.

The one guarded way to read a name, labels or a nested field of an object that no model has parsed: manifests in files,
objects that an older CRD accepted, reviews, and answers of proxies. Rule: a value of another type than the requested
one counts as missing; no function here raises.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Obj = dict[str, Any]


def value_at(body: Any, *path: str) -> Any:
    """Return the value at a path; None if it, or a parent, is missing."""
    for key in path:
        body = body.get(key) if isinstance(body, Mapping) else None
    return body


def map_at(body: Any, *path: str) -> Obj:
    """Return the map at a path; empty if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, dict) else {}


def list_at(body: Any, *path: str) -> list[Any]:
    """Return the list at a path; empty if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, list) else []


def maps_at(body: Any, *path: str) -> Iterator[Obj]:
    """Yield the maps in the list at a path; other entries are skipped."""
    yield from (entry for entry in list_at(body, *path) if isinstance(entry, dict))


def text_at(body: Any, *path: str) -> str:
    """Return the text at a path; "" if missing."""
    found = value_at(body, *path)
    return found if isinstance(found, str) else ""


def texts_at(body: Any, *path: str) -> dict[str, str]:
    """Return the entries of the map at a path whose values are texts, such as labels and annotations."""
    found = map_at(body, *path)
    return {key: value for key, value in found.items() if isinstance(key, str) and isinstance(value, str)}


def name_of(body: Any) -> str:
    """Return metadata.name; "" if missing."""
    return text_at(body, "metadata", "name")


def namespace_of(body: Any) -> str:
    """Return metadata.namespace; "" if missing, as for a cluster-scoped object."""
    return text_at(body, "metadata", "namespace")


def title_of(body: Any) -> str:
    """Return the name of an object for messages, such as "ScaledObject shop/web", without missing parts."""
    where = "/".join(part for part in (namespace_of(body), name_of(body)) if part)
    return f"{text_at(body, 'kind')} {where}".strip()
