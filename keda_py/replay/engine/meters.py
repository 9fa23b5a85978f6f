"""The readings of an object's external metrics: one for poll and HPA alike while it is young, failures counted.

As `readings/readings.py` keeps them, without its waiting. Next: `looks.py` and `autoscaler.py` ask.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from keda_py.core.fallback import FallbackState, count_outcome, has_valid_fallback
from keda_py.core.metric_names import NamedMetric
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.errors import ConfigError, ScalerError
from keda_py.readings.tracked_metrics import SHARED_SECONDS
from keda_py.replay.engine.source import Sample, Source
from keda_py.replay.engine.subject import Subject

Raw = Sample | Reading


class Meters:
    """The last reading of each metric, in their order. `active` is None where it failed.

    With `keeps` a young reading stands for those that follow it, as in the operator.
    """

    def __init__(self, subject: Subject, sources: Mapping[int, Source], *, keeps: bool) -> None:
        self.health: dict[str, FallbackState] = {}
        self._keeps = keeps
        self._all = sources
        self.metrics: tuple[NamedMetric, ...] = ()
        self.forget()
        self.adopt(subject)

    def adopt(self, subject: Subject) -> None:
        """Read for another version of the object; what was read of the same metrics still counts."""
        known = [metric.name for metric in self.metrics]
        self.metrics = subject.metrics.external
        spec = subject.spec
        self._sources = [self._source(metric) for metric in self.metrics]
        self._activations = subject.activations
        self._counts = has_valid_fallback(spec)
        self.cached = [spec.triggers[metric.trigger_index].use_cached_metrics for metric in self.metrics]
        self._polled = [index for index, cached in enumerate(self.cached) if not cached]
        self._resting = [index for index, cached in enumerate(self.cached) if cached]
        # As `readings/tracked_metrics.py`: poll and HPA share a young reading. A window is read at its very boundary.
        self._shared = min(SHARED_SECONDS, spec.polling_interval.total_seconds() / 2) if self._keeps else 0.0
        if [metric.name for metric in self.metrics] != known:
            self.forget()

    def forget(self) -> None:
        """Forget all readings, but not how often a metric failed."""
        self._foresees = False
        """True once a source has said more than a number."""
        self.raw: list[Raw] = [0.0] * len(self.metrics)
        self.active: list[bool | None] = [False] * len(self.metrics)
        self._at = [-math.inf] * len(self.metrics)

    def _source(self, metric: NamedMetric) -> Source:
        source = self._all.get(metric.trigger_index)
        if source is None:
            raise ConfigError(f"trigger {metric.trigger_index}: nothing says what {metric.name} reads")
        return source

    @property
    def changes_at(self) -> datetime | None:
        """The first change that a reading names in advance."""
        if not self._foresees:
            return None
        known = [raw.changes_at for raw in self.raw if isinstance(raw, Reading) and raw.changes_at is not None]
        return min(known) if known else None

    def rose(self, index: int) -> float:
        """Return when a metric that is active became so."""
        return self._sources[index].rose(self._activations[index])

    def poll(self, at: float, due: bool) -> None:
        """Read what is not young; of useCachedMetrics only what is `due`."""
        for index in self._polled:
            if at - self._at[index] >= self._shared:
                self.read(index, at)
        for index in self._resting:
            if due or self._at[index] == -math.inf:
                self.read(index, at)

    def read(self, index: int, at: float) -> bool:
        """Read once, unless the last reading is young enough; True for a new reading."""
        if at - self._at[index] < self._shared:
            return False
        raw = self._sources[index].read(at)
        self.raw[index], self._at[index] = raw, at
        if isinstance(raw, float):
            self.active[index] = raw > self._activations[index]
        elif isinstance(raw, ScalerError):
            self.active[index] = None
        else:
            self._foresees = True
            self.active[index] = raw.active if raw.active is not None else raw.value > self._activations[index]
        if self._counts:
            self._count(index)
        return True

    def _count(self, index: int) -> None:
        name, failed = self.metrics[index].name, self.active[index] is None
        known = self.health.get(name)
        if failed or known is None or known.failures:
            self.health[name] = count_outcome(known or FallbackState(), failed=failed)

    def round(self, now: datetime, indexes: Sequence[int] | None = None) -> Round:
        """Return the readings as values of the core, all of them without `indexes`."""
        chosen = range(len(self.metrics)) if indexes is None else indexes
        return Round(readings=tuple(self._reading(index, now) for index in chosen))

    def _reading(self, index: int, now: datetime) -> MetricReading:
        raw, active = self.raw[index], self.active[index]
        if isinstance(raw, ScalerError):
            return MetricReading(metric=self.metrics[index], outcome=raw, taken_at=now)
        value, changes_at = (raw, None) if isinstance(raw, float) else (raw.value, raw.changes_at)
        outcome = Reading(value=value, active=active, changes_at=changes_at)
        return MetricReading(metric=self.metrics[index], outcome=outcome, taken_at=now)

    def value(self, index: int) -> float | None:
        """Return the number that was last read, None after a failure."""
        raw = self.raw[index]
        if isinstance(raw, float):
            return raw
        return None if isinstance(raw, ScalerError) else raw.value
