"""Bound on JSON that is parsed on the event loop for a few texts, such as a token or a secret.

The cost of JSON is the number of its lists and mappings: a megabyte of `[],` takes 80 ms, one long text 1 ms.
"""

from typing import Final

MOST_COLLECTIONS: Final = 10_000


def check_json(text: bytes) -> None:
    """Raise ValueError above MOST_COLLECTIONS lists and mappings; brackets inside texts count, too."""
    if text.count(b"[") + text.count(b"{") > MOST_COLLECTIONS:
        raise ValueError(f"JSON with more than {MOST_COLLECTIONS} lists and mappings")
