"""The HPA of a ScaledObject over the days to come: `core/hpa/walk.py`, told when a schedule asks for something else.

Pure. Pods are ready at once. Its first sync is one period after the HPA is made, as in kube-controller-manager.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from keda_py.core.evaluation import Evaluation
from keda_py.core.hpa.controller import ControllerOptions, HpaSpec, MetricSample, choose_tolerance, desired_count
from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.metrics import MetricTarget, TargetType
from keda_py.core.hpa.pods import Pod, ScaleTarget
from keda_py.core.hpa.walk import Rescaled, Rhythm, Walk
from keda_py.core.hpa.wire import read_spec, read_target

_OPTIONS = ControllerOptions()
_RHYTHM = Rhythm(options=_OPTIONS, foreseen=True)


class Autoscaler:
    """`due` is its next sync that may change something; None: none before its metrics or its count change."""

    def __init__(self, manifest: Mapping[str, Any], made: datetime) -> None:
        self._made, self._now = made, made
        self._samples: tuple[MetricSample, ...] = ()
        self._current = 0
        self._walk = Walk(self._read(manifest), _RHYTHM, made)
        self._walk.create(0.0)

    @property
    def due(self) -> datetime | None:
        """The next sync."""
        return self._made + timedelta(seconds=self._walk.next) if isfinite(self._walk.next) else None

    def change(self, manifest: Mapping[str, Any], now: datetime) -> None:
        """Bounds, behaviour and targets from now on."""
        self._walk.adopt(self._read(manifest), self._second(now))

    def wake(self, evaluation: Evaluation, replicas: int, now: datetime) -> None:
        """What it will find at its next sync."""
        samples = self._sampled(evaluation)
        if samples != self._samples or replicas != self._current:
            self._walk.wake(self._second(now))
            self._samples, self._current = samples, replicas

    def sync(self, now: datetime) -> Rescaled | None:
        """One sync; the count that it asks for is set by its caller."""
        self._now = now
        rescaled = self._walk.sync(self._second(now), self._current, self._propose)
        if rescaled is not None:
            self._current = rescaled.replicas
        return rescaled

    def _read(self, manifest: Mapping[str, Any]) -> HpaSpec:
        spec = read_spec(dict(manifest))
        external = [metric["external"] for metric in manifest["spec"]["metrics"] if metric["type"] == "External"]
        self._targets: dict[str, MetricTarget] = {
            source["metric"]["name"]: read_target(source["target"]) for source in external
        }
        self._by_pods = any(target.type is TargetType.VALUE for target in self._targets.values())
        self._tolerance = choose_tolerance(spec, _OPTIONS)
        return spec

    def _propose(self, count: int) -> int | None:
        pods = tuple(Pod(name=str(number), ready=True) for number in range(count)) if self._by_pods else ()
        target = ScaleTarget(namespace="", replicas=count, status_replicas=count, pods=pods)
        return desired_count(target, self._samples, self._tolerance, _OPTIONS.warmup, self._now)

    def _sampled(self, evaluation: Evaluation) -> tuple[MetricSample, ...]:
        """Empty for cpu and memory alone: then the bounds decide."""
        values = {value.name: value.milli for value in evaluation.values}
        found: Sequence[MetricSample] = [
            ExternalSample(name=name, target=target, values=(values[name],))
            if name in values
            else ExternalSample(name=name, target=target, error="it has no value")
            for name, target in self._targets.items()
        ]
        return tuple(found)

    def _second(self, now: datetime) -> float:
        return (now - self._made).total_seconds()
