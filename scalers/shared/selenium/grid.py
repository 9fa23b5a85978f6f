"""Selenium Grid's answer: how many nodes of one kind its queue needs besides those that are there.

The functions may run in another process (`ScalerContext.parse`), so this file imports little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from keda_py.errors import ScalerError
from scalers.shared.answers.json_fields import whole
from scalers.shared.answers.json_values import items_of, mapping, read_json
from scalers.shared.selenium.platforms import is_same_platform

INLINE_BYTES: Final = 4 * 1024
"""A longer answer may take more than 10 ms."""
_DOWNLOADS: Final = "se:downloadsEnabled"
_OF_VENDORS: Final = ("goog:", "moz:", "ms:", "se:")

Capabilities = Mapping[str, object]


def count_nodes(text: bytes, kind: Mapping[str, str], nodes_take: int, own: Capabilities) -> int:
    """New nodes for the matching requests of the queue, plus the matching sessions that go on.

    `kind`: browser, session (its name in sessions), version, platform. `own`: further capabilities. Raises ScalerError.
    """
    data = _object(_object(read_json(text)).get("data"))
    wanted = _Kind(kind, own)
    nodes = [_Node.read(node, wanted) for node in _inside(data, "nodesInfo", "nodes")]
    matching = sum(
        1 for request in _inside(data, "sessionsInfo", "sessionQueueRequests") if wanted.fits(_parsed(request))
    )
    unserved = max(0, matching - sum(node.free for node in nodes))
    new = -(-unserved // nodes_take) if nodes_take > 0 else unserved
    return new + sum(node.sessions for node in nodes)


def _object(value: object) -> Mapping[str, object]:
    """Read an object; empty if null, as in KEDA."""
    return {} if value is None else mapping(value)


def _inside(data: Mapping[str, object], group: str, name: str) -> list[object]:
    return items_of(_object(data.get(group)).get(name), name)


def _parsed(text: object) -> Capabilities | None:
    """Parse capabilities; None if they are no JSON object: such a request is skipped, as in KEDA."""
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class _Node:
    """`free` slots for requests of this kind; `sessions` of it go on."""

    sessions: int
    free: int = 0

    @classmethod
    def read(cls, value: object, kind: "_Kind") -> "_Node":
        node = mapping(value)
        slots = [_object(mapping(session).get("slot")) for session in items_of(node.get("sessions"), "sessions")]
        sessions = sum(1 for slot in slots if kind.fits(_parsed(slot.get("stereotype")), running=True))
        if str(node.get("status", "")).upper() != "UP":
            return cls(sessions)
        matching = sum(_slots(one, kind) for one in _stereotypes(node.get("stereotypes")))
        # As in KEDA: if any slot of the kind is free, every free place of the node counts.
        free = whole(node, "maxSession") - whole(node, "sessionCount")
        return cls(sessions, max(free, 0) if matching > sessions else 0)


def _stereotypes(text: object) -> Sequence[object]:
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return ()
    return value if isinstance(value, list) else ()


def _slots(value: object, kind: "_Kind") -> int:
    stereotype = mapping(value)
    capabilities = stereotype.get("stereotype")
    fits = isinstance(capabilities, Mapping) and kind.fits(capabilities, running=True)
    return whole(stereotype, "slots") if fits else 0


class _Kind:
    """The kind of nodes that a trigger scales."""

    def __init__(self, kind: Mapping[str, str], own: Capabilities) -> None:
        self._kind = kind
        self._downloads = own.get(_DOWNLOADS) is True
        self._own = {name: value for name, value in own.items() if not name.startswith(_OF_VENDORS)}

    def fits(self, found: Capabilities | None, *, running: bool = False) -> bool:
        """Return whether a request, or with `running` a slot, is of this kind."""
        if found is None:
            return False
        kind, browser, version = self._kind, _text(found, "browserName").lower(), _text(found, "browserVersion")
        browsers = {kind["browser"].lower()} | ({kind["session"].lower()} if running else set())
        return (
            browser in browsers
            and (kind["version"].startswith(version) if version else not kind["version"])
            and is_same_platform(kind["platform"], _text(found, "platformName"))
            and (self._downloads or found.get(_DOWNLOADS) is not True)
            and all(name in found and found[name] == value for name, value in self._own.items())
        )


def _text(found: Capabilities, name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise ScalerError(f"selenium grid: {name} is not a text")
    return value
