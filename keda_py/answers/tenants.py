"""For which namespace work is done: known where a scaler is asked, needed where its answer's bytes arrive.

Between the two lies a plug-in's code, so the knowledge travels in a context variable.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_tenant: ContextVar[str] = ContextVar("tenant", default="")


@contextmanager
def acting_for(namespace: str) -> Iterator[None]:
    """What is asked inside is asked for this namespace."""
    token = _tenant.set(namespace)
    try:
        yield
    finally:
        _tenant.reset(token)


def tenant() -> str:
    """The namespace, "" for the operator's own work."""
    return _tenant.get()
