"""The changes in a status, kept as one text: parsed they take six times as much room, and few looks read them.

Whoever keeps a status packs it (`with_packed_changes`): the cache, and what is remembered of an object. Who reads one
calls `changes_in`, which takes both forms: bytes are never JSON from the API server.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from keda_py.apis.foreign import list_at
from keda_py.kube.informers.informer_spec import whole
from keda_py.kube.resources import Obj

HISTORY = "kedaPyHistory"
"""Of the status; beside `kedaPy`, which says what holds now and stays short."""


def pack(changes: Iterable[Any]) -> bytes:
    """As JSON, its keys in order as the API server tells them. Raises TypeError for what is nested too deep for it."""
    return bytes(memoryview(orjson.dumps(list(changes), option=orjson.OPT_SORT_KEYS)))


def with_packed_changes(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same status to be kept. What cannot be written again is none of ours, and is left out."""
    if not isinstance(listed := status.get(HISTORY), list):
        return status
    others = {name: value for name, value in status.items() if name != HISTORY}
    try:
        return {**others, HISTORY: pack(listed)}
    except TypeError:
        return others


def keep_packed(live: Obj) -> Obj:
    """For a cache: all but managedFields."""
    kept = whole(live)
    return {**kept, "status": with_packed_changes(kept["status"])} if isinstance(kept.get("status"), dict) else kept


def changes_in(status: Mapping[str, Any]) -> list[Any]:
    """What stands there, packed or as it came; nothing where that is no list."""
    told = status.get(HISTORY)
    return list_at({HISTORY: orjson.loads(told)} if isinstance(told, bytes) else status, HISTORY)
