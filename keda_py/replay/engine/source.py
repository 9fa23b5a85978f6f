"""What one trigger would read at a moment."""

from typing import Protocol

from keda_py.core.reading import Outcome
from keda_py.errors import ScalerError

Sample = float | ScalerError
"""What a trace says: a value, or that the source does not answer."""


class Source(Protocol):
    """One trigger's."""

    def read(self, at: float) -> Sample | Outcome:
        """What a reading at that moment gives."""
        ...

    def rose(self, above: float) -> float:
        """When, since the reading before the last, the value was first above that; the last reading is."""
        ...
