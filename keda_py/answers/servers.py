"""Name of the server that a request goes to: recorded as a request is sent, read when it times out.

A plug-in's code lies between the two, so the name travels in a context variable. Tasks that the plug-in starts have a
copy of the variable; therefore it holds one mutable object.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class LastServer:
    """Server of the last request: host and port, or another name for errors; "" before the first."""

    server: str = ""


_asked: ContextVar[LastServer | None] = ContextVar("asked", default=None)


@contextmanager
def noting() -> Iterator[LastServer]:
    """Record the server of the last request inside."""
    asked = LastServer()
    token = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(token)


def note(server: str) -> None:
    """Record that a request goes to this server."""
    asked = _asked.get()
    if asked is not None and server:
        asked.server = server
