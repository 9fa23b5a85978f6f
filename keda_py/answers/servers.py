"""Which server is asked: known where a question leaves, needed where it is ended because no answer comes.

Between the two lies a plug-in's code, so the knowledge travels in a context variable. Tasks that the plug-in starts
have a copy of it, and so the note itself is one object.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Asked:
    """`server`: host and port, or what else errors call it; "": none was asked yet."""

    server: str = ""


_asked: ContextVar[Asked | None] = ContextVar("asked", default=None)


@contextmanager
def noting() -> Iterator[Asked]:
    """What is asked last inside."""
    asked = Asked()
    token = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(token)


def note(server: str) -> None:
    """This one is asked now."""
    asked = _asked.get()
    if asked is not None and server:
        asked.server = server
