"""Observer of every reading, for all callers: `prometheus.py` in the operator, none elsewhere."""

from typing import Protocol

from keda_py.core.reading import MetricReading
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.scaler_set import ScalerSet


class Observer(Protocol):
    """Receiver of reports on the loop; its methods must neither wait nor raise."""

    def record_built(self, key: ObjectKey, scalers: ScalerSet) -> None:
        """Record that scalers of a new generation were built."""
        ...

    def record_dismissed(self, key: ObjectKey) -> None:
        """Record that an object has no scalers, at least for now."""
        ...

    def record_reading(self, key: ObjectKey, scalers: ScalerSet, reading: MetricReading) -> None:
        """Record a completed reading, once for all callers that wait for it."""
        ...

    def record_batch(self, size: int) -> None:
        """Record that one request asked a source for this many triggers."""
        ...


class Unobserved:
    """Observer that records nothing."""

    def record_built(self, key: ObjectKey, scalers: ScalerSet) -> None: ...

    def record_dismissed(self, key: ObjectKey) -> None: ...

    def record_reading(self, key: ObjectKey, scalers: ScalerSet, reading: MetricReading) -> None: ...

    def record_batch(self, size: int) -> None: ...
