"""A bounded cache for what is compiled from users' texts, such as paths.

Long texts are rare, and what is made of one takes 40 KB: few of them are kept.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

SHORT = 100
"""Characters."""
SHORT_KEPT, LONG_KEPT = 1024, 64

T = TypeVar("T")


def remembered(make: Callable[[str], T]) -> Callable[[str], T]:
    """Cache the function's values for texts that are used again and again. Errors are not kept."""
    # Two caches: a tenant's many long texts must not fill memory, nor push out the short ones of all others.
    short, long = lru_cache(maxsize=SHORT_KEPT)(make), lru_cache(maxsize=LONG_KEPT)(make)

    def ask(text: str) -> T:
        return short(text) if len(text) <= SHORT else long(text)

    return ask
