"""The measurement of one trigger, one completed reading of a metric, and a round of readings. Pure.

Made by scalers (`sdk/contract.py`) and by `readings/readings.py`, which calls them; next in the flow: `evaluation.py`.
"""

from dataclasses import dataclass
from datetime import datetime

from keda_py.core.metric_names import NamedMetric
from keda_py.errors import ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The measurement of one trigger. `active` None: the engine compares `value` with `activation` (strictly greater).

    `changes_at` is a known next change (a cron boundary, aware): the engine looks again then, without waiting for the
    next poll. `note` says why a value is what the reference states instead of what the source said ("NaN counts as 0");
    `empty` that the source had no data.
    """

    value: float
    active: bool | None = None
    changes_at: datetime | None = None
    note: str = ""
    empty: bool = False


Outcome = Reading | ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReading:
    """One completed reading. `outcome.active` is set: never None; an error's text is safe to show."""

    metric: NamedMetric
    outcome: Outcome
    taken_at: datetime
    seconds: float = 0.0
    """Seconds that the source took to answer."""
    asked: bool = False
    """Read because the HPA asked, not for a poll."""

    @property
    def tells_of_work(self) -> bool:
        """Whether the metric is active or failed: an error counts for the fallback."""
        return isinstance(self.outcome, ScalerError) or self.outcome.active is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One reading per external metric, in trigger order; fewer when only some were asked for."""

    readings: tuple[MetricReading, ...]

    @property
    def errors(self) -> tuple[ScalerError, ...]:
        """Errors of the metrics that could not be read."""
        return tuple(reading.outcome for reading in self.readings if isinstance(reading.outcome, ScalerError))

    @property
    def changes_at(self) -> datetime | None:
        """The first change that is known in advance, aware."""
        outcomes = (reading.outcome for reading in self.readings if isinstance(reading.outcome, Reading))
        return min((outcome.changes_at for outcome in outcomes if outcome.changes_at is not None), default=None)
