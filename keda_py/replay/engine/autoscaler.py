"""The HPA that the object owns: it follows `core/hpa/walk.py`, and takes its metrics from the engine's readings.

In a foreseen replay it takes what the last look found; else it asks at each sync, as the controller asks the operator.
"""

from collections.abc import Sequence
from datetime import timedelta

from keda_py.core.evaluation import Evaluation, evaluate
from keda_py.core.fallback import needs_ready_pods, needs_replicas
from keda_py.core.hpa.controller import MetricSample, choose_tolerance, desired_count
from keda_py.core.hpa.external import ExternalSample, count_per_pod
from keda_py.core.hpa.metrics import TargetType
from keda_py.core.hpa.pods import ScaleTarget
from keda_py.core.hpa.resources import ResourceSample
from keda_py.core.hpa.walk import Rhythm, Walk
from keda_py.core.metric_names import COMPOSITE_METRIC
from keda_py.core.values.quantity import to_milli
from keda_py.replay.engine.pods import Load, listed
from keda_py.replay.engine.subject import HpaMetric
from keda_py.replay.engine.world import World

_REFUSED = "the metric encountered an error"
_LONG_AGO = timedelta(days=1)
# Seconds. The controller queues an HPA anew when its sync is over, so that a period is a little longer than it says; a
# recommendation that is as old as the window is forgotten by then.
_SYNC_TAKES = 0.01


class Autoscaler:
    """The HPA of one object; `walk.next` is the second of the next sync."""

    def __init__(self, world: World) -> None:
        self._world = world
        cluster = world.setting.cluster
        self._foreseen = foreseen = world.setting.foreseen
        takes = 0.0 if foreseen else _SYNC_TAKES
        rhythm = Rhythm(period=cluster.sync_seconds, takes=takes, options=cluster.options, foreseen=foreseen)
        self.walk = Walk(world.subject.hpa, rhythm, world.setting.origin)
        self._at, self._news = 0.0, False
        self._targets: dict[int, ScaleTarget] = {}
        self._samples: tuple[MetricSample, ...] = ()
        self.adopt(0.0)

    def adopt(self, at: float) -> None:
        """Follow another version of the object from now on."""
        subject, options = self._world.subject, self._world.setting.cluster.options
        self.walk.adopt(subject.hpa, at)
        self._tolerance = choose_tolerance(subject.hpa, options)
        self._warmup, self._namespace = options.warmup, subject.spec.namespace
        names = [metric.name for metric in subject.metrics.external]
        spec = subject.spec
        self._is_plain = not (spec.needs_all or spec.most_per_trigger)
        self._asked = [
            (
                metric,
                range(len(names)) if metric.name == COMPOSITE_METRIC or spec.needs_all else [names.index(metric.name)],
            )
            if metric.external
            else (metric, [])
            for metric in subject.hpa_metrics
        ]
        self._needs_pods = any(
            not metric.external or metric.target.type is TargetType.VALUE for metric in subject.hpa_metrics
        )
        self._targets.clear()
        self._lone = self._find_lone()

    def foresee(self, evaluation: Evaluation, at: float) -> None:
        """Take what a look found for what each sync finds until the next look; cpu and memory cannot be foreseen.

        Syncs that were left out are due again where that is another value: an HPA of cpu and memory alone has no
        sample, and its bounds decide.
        """
        values = {value.name: value.milli for value in evaluation.values}
        samples = tuple(
            ExternalSample(name=metric.name, target=metric.target, values=(values[metric.name],))
            if metric.name in values
            else ExternalSample(name=metric.name, target=metric.target, error="it has no value")
            for metric in self._world.subject.hpa_metrics
            if metric.external
        )
        if samples != self._samples:
            self._samples = samples
            self.walk.wake(at)

    def _find_lone(self) -> tuple[int, int] | None:
        """Return index and target of an HPA's only metric, if it is divided by the pods.

        That is the most usual HPA, and a month has 172 800 syncs: no sample and no list is made for it.
        """
        if len(self._asked) != 1 or not self._is_plain:
            return None
        metric, indexes = self._asked[0]
        per_pod = metric.target.type is TargetType.AVERAGE_VALUE
        return (indexes[0], metric.target.amount) if per_pod and metric.name != COMPOSITE_METRIC and indexes else None

    def sync(self, at: float) -> bool:
        """Take one sync; True if it made a reading that the scale loop has to know: work, an error, or its end."""
        self._at, self._news = at, False
        rescaled = self.walk.sync(at, self._world.pods.replicas, self._propose)
        if rescaled is not None:
            self._world.scale(rescaled.replicas, at, rescaled)
        return self._news

    def _propose(self, current: int) -> int | None:
        at = self._at
        if self._foreseen:
            return self._desired(at, current, self._samples)
        if self._lone is not None:
            index, amount = self._lone
            self._news = self._read(index, at)
            value = self._world.meters.value(index)
            if value is not None:  # what `evaluate` makes of a reading that did not fail
                return count_per_pod(to_milli(value), amount, current, self._tolerance)
        news, samples = self._ask(at)
        self._news = self._news or news
        return self._desired(at, current, samples)

    def _desired(self, at: float, current: int, samples: Sequence[MetricSample]) -> int | None:
        return desired_count(self._target(at, current), samples, self._tolerance, self._warmup, self._world.now(at))

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
        """Return what the traces of cpu and memory triggers say that all pods use together."""
        metrics, sources = self._world.subject.metrics, self._world.setting.sources
        usage: dict[str, int] = {}
        container = "app"
        for metric, index in zip(metrics.resource, metrics.resource_triggers, strict=True):
            used = sources[index].read(at) if index in sources else None
            if isinstance(used, float):
                usage[metric.name] = to_milli(used)
                container = metric.container or container
        return Load(usage=usage, requests=self._world.setting.cluster.requests, container=container) if usage else None

    def _ask(self, at: float) -> tuple[bool, list[MetricSample]]:
        """Return a sample for each metric, and whether a reading was news."""
        news, samples = False, []
        for metric, indexes in self._asked:
            for index in indexes:
                news = self._read(index, at) or news
            samples.append(self._sample(at, metric, indexes))
        return news, samples

    def _read(self, index: int, at: float) -> bool:
        """Read once for the HPA; return whether that is news."""
        meters = self._world.meters
        if meters.cached[index]:
            return False
        failed_before = meters.active[index] is None
        return meters.read(index, at) and (failed_before or meters.active[index] is not False)

    def _sample(self, at: float, metric: HpaMetric, indexes: Sequence[int]) -> MetricSample:
        if not metric.external:
            return ResourceSample(resource=metric.name, target=metric.target, container=metric.container)
        is_plain = self._is_plain and metric.name != COMPOSITE_METRIC
        value = self._world.meters.value(indexes[0]) if is_plain else None
        if value is not None:  # what `evaluate` makes of a reading that did not fail
            return ExternalSample(name=metric.name, target=metric.target, values=(to_milli(value),))
        return self._evaluated(at, metric, indexes)

    def _evaluated(self, at: float, metric: HpaMetric, indexes: Sequence[int]) -> ExternalSample:
        """Return the value of a formula, of a fallback, or under the object's own rules; or an error."""
        world, now = self._world, self._world.now(at)
        spec, metrics = world.subject.spec, world.subject.metrics
        seen = world.meters.round(now, indexes)
        replicas = world.pods.replicas if seen.errors and needs_replicas(spec) else None
        ready = world.pods.ready if seen.errors and needs_ready_pods(spec, metrics) else None
        evaluation = evaluate(spec, metrics, seen, world.meters.health, replicas, ready)
        values = tuple(one.milli for one in evaluation.values if one.name == metric.name)
        if metrics.composite is not None:
            world.composite = values[0] / 1000 if values else None
        refused = evaluation.refuses or not values
        return ExternalSample(
            name=metric.name,
            target=metric.target,
            values=() if refused else values,
            error=_REFUSED if refused else "",
        )
