"""The observer of every reading, whichever caller asked: `prometheus.py` in the operator, none elsewhere."""

from typing import Protocol

from keda_py.core.reading import MetricReading
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.scaler_set import ScalerSet


class Observer(Protocol):
    """Told on the loop; must neither wait nor raise."""

    def record_built(self, key: ObjectKey, scalers: ScalerSet) -> None:
        """Scalers of a new generation stand."""
        ...

    def record_dismissed(self, key: ObjectKey) -> None:
        """An object has no scalers any more, at least for now."""
        ...

    def record_reading(self, key: ObjectKey, scalers: ScalerSet, reading: MetricReading) -> None:
        """A reading has been completed, once for all who wait for it."""
        ...

    def record_batch(self, size: int) -> None:
        """That many triggers of one source were asked for at once."""
        ...


class Unobserved:
    """The observer that records nothing."""

    def record_built(self, key: ObjectKey, scalers: ScalerSet) -> None:
        """Nothing."""

    def record_dismissed(self, key: ObjectKey) -> None:
        """Nothing."""

    def record_reading(self, key: ObjectKey, scalers: ScalerSet, reading: MetricReading) -> None:
        """Nothing."""

    def record_batch(self, size: int) -> None:
        """Nothing."""
