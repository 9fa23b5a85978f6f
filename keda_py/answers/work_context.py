"""Context of the work at hand: set where work for a tenant begins, read far below it, where bytes come and go.

A plug-in's code lies between the two, so the context travels in the one context variable of the engine. Tasks that a
plug-in starts have a copy; therefore `server`, which is written below and read above, is one mutable object.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class LastServer:
    """Server of the last request: host and port, or another name for errors; "" before the first."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class WorkContext:
    """Context of the work at hand.

    `namespace` is charged with connections, bytes and requests; "" is the operator's own work. `metric` is the
    TrackedMetric that HTTP requests are counted for, None outside of a reading; a batch is one request, counted for the
    first of its triggers. `server` notes where requests go, for the error of a time-out. `tenure` is the Tenure that
    each write is sent under, None for writes that are about no object of a controller. The types of `metric` and
    `tenure` belong to the layers above, which set and read them.
    """

    namespace: str = ""
    metric: object | None = None
    server: LastServer | None = None
    tenure: object | None = None


_OPERATOR = WorkContext()
_current = ContextVar("work", default=_OPERATOR)


def current_work() -> WorkContext:
    """Return the context of the work at hand."""
    return _current.get()


@contextmanager
def working(
    namespace: str | None = None,
    *,
    metric: object | None = None,
    server: LastServer | None = None,
    tenure: object | None = None,
) -> Iterator[None]:
    """Do the work inside for this namespace, metric, server and tenure; None leaves what is around."""
    around = _current.get()
    token = _current.set(
        WorkContext(
            namespace=around.namespace if namespace is None else namespace,
            metric=metric or around.metric,
            server=server or around.server,
            tenure=tenure or around.tenure,
        )
    )
    try:
        yield
    finally:
        _current.reset(token)


def note_server(name: str) -> None:
    """Record that a request goes to this server."""
    server = _current.get().server
    if server is not None and name:
        server.name = name
