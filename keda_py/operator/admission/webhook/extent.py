"""How large an object may be that is judged: its parts are counted before anything is made of them.

Pure. An object of 1.5 MiB, which is what etcd takes, can hold 50 000 triggers or 200 000 metadata keys; none that is
of use comes near the bounds below. What is not judged (`status`, `managedFields`, the pod of a ScaledJob) does not
count.
"""

from collections.abc import Iterator
from typing import Any

from keda_py.apis.foreign import Obj, map_at
from keda_py.apis.scaled_object import MOST_TRIGGERS
from keda_py.core.admission.findings import Denial

MOST_VALUES = 20_000
"""Texts, numbers, lists and maps in all."""
DEEPEST = 64
LONGEST_TEXT = 64 * 1024
"""Characters; of annotations, which an API server takes up to 256 KiB of, none."""
_UNREAD = {"metadata": ("managedFields", "annotations"), "spec": ("jobTargetRef",)}


def judged_parts(obj: Obj) -> Obj:
    """The object without what no check reads."""
    return {name: obj[name] for name in ("apiVersion", "kind", *_UNREAD) if name in obj}


def check_extent(obj: Obj) -> Denial | None:
    """The denial of an object that is too large to be judged, with the number and the bound."""
    triggers = map_at(obj, "spec").get("triggers")
    if isinstance(triggers, list) and len(triggers) > MOST_TRIGGERS:
        return _deny(
            f"spec.triggers: has {len(triggers)} entries; at most {MOST_TRIGGERS} are allowed", "spec.triggers"
        )
    for count, (path, depth, value) in enumerate(_walk(obj), 1):
        if count > MOST_VALUES:
            return _deny(f"the object has more than {MOST_VALUES} values; split it", "spec")
        if depth > DEEPEST:
            return _deny(f"{path}: is nested more than {DEEPEST} deep", path)
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            text = f"{path}: has a text of {len(value)} characters; at most {LONGEST_TEXT} are allowed"
            return _deny(text, path)
    annotations = map_at(obj, "metadata").get("annotations")
    if isinstance(annotations, dict) and len(annotations) > MOST_VALUES:
        return _deny(f"metadata.annotations: has {len(annotations)} entries", "metadata.annotations")
    return None


def _walk(obj: Obj) -> Iterator[tuple[str, int, Any]]:
    """(where it is, how deep, value) of each key and each value that is judged; stops nowhere, so the caller must."""
    for part, unread in _UNREAD.items():
        inside = obj.get(part)
        fields = inside.items() if isinstance(inside, dict) else [("", inside)]
        for name, value in fields:
            if name not in unread:
                path = f"{part}.{name[:253]}" if name else part
                yield path, 1, name
                yield from ((path, depth, one) for depth, one in _inside(value))


def _inside(value: Any) -> Iterator[tuple[int, Any]]:
    """Depth first, without recursion."""
    waiting = [iter((value,))]
    while waiting:
        try:
            one = next(waiting[-1])
        except StopIteration:
            waiting.pop()
            continue
        yield len(waiting), one
        if isinstance(one, dict):
            waiting.append(_keys_and_values(one))
        elif isinstance(one, list):
            waiting.append(iter(one))


def _keys_and_values(one: Obj) -> Iterator[Any]:
    for key, value in one.items():
        yield key
        yield value


def _deny(message: str, field: str) -> Denial:
    return Denial(message=message, reason="too-large", field=field)
