"""Azure Storage's lists in XML: how many messages a peek shows, how many blobs a page has, where the next begins."""

from collections.abc import Mapping, Sequence
from typing import Final

import re2

from keda_py.errors import ScalerError
from scalers.shared.answers.xml_tree import read_xml

INLINE_BYTES: Final = 16 * 1024
"""Longer ones may take more than 10 ms."""
_LONGEST_MARKER: Final = 4096


def count_messages(text: bytes) -> int:
    """The messages of a peek. Raises ScalerError."""
    return len(_children(_root(text, "QueueMessagesList"), "QueueMessage"))


def count_blobs(text: bytes, pattern: str) -> tuple[int, str]:
    """The blobs of a page whose whole name the pattern matches ("": all), and the marker of the next page, or "".

    Raises ScalerError.
    """
    page = _root(text, "EnumerationResults")
    blobs, marker = _children(page.get("Blobs", ""), "Blob"), page.get("NextMarker", "")
    if not isinstance(marker, str) or len(marker) > _LONGEST_MARKER:
        raise _not_that()
    if not pattern:
        return len(blobs), marker
    matches = re2.compile(pattern).fullmatch
    return sum(1 for blob in blobs if matches(_name(blob))), marker


def _root(text: bytes, name: str) -> Mapping[str, object]:
    tree = read_xml(text)
    root = tree.get(name) if isinstance(tree, Mapping) else None
    if root == "":
        return {}
    if not isinstance(root, Mapping):
        raise _not_that()
    return root


def _children(parent: object, name: str) -> Sequence[object]:
    """Elements of one name: none where the parent is empty."""
    if parent == "":
        return ()
    if not isinstance(parent, Mapping):
        raise _not_that()
    found = parent.get(name, [])
    return found if isinstance(found, list) else [found]


def _name(blob: object) -> str:
    name = blob.get("Name") if isinstance(blob, Mapping) else None
    if not isinstance(name, str):
        raise _not_that()
    return name


def _not_that() -> ScalerError:
    return ScalerError("azure storage answered something else than the list that was asked for")
