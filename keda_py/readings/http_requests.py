"""For which trigger an HTTP request is sent: known where a scaler is asked, needed where the request leaves.

Between the two lies a plug-in's code, so the knowledge travels in a context variable. A question to a whole source is
one request, and counts for the first of its triggers.
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
    """Requests sent inside are this meter's."""
    token = _asking.set(meter)
    try:
        with acting_for(meter.key.namespace):
            yield
    finally:
        _asking.reset(token)


def asked_for() -> "TrackedMetric | None":
    """Whose request this is; None outside of a reading, as when a scaler connects."""
    return _asking.get()
