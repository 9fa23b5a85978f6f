"""Namespace that work is done for: set when a scaler is asked, read when its answer's bytes arrive.

A plug-in's code lies between the two, so it travels in a context variable.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_tenant: ContextVar[str] = ContextVar("tenant", default="")


@contextmanager
def acting_for(namespace: str) -> Iterator[None]:
    """Do the work inside for this namespace."""
    token = _tenant.set(namespace)
    try:
        yield
    finally:
        _tenant.reset(token)


def tenant() -> str:
    """Return the current namespace, "" for the operator's own work."""
    return _tenant.get()
