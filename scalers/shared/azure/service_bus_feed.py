"""Service Bus' Atom feeds: how many active messages an entry, or each entry of a page, has."""

from collections.abc import Mapping
from typing import Final, Literal

import re2

from keda_py.errors import ScalerError
from scalers.shared.answers.xml_tree import read_xml

Kind = Literal["QueueDescription", "SubscriptionDescription"]

INLINE_BYTES: Final = 16 * 1024
"""Longer ones may take more than 10 ms."""
_LONGEST_COUNT: Final = 18
"""Digits."""


def count_in_entry(text: bytes, kind: Kind) -> int:
    """The active messages of one queue or subscription. Raises ScalerError, also for an empty feed."""
    return _count(_root(text).get("entry"), kind)


def counts_in_feed(text: bytes, kind: Kind, pattern: str) -> tuple[int, list[int]]:
    """How many entries a page has, and the active messages of those whose whole name matches. Raises ScalerError."""
    root = _root(text)
    feed = root.get("feed")
    entries = feed.get("entry", []) if isinstance(feed, Mapping) else None if feed != "" else []
    if entries is None:
        raise _not_that()
    entries = entries if isinstance(entries, list) else [entries]
    matches = re2.compile(pattern).fullmatch
    return len(entries), [_count(entry, kind) for entry in entries if matches(_title(entry))]


def _root(text: bytes) -> Mapping[str, object]:
    tree = read_xml(text)
    return tree if isinstance(tree, Mapping) else {}


def _title(entry: object) -> str:
    title = entry.get("title") if isinstance(entry, Mapping) else None
    if not isinstance(title, str):
        raise _not_that()
    return title


def _count(entry: object, kind: Kind) -> int:
    found = entry
    for step in ("content", kind, "CountDetails", "ActiveMessageCount"):
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, str) or not found.isdecimal() or not found.isascii() or len(found) > _LONGEST_COUNT:
        raise _not_that()
    return int(found)


def _not_that() -> ScalerError:
    return ScalerError("service bus answered something else than the queue or subscription that was asked for")
