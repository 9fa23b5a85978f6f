"""Sources: what one trigger would read at a moment, whether a window, a trace or a load profile says so.

Seconds count from the setting's `origin`. A source is asked with moments that never go back.
"""

from typing import Protocol

from keda_py.core.reading import Outcome
from keda_py.errors import ScalerError

Sample = float | ScalerError
"""A value, or the failure of a source that does not answer."""


class Source(Protocol):
    """A window, a column of a trace, or a load profile, asked as one trigger's source."""

    def read(self, at: float) -> Sample | Outcome:
        """Read at that moment."""
        ...

    def rose(self, above: float) -> float:
        """Return when, since the reading before the last, the value was first above that; the last reading is."""
        ...


class Silence:
    """A trigger of which nothing is known: it has no work at any time."""

    def read(self, at: float) -> Sample:
        return 0.0

    def rose(self, above: float) -> float:
        """Return infinity: the value never rises."""
        return float("inf")
