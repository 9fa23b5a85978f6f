"""The HPA that the object owns, and the controller that runs it: asks for the metrics and follows `core/hpa`.

A sync that proposes the present count, when all that is remembered says that count as well, changes nothing but the
time of the last recommendation; it is not computed any further.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from keda_py.core.evaluation import evaluate
from keda_py.core.fallback import needs_ready_pods, needs_replicas
from keda_py.core.hpa.behavior import History, Recommendation, remember_change
from keda_py.core.hpa.controller import (
    MetricSample,
    begin,
    choose_tolerance,
    desired_count,
    needs_metrics,
    resize,
    sync,
)
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import TargetType
from keda_py.core.hpa.pods import ScaleTarget
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.values.quantity import to_milli
from keda_py.simulation.pods import Load, listed
from keda_py.simulation.subject import HpaMetric
from keda_py.simulation.world import World

_REFUSED = "the metric encountered an error"
_LONG_AGO = timedelta(days=1)
_SYNC_TAKES = 0.01
"""Seconds. The controller queues an HPA anew when its sync is over, so that a period is a little longer than it says;
a recommendation that is as old as the window is forgotten by then."""


class Autoscaler:
    """Of one object. `next` is the second of the next sync, infinity while there is no HPA."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._history = History()
        self._rests_at: float | None = None
        """The last sync that changed nothing but the time of the last recommendation."""
        self._rest: int | None = None
        """The count that the whole history says, None where it says several."""
        self._sleeps_since: float | None = None
        """The last sync at zero, where each decides the same until the count is changed."""
        self._targets: dict[int, ScaleTarget] = {}
        self.next = float("inf")
        self.adopt()

    def adopt(self) -> None:
        """Another version of the object."""
        subject, options = self._world.subject, self._world.plan.cluster.options
        self._spec, self._tolerance = subject.hpa, choose_tolerance(subject.hpa, options)
        self._warmup, self._namespace = options.warmup, subject.spec.namespace
        names = [metric.name for metric in subject.metrics.external]
        self._asked = [
            (metric, range(len(names)) if metric.name == COMPOSITE_METRIC else [names.index(metric.name)])
            if metric.external
            else (metric, [])
            for metric in subject.hpa_metrics
        ]
        self._needs_pods = any(
            not metric.external or metric.target.type is TargetType.VALUE for metric in subject.hpa_metrics
        )
        self._targets.clear()
        self._leave_rest()

    def create(self, at: float) -> None:
        """A new HPA; its first sync is one period away."""
        self._history, self._rest, self._rests_at = History(), None, None
        self._sleeps_since = None
        self.next = at + self._world.plan.cluster.sync_seconds

    def delete(self) -> None:
        """Paused."""
        self._sleeps_since = None
        self.next = float("inf")

    def wake(self, at: float) -> None:
        """The count was changed: a controller that had nothing to do at zero syncs when it would have anyway."""
        if self._sleeps_since is not None:
            period = self._world.plan.cluster.sync_seconds + _SYNC_TAKES
            self.next = self._sleeps_since + (int((at - self._sleeps_since) / period) + 1) * period
            self._sleeps_since = None

    def sync(self, at: float) -> bool:
        """One sync. True where a reading was made that the scale loop should know: work, an error, or its end."""
        self.next = at + self._world.plan.cluster.sync_seconds + _SYNC_TAKES
        current = self._world.pods.replicas
        if not needs_metrics(self._spec, current):
            self._sync_outside(at, current)
            return False
        news, samples = self._ask(at)
        target = self._target(at, current)
        now = self._world.now(at)
        if not self._history.recommendations:
            self._history = begin(self._history, current, now)
        count = desired_count(target, samples, self._tolerance, self._warmup, now)
        if count is not None and not count == current == self._rest:
            self._resize(at, current, count)
        elif count is not None:
            self._rests_at = at
        return news

    def _sync_outside(self, at: float, current: int) -> None:
        """At zero, or outside the bounds: decided without metrics."""
        if current == 0 and self._history.recommendations and self._spec.min_replicas:
            self._sleeps_since, self.next = at, float("inf")
            return
        self._leave_rest()
        options, now = self._world.plan.cluster.options, self._world.now(at)
        verdict = sync(self._spec, self._target(at, current), (), self._history, options, now)
        self._history = verdict.history
        if verdict.rescale and verdict.desired is not None:
            self._rescale(at, current, verdict.desired, verdict.reason)

    def _resize(self, at: float, current: int, count: int) -> None:
        self._leave_rest()
        options = self._world.plan.cluster.options
        self._history, stable, limited = resize(self._spec, current, count, self._history, options, self._world.now(at))
        if limited.replicas != current:
            why = "AboveTarget" if count > current else "BelowTarget" if count < current else stable.condition.reason
            self._rescale(at, current, limited.replicas, why)
        elif all(one.replicas == current for one in self._history.recommendations):
            self._rest = current

    def _rescale(self, at: float, current: int, wanted: int, why: str) -> None:
        self._history = remember_change(self._history, self._spec.behavior, current, wanted, self._world.now(at))
        self._world.scale(wanted, at, why)

    def _leave_rest(self) -> None:
        """Write down the recommendations that were all the same: the last of them outlives the others."""
        if self._rests_at is not None and self._history.recommendations:
            last = Recommendation(self._history.recommendations[-1].replicas, self._world.now(self._rests_at))
            self._history = replace(self._history, recommendations=(last,))
        self._rest, self._rests_at = None, None

    def _target(self, at: float, current: int) -> ScaleTarget:
        if self._needs_pods and current:
            now = self._world.now(at)
            pods = listed(self._world.pods, self._load(at), now, now - _LONG_AGO)
            return ScaleTarget(namespace=self._namespace, replicas=current, status_replicas=current, pods=pods)
        if current not in self._targets:
            alone = ScaleTarget(namespace=self._namespace, replicas=current, status_replicas=current)
            self._targets[current] = alone
        return self._targets[current]

    def _load(self, at: float) -> Load | None:
        """What the traces of cpu and memory triggers say that all pods use together."""
        metrics, sources = self._world.subject.metrics, self._world.plan.sources
        usage: dict[str, int] = {}
        container = "app"
        for metric, index in zip(metrics.resource, metrics.resource_triggers, strict=True):
            used = sources[index].read(at) if index in sources else None
            if isinstance(used, float):
                usage[metric.name] = to_milli(used)
                container = metric.container or container
        return Load(usage=usage, requests=self._world.plan.cluster.requests, container=container) if usage else None

    def _ask(self, at: float) -> tuple[bool, list[MetricSample]]:
        """A sample for each metric; and whether a reading was news."""
        meters, news, samples = self._world.meters, False, []
        for metric, indexes in self._asked:
            for index in indexes:
                failed_before = meters.active[index] is None
                if not meters.cached[index] and meters.read(index, at):
                    news = news or failed_before or meters.active[index] is not False
            samples.append(self._sample(at, metric, indexes))
        return news, samples

    def _sample(self, at: float, metric: HpaMetric, indexes: Sequence[int]) -> MetricSample:
        if not metric.external:
            return ResourceSample(resource=metric.name, target=metric.target, container=metric.container)
        value = self._world.meters.value(indexes[0]) if metric.name != COMPOSITE_METRIC else None
        if value is not None:  # what `evaluate` makes of a reading that did not fail
            return ExternalSample(name=metric.name, target=metric.target, values=(to_milli(value),))
        return self._evaluated(at, metric, indexes)

    def _evaluated(self, at: float, metric: HpaMetric, indexes: Sequence[int]) -> ExternalSample:
        """A formula's value, or a fallback's, or an error."""
        world, now = self._world, self._world.now(at)
        spec, metrics = world.subject.spec, world.subject.metrics
        seen = world.meters.round(now, indexes)
        replicas = world.pods.replicas if seen.errors and needs_replicas(spec) else None
        ready = world.pods.ready if seen.errors and needs_ready_pods(spec, metrics) else None
        evaluation = evaluate(spec, metrics, seen, world.meters.health, replicas, ready)
        values = tuple(one.milli for one in evaluation.values)
        if metrics.composite is not None:
            world.composite = values[0] / 1000 if values else None
        refused = evaluation.refuses or not values
        return ExternalSample(
            name=metric.name,
            target=metric.target,
            values=() if refused else values,
            error=_REFUSED if refused else "",
        )
