"""Trigger that an HTTP request belongs to: set when a scaler is asked, read when the request is counted.

A plug-in's code lies between the two, so it travels in a context variable. A batch is one request, counted for the
first of its triggers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from keda_py.answers.tenants import acting_for

if TYPE_CHECKING:
    from keda_py.readings.tracked_metrics import TrackedMetric

_asking: ContextVar["TrackedMetric | None"] = ContextVar("asking", default=None)


@contextmanager
def asking_for(meter: "TrackedMetric") -> Iterator[None]:
    """Attribute requests sent inside to this meter, and to its namespace."""
    token = _asking.set(meter)
    try:
        with acting_for(meter.key.namespace):
            yield
    finally:
        _asking.reset(token)


def asked_for() -> "TrackedMetric | None":
    """Return the meter of the current request; None outside of a reading, for example when a scaler connects."""
    return _asking.get()
