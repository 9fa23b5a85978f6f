"""The triggers of a ScaledObject at an instant of the future: a window is known then, all else is not. Pure.

What cannot be known is taken to have no work, and is named: what schedules do alone is what is previewed. cpu and
memory are left out of the HPA's question: they ask for what their pods use.
"""

from dataclasses import dataclass
from datetime import datetime

from keda_py.apis.scaled_object import ScaleTrigger
from keda_py.core.cron.windows import CronWindow, is_open, next_change, parse_window
from keda_py.core.meaning.windows import CRON
from keda_py.core.metric_names import MetricSet, NamedMetric, name_metrics
from keda_py.core.metric_specs import ExternalMetric, MetricSpec, ResourceMetric
from keda_py.core.reading import MetricReading, Reading, Round
from keda_py.core.spec import RESOURCE_TRIGGERS, ScalingSpec
from keda_py.errors import ConfigError

_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The window of a trigger, and how many replicas it asks for."""

    times: CronWindow
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """`windows` by trigger index; `unknown` are the types that no preview can know."""

    metrics: MetricSet
    windows: dict[int, Window]
    unknown: tuple[str, ...]

    def read(self, now: datetime, last: Round | None = None) -> Round:
        """What a poll finds then, if only the windows have work. What `last` found holds until the change it knows."""
        known = last.readings if last is not None else (None,) * len(self.metrics.external)
        pairs = zip(self.metrics.external, known, strict=True)
        return Round(readings=tuple(self._reading(metric, now, before) for metric, before in pairs))

    def _reading(self, metric: NamedMetric, now: datetime, before: MetricReading | None) -> MetricReading:
        if before is not None and isinstance(before.outcome, Reading):
            changes = before.outcome.changes_at
            if changes is not None and now < changes:
                return MetricReading(metric=metric, outcome=before.outcome, taken_at=now)
        window = self.windows.get(metric.trigger_index)
        if window is None:
            return MetricReading(metric=metric, outcome=Reading(value=0.0, active=False), taken_at=now)
        inside = is_open(window.times, now)
        value = float(window.replicas) if inside else 0.0
        outcome = Reading(value=value, active=inside, changes_at=next_change(window.times, now))
        return MetricReading(metric=metric, outcome=outcome, taken_at=now)


def read_triggers(spec: ScalingSpec) -> Triggers:
    """Raises ConfigError naming field, value and remedy."""
    windows = {
        index: _window(trigger, f"spec.triggers[{index}].metadata")
        for index, trigger in enumerate(spec.triggers)
        if trigger.type == CRON
    }
    unknown = tuple(trigger.type for trigger in spec.triggers if trigger.type not in (CRON, *RESOURCE_TRIGGERS))
    metrics = name_metrics(spec, [(_metric(trigger),) for trigger in spec.triggers])
    return Triggers(metrics=metrics, windows=windows, unknown=tuple(dict.fromkeys(unknown)))


def _metric(trigger: ScaleTrigger) -> MetricSpec:
    """Targets of what cannot be known do not matter: their value is 0."""
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
