"""Parts of an object as it was stored, whatever it holds.

An object that is older than its schema may have a text where a map belongs. `reconcile.py` tells its owner; indexes
must go on, because a failing index ends the watch, and with it the operator, for everybody.
"""

from collections.abc import Iterator

from keda_py.kube.resources import Obj


def map_at(live: Obj, *path: str) -> Obj:
    """The map at that path, empty where there is none."""
    for name in path:
        value = live.get(name)
        live = value if isinstance(value, dict) else {}
    return live


def maps_at(live: Obj, *path: str) -> Iterator[Obj]:
    """The maps in the list at that path, none where there is none."""
    *parents, last = path
    listed = map_at(live, *parents).get(last)
    yield from (entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict))
