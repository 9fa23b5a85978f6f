"""The triggers of a ScaledObject at an instant of the future: a window is known then, all else is not. Pure.

A trigger that cannot be known is taken to have no work, and is named: a preview shows what schedules alone do. cpu and
memory have no source: what pods will use is not known either.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.metric_names import MetricSet, name_metrics
from keda_py.core.metric_specs import CRON, ExternalMetric, MetricSpec, ResourceMetric
from keda_py.core.reading import Reading
from keda_py.core.spec import RESOURCE_TRIGGERS, ScalingSpec
from keda_py.errors import ConfigError
from keda_py.replay.engine.source import Silence, Source

_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The window of a trigger, and how many replicas it asks for."""

    times: CronWindow
    replicas: int


class WindowSource:
    """The readings of a window; each holds until the change that it names, so that a cron expression is walked once."""

    def __init__(self, window: Window, origin: datetime) -> None:
        self._window, self._origin = window, origin
        self._reading, self._since, self._until = Reading(value=0.0), -math.inf, -math.inf

    def read(self, at: float) -> Reading:
        """Read whether the window is open, and when that changes."""
        if at >= self._until:
            now, times = self._origin + timedelta(seconds=at), self._window.times
            inside, changes_at = is_open(times, now), next_change(times, now)
            value = float(self._window.replicas) if inside else 0.0
            self._reading = Reading(value=value, active=inside, changes_at=changes_at)
            self._since = at
            # A window that never changes is asked again at each look, of which there are few.
            self._until = at if changes_at is None else (changes_at - self._origin).total_seconds()
        return self._reading

    def rose(self, above: float) -> float:
        """Return when the reading was made, which is a boundary of the window."""
        return self._since


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """`windows` by trigger index; `unknown` are the types that no preview can know."""

    metrics: MetricSet
    windows: Mapping[int, Window]
    unknown: tuple[str, ...]

    def sources(self, origin: datetime) -> dict[int, Source]:
        """Return a source for each trigger with an external metric; seconds count from `origin`."""
        indexes = {metric.trigger_index for metric in self.metrics.external}
        silent: dict[int, Source] = {index: Silence() for index in indexes}
        return silent | {index: WindowSource(window, origin) for index, window in self.windows.items()}


def read_triggers(spec: ScalingSpec) -> Triggers:
    """Read windows, and what cannot be known. Raises ConfigError naming field, value and remedy."""
    windows = {
        index: _window(trigger, f"spec.triggers[{index}].metadata")
        for index, trigger in enumerate(spec.triggers)
        if trigger.type == CRON
    }
    unknown = tuple(trigger.type for trigger in spec.triggers if trigger.type not in (CRON, *RESOURCE_TRIGGERS))
    metrics = name_metrics(spec, [(_metric(trigger),) for trigger in spec.triggers])
    return Triggers(metrics=metrics, windows=windows, unknown=tuple(dict.fromkeys(unknown)))


def _metric(trigger: ScaleTrigger) -> MetricSpec:
    """The target of a trigger that cannot be known does not matter: its value is 0."""
    match trigger.type:
        case "cpu" | "memory" as name:
            return ResourceMetric(name=name, target_type="Utilization", target="100")
        case name:
            return ExternalMetric(name=name, target=1)


def _window(trigger: ScaleTrigger, field: str) -> Window:
    metadata = trigger.metadata
    try:
        times = parse_window(metadata.get("start", ""), metadata.get("end", ""), metadata.get("timezone", ""))
    except ConfigError as error:
        raise ConfigError(f"{field}.{error}", field=f"{field}.{error.field}") from None
    count = metadata.get("desiredReplicas", "").removeprefix("+")
    if not (count.isascii() and count.isdigit() and len(count) <= _LONGEST_NUMBER and int(count)):
        name = f"{field}.desiredReplicas"
        raise ConfigError(f"{name}: {count[:40]!r} is no count to scale to: write 1 or more", field=name)
    return Window(times=times, replicas=int(count))
